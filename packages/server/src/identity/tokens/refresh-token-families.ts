// Families of refresh tokens: begun by a sign-in, carried on by each refresh, ended once for all.
import type { Kysely } from 'kysely';
import { type Clock, type Ids, type Log, pause } from '../../platform/index.ts';
import type { Ending, Family, FamilyStore } from './refresh-token-family-sql.ts';

type Lifetime = { readonly idleMs: number; readonly longestMs: number };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Of a browser, and of what was begun in one. */
export const browserLifetime: Lifetime = { idleMs: 15 * minuteMs, longestMs: 8 * hourMs };
/** Of a device or a program into which somebody typed a password: a shift, and a day at most. */
export const directLifetime: Lifetime = { idleMs: 8 * hourMs, longestMs: 24 * hourMs };

/** Longer than the library takes between deleting a session and writing it under its next name. */
const renamedMs = 200;

export type NewFamily = Pick<
  Family,
  | 'organizationId'
  | 'familyId'
  | 'userId'
  | 'clientId'
  | 'sessionId'
  | 'kind'
  | 'facts'
  | 'accessMs'
> & {
  /** Epoch milliseconds: of what it comes from, which it does not outlive. */
  readonly notAfter?: number | undefined;
};

/** Why a code begins nothing. */
export type CodeRefusal = 'used' | 'over';

type FamilyKey = Pick<Family, 'organizationId' | 'familyId' | 'clientId' | 'tokenId'>;

export type Families = ReturnType<typeof createFamilies>;

type Deps = {
  store: FamilyStore;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Families ended: this process refuses their access tokens at once. */
  changed(organizationId: string): Promise<void>;
};

const lifetimeOf = (kind: Family['kind']) =>
  kind === 'AuthorizationCode' ? browserLifetime : directLifetime;

export function createFamilies({ store, clock, ids, log, changed }: Deps) {
  function made({ notAfter = Number.MAX_SAFE_INTEGER, ...wanted }: NewFamily): Family {
    const now = clock.now();
    const { idleMs, longestMs } = lifetimeOf(wanted.kind);
    // What a browser began ends with its sign-in, however late the code was asked for.
    const longest = Math.min(now, wanted.facts.authenticatedAt) + longestMs;
    const endsAt = Math.min(longest, notAfter);
    return {
      ...wanted,
      tokenId: ids.uuidV4(),
      createdAt: now,
      refreshedAt: now,
      accessExpiresAt: Math.min(now + wanted.accessMs, notAfter),
      expiresAt: Math.min(now + idleMs, endsAt),
      endsAt,
      idleMs,
    };
  }

  async function end(organizationId: string, ending: Ending): Promise<number> {
    const ended = await store.end(organizationId, ending, clock.now());
    if (ended > 0) await changed(organizationId);
    return ended;
  }

  return {
    /** Undefined where the user was stopped, or signed out everywhere, since `provenAt`. */
    async begin(wanted: NewFamily, provenAt: number): Promise<Family | undefined> {
      const family = made(wanted);
      return (await store.insert(family, provenAt)) ? family : undefined;
    },

    /**
     * `used`: the code was redeemed already. `over`: its session has ended. The family that it began is
     * over then.
     */
    async beginByCode(wanted: NewFamily, codeId: string): Promise<Family | CodeRefusal> {
      const family = made(wanted);
      let outcome = await store.insertForCode(family, codeId);
      if (outcome === 'over') {
        // Another tab may be giving the session its next name, and there is no row for a moment.
        await pause(renamedMs);
        outcome = await store.insertForCode(family, codeId);
      }
      if (outcome === 'made') return family;
      const { organizationId, familyId, clientId } = wanted;
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
    async renew(key: FamilyKey): Promise<Family | undefined> {
      const renewed = await store.renew({ ...key, nextTokenId: ids.uuidV4(), at: clock.now() });
      if (renewed !== undefined) return renewed;
      const { organizationId, familyId, clientId } = key;
      if ((await end(organizationId, { familyId })) > 0) {
        log.warn({ clientId, familyId }, 'a refresh token came twice: its family is revoked');
      }
      return undefined;
    },

    /** As above, in a transaction of one who keeps the tokens himself and never shows one twice. */
    renewWithin: (trx: Kysely<unknown>, key: FamilyKey): Promise<Family | undefined> =>
      store.renew({ ...key, nextTokenId: ids.uuidV4(), at: clock.now() }, trx),

    find: (organizationId: string, familyId: string) =>
      store.find(organizationId, familyId, clock.now()),
    list: (organizationId: string, userId: string) =>
      store.list(organizationId, userId, clock.now()),
    end,
    sweep: (limit: number) => store.deleteEnded(clock.now(), limit),
  };
}
