// Families of refresh tokens: begun by a sign-in, carried on by each refresh, ended once for all.
import type { Kysely } from 'kysely';
import { type Clock, type Ids, type Log, pause } from '../../platform/index.ts';
import type { FamilySelection, TokenFamily, TokenFamilyStore } from './refresh-token-family-sql.ts';

type SessionLifetime = { readonly idleMs: number; readonly maxMs: number };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Of a browser, and of what was begun in one. */
export const browserSessionLifetime: SessionLifetime = { idleMs: 15 * minuteMs, maxMs: 8 * hourMs };
/** Of a device or a program into which somebody typed a password: a shift, and a day at most. */
export const passwordLifetime: SessionLifetime = { idleMs: 8 * hourMs, maxMs: 24 * hourMs };

/** Longer than the library takes between deleting a session and writing it under its next name. */
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
  /** Epoch milliseconds: of what it comes from, which it does not outlive. */
  readonly notAfter?: number | undefined;
};

/** Why a code begins nothing. */
export type CodeRejection = 'used' | 'over';

type FamilyKey = Pick<TokenFamily, 'organizationId' | 'familyId' | 'clientId' | 'tokenId'>;

export type TokenFamilies = ReturnType<typeof createTokenFamilies>;

type Deps = {
  store: TokenFamilyStore;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Families ended: this process refuses their access tokens at once. */
  onFamiliesEnded(organizationId: string): Promise<void>;
};

const lifetimeOf = (kind: TokenFamily['kind']) =>
  kind === 'AuthorizationCode' ? browserSessionLifetime : passwordLifetime;

export function createTokenFamilies({ store, clock, ids, log, onFamiliesEnded }: Deps) {
  function buildFamily({
    notAfter = Number.MAX_SAFE_INTEGER,
    ...newFamily
  }: NewTokenFamily): TokenFamily {
    const now = clock.now();
    const { idleMs, maxMs } = lifetimeOf(newFamily.kind);
    // What a browser began ends with its sign-in, however late the code was asked for.
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
    /** Undefined where the user was stopped, or signed out everywhere, since `provenAt`. */
    async start(newFamily: NewTokenFamily, provenAt: number): Promise<TokenFamily | undefined> {
      const family = buildFamily(newFamily);
      return (await store.insert(family, provenAt)) ? family : undefined;
    },

    /**
     * `used`: the code was redeemed already. `over`: its session has ended. The family that it began is
     * over then.
     */
    async startFromCode(
      newFamily: NewTokenFamily,
      codeId: string,
    ): Promise<TokenFamily | CodeRejection> {
      const family = buildFamily(newFamily);
      let outcome = await store.insertFromCode(family, codeId);
      if (outcome === 'over') {
        // Another tab may be giving the session its next name, and there is no row for a moment.
        await pause(sessionRenameDelayMs);
        outcome = await store.insertFromCode(family, codeId);
      }
      if (outcome === 'made') return family;
      const { organizationId, familyId, clientId } = newFamily;
      await end(organizationId, { familyId });
      if (outcome === 'used') {
        log.warn(
          { clientId, familyId },
          'an authorization code came twice: its tokens are revoked',
        );
      }
      return outcome;
    },

    /**
     * Undefined where the refresh token is not the last of its family. An older one may be a
     * thief's or show that there is one: then nobody goes on with this family (ADR 0020).
     */
    async rotate(key: FamilyKey): Promise<TokenFamily | undefined> {
      const renewed = await store.rotate({ ...key, newTokenId: ids.uuidV4(), now: clock.now() });
      if (renewed !== undefined) return renewed;
      const { organizationId, familyId, clientId } = key;
      if ((await end(organizationId, { familyId })) > 0) {
        log.warn({ clientId, familyId }, 'a refresh token came twice: its family is revoked');
      }
      return undefined;
    },

    /** As above, in a transaction of one who keeps the tokens himself and never shows one twice. */
    rotateInTransaction: (trx: Kysely<unknown>, key: FamilyKey): Promise<TokenFamily | undefined> =>
      store.rotate({ ...key, newTokenId: ids.uuidV4(), now: clock.now() }, trx),

    find: (organizationId: string, familyId: string) =>
      store.find(organizationId, familyId, clock.now()),
    list: (organizationId: string, userId: string) =>
      store.list(organizationId, userId, clock.now()),
    end,
    deleteExpired: (limit: number) => store.deleteEnded(clock.now(), limit),
  };
}
