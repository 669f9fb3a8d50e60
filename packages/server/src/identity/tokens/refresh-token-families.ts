// Refresh-token families: a sign-in starts one, each refresh rotates its token, revocation ends it.
import {
  type Clock,
  hourMs,
  type Ids,
  type Log,
  minuteMs,
  pause,
  type Queries,
} from '../../platform/index.ts';
import type { FamilySelection, TokenFamily, TokenFamilyStore } from './refresh-token-family-sql.ts';

type SessionLifetime = { readonly idleMs: number; readonly maxMs: number };

/** For browser sessions and the tokens that started in them. */
export const browserSessionLifetime: SessionLifetime = { idleMs: 15 * minuteMs, maxMs: 8 * hourMs };
/** For sign-ins by password in a device or a program: a shift, and a day at most. */
export const passwordSignInLifetime: SessionLifetime = { idleMs: 8 * hourMs, maxMs: 24 * hourMs };

/** oidc-provider deletes a session and inserts it under a new id; this is longer than the gap. */
const sessionRenameDelayMs = 200;

export type NewTokenFamily = Pick<
  TokenFamily,
  | 'organizationId'
  | 'familyId'
  | 'userId'
  | 'clientId'
  | 'sessionId'
  | 'kind'
  | 'context'
  | 'accessMs'
> & {
  /** Epoch milliseconds: upper limit, from the sign-in it derives from. */
  readonly notAfter?: number | undefined;
};

/** Why an authorization code was rejected. */
export type CodeRejection = 'used' | 'over';

type FamilyKey = Pick<TokenFamily, 'organizationId' | 'familyId' | 'clientId' | 'tokenId'>;

export type TokenFamilies = ReturnType<typeof createTokenFamilies>;

type Deps = {
  store: TokenFamilyStore;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Called after families ended, so that this process refuses their access tokens at once. */
  onFamiliesEnded(organizationId: string): Promise<void>;
};

const lifetimeOf = (kind: TokenFamily['kind']) =>
  kind === 'AuthorizationCode' ? browserSessionLifetime : passwordSignInLifetime;

export function createTokenFamilies({ store, clock, ids, log, onFamiliesEnded }: Deps) {
  function buildFamily({
    notAfter = Number.MAX_SAFE_INTEGER,
    ...newFamily
  }: NewTokenFamily): TokenFamily {
    const now = clock.now();
    const { idleMs, maxMs } = lifetimeOf(newFamily.kind);
    // The lifetime counts from the authentication, however late the code was requested.
    const latestEnd = Math.min(now, newFamily.context.authenticatedAt) + maxMs;
    const endsAt = Math.min(latestEnd, notAfter);
    return {
      ...newFamily,
      tokenId: ids.uuidV4(),
      createdAt: now,
      refreshedAt: now,
      accessExpiresAt: Math.min(now + newFamily.accessMs, notAfter),
      expiresAt: Math.min(now + idleMs, endsAt),
      endsAt,
      idleMs,
    };
  }

  async function end(organizationId: string, ending: FamilySelection): Promise<number> {
    const ended = await store.end(organizationId, ending, clock.now());
    if (ended > 0) await onFamiliesEnded(organizationId);
    return ended;
  }

  return {
    /** Undefined if the user was disabled or signed out everywhere after `provenAt`. */
    async start(newFamily: NewTokenFamily, provenAt: number): Promise<TokenFamily | undefined> {
      const family = buildFamily(newFamily);
      return (await store.insert(family, provenAt)) ? family : undefined;
    },

    /**
     * `used`: the code was redeemed before. `over`: its session has ended. Both end the family of
     * the code.
     */
    async startFromCode(
      newFamily: NewTokenFamily,
      codeId: string,
    ): Promise<TokenFamily | CodeRejection> {
      const family = buildFamily(newFamily);
      let outcome = await store.insertFromCode(family, codeId);
      if (outcome === 'over') {
        // oidc-provider may be replacing the session id for another tab, and has no row at the
        // moment.
        await pause(sessionRenameDelayMs);
        outcome = await store.insertFromCode(family, codeId);
      }
      if (outcome === 'made') return family;
      const { organizationId, familyId, clientId } = newFamily;
      await end(organizationId, { familyId });
      if (outcome === 'used') {
        log.warn(
          { clientId, familyId },
          'an authorization code was redeemed twice: its tokens are revoked',
        );
      }
      return outcome;
    },

    /**
     * Undefined if the refresh token is not the newest of its family. An older one may be stolen,
     * so the whole family ends (ADR 0011).
     */
    async rotate(key: FamilyKey): Promise<TokenFamily | undefined> {
      const renewed = await store.rotate({ ...key, newTokenId: ids.uuidV4(), now: clock.now() });
      if (renewed !== undefined) return renewed;
      const { organizationId, familyId, clientId } = key;
      if ((await end(organizationId, { familyId })) > 0) {
        log.warn({ clientId, familyId }, 'a refresh token was used twice: its family is revoked');
      }
      return undefined;
    },

    /**
     * The same in the transaction of the portal, which stores its refresh tokens and never uses one
     * twice.
     */
    rotateInTransaction: (trx: Queries, key: FamilyKey): Promise<TokenFamily | undefined> =>
      store.rotate({ ...key, newTokenId: ids.uuidV4(), now: clock.now() }, trx),

    find: (organizationId: string, familyId: string) =>
      store.find(organizationId, familyId, clock.now()),
    list: (organizationId: string, userId: string) =>
      store.list(organizationId, userId, clock.now()),
    end,
    deleteExpired: (limit: number) => store.deleteEnded(clock.now(), limit),
  };
}
