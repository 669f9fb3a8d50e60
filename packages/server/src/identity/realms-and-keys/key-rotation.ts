// Replaces the signing keys of a realm: after so many days, when asked to, and in an emergency at once.
import { hash } from 'node:crypto';
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import {
  type Clock,
  isoTime,
  type Job,
  type Jobs,
  type Later,
  type Log,
} from '../../platform/index.ts';
import type { RecordChange } from '../infrastructure/audit-port.ts';
import type { SealedKey, UserDomain } from './realm.ts';
import type { RealmStore } from './realm-sql.ts';
import { type Realms, realmCacheTtlMs } from './realms.ts';
import type { KeyRing } from './signing-keys.ts';

const dayMs = 86_400_000;
/** A new key is published this long before it signs, so that caches of the JWKS have it. */
export const publishedBeforeUseMs = 3_600_000;
/** The longest lifetime of an access token: a replaced signing key verifies tokens for as long. */
export const maxAccessTokenSeconds = 86_400;
/** No token lives longer: an access token lives a day at most, a refresh token too. */
const maxTokenLifetimeMs = maxAccessTokenSeconds * 1000;
/** A key that has ended verifies nothing, and stays so long for whoever looks into an old token. */
export const retiredKeyRetentionMs = 7 * dayMs;
/** The job looks at least so often: the setting may have been changed. */
const recheckIntervalMs = dayMs;
/** And no sooner: by the clock of the jobs, which is not this one, `next` may have come and would come at once. */
const minRecheckDelayMs = 60_000;
/** Two RSA keys would keep two threads busy: while one is made, other realms wait. */
const maxConcurrentRotations = 1;
const jobKind = 'rotate-realm-keys';

export type KeyState = 'Published' | 'Signing' | 'Verifying';
export type SigningKeySummary = Omit<SealedKey, 'privateSealed'> & { readonly state: KeyState };

type Deps = {
  store: RealmStore;
  keyRing: KeyRing;
  realms: Pick<Realms, 'invalidate'>;
  /** Left out, keys rotate by command alone: in tools and in tests of other things. */
  jobs: Pick<Jobs, 'handle' | 'enqueue'> | undefined;
  recordChange: RecordChange;
  clock: Clock;
  log: Log;
  /** How long keys sign before others do. */
  rotationDays: number;
};

/** One job of each realm, however often it is asked for: its id follows from the realm's. */
function jobIdOf(organizationId: string): string {
  const digest = hash('sha256', `${jobKind} ${organizationId}`);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), digest.slice(13, 16)];
  return `${parts[0]}-${parts[1]}-8${parts[2]}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** Keys come youngest first, so the first of an algorithm that has begun is the one that signs. */
function summarizeKeys(keys: readonly SealedKey[], now: number): SigningKeySummary[] {
  const signing = new Set<string>();
  return keys.map(({ privateSealed: _sealed, ...key }) => {
    if (key.activeFrom > now) return { ...key, state: 'Published' };
    if (signing.has(key.algorithm)) return { ...key, state: 'Verifying' };
    signing.add(key.algorithm);
    return { ...key, state: 'Signing' };
  });
}

export function createKeyRotation(deps: Deps) {
  const { store, keyRing, realms, jobs, clock, log, rotationDays, recordChange } = deps;

  async function domainOf(userDomainId: string): Promise<UserDomain> {
    const domain = await store.findDomain(userDomainId);
    return domain ?? refuse('resource_not_found', 'There is no such user domain.');
  }

  /** False where keys that begin after `unlessActiveAfter` are there already. */
  async function replace(
    { userDomainId, organizationId }: UserDomain,
    plan: { activeFrom: number; retireOthersAt: number; unlessActiveAfter: number | undefined },
  ): Promise<boolean> {
    const { activeFrom, ...change } = plan;
    const keys = await keyRing.createSealedKeys(organizationId, activeFrom);
    const keyIds = keys.map(({ keyId }) => keyId);
    const after = {
      keyIds,
      signFrom: isoTime(activeFrom),
      othersVerifyUntil: isoTime(change.retireOthersAt),
    };
    const entity = { type: 'userDomain', id: userDomainId };
    const action = 'userDomain.keysReplaced';
    const isReplaced = await store.replaceKeys(organizationId, {
      ...change,
      keys,
      now: clock.now(),
      recordChange: (trx) => recordChange(trx, { organizationId, action, entity, after }),
    });
    if (!isReplaced) return false;
    realms.invalidate(userDomainId);
    log.info({ realm: userDomainId, keyIds, activeFrom }, 'signing keys were replaced');
    return true;
  }

  /** Published now, signing after the lead; the old ones verify until their last token is over. */
  function replaceWithOverlap(domain: UserDomain, unlessActiveAfter: number): Promise<boolean> {
    const activeFrom = clock.now() + publishedBeforeUseMs;
    const retireOthersAt = activeFrom + realmCacheTtlMs + maxTokenLifetimeMs;
    return replace(domain, { activeFrom, retireOthersAt, unlessActiveAfter });
  }

  async function newestActiveFrom(organizationId: string): Promise<number> {
    const keys = await store.listKeys(organizationId, clock.now());
    return Math.max(0, ...keys.map(({ activeFrom }) => activeFrom));
  }

  async function rotateWhenDue({ organizationId, payload }: Job): Promise<Later | undefined> {
    const domain = await store.findDomain(String(payload['userDomainId']));
    // A domain that is gone needs no keys; the job of its name ends with it.
    if (domain?.organizationId !== organizationId) return undefined;
    const keyLifetimeMs = rotationDays * dayMs;
    const now = clock.now();
    const isDue = (await newestActiveFrom(organizationId)) + keyLifetimeMs <= now;
    if (isDue) await replaceWithOverlap(domain, now - keyLifetimeMs);
    const deleted = await store.deleteKeys(organizationId, now - retiredKeyRetentionMs);
    if (deleted > 0)
      log.info({ realm: domain.userDomainId, gone: deleted }, 'old signing keys were deleted');
    const next = Math.min(
      (await newestActiveFrom(organizationId)) + keyLifetimeMs,
      now + recheckIntervalMs,
    );
    return { retryAt: Math.max(next, clock.now() + minRecheckDelayMs), untried: true };
  }

  jobs?.handle(jobKind, rotateWhenDue, { most: maxConcurrentRotations });

  return {
    /** From now on the realm's keys rotate by themselves; new ones have a day at least. */
    async scheduleRotation(
      { userDomainId, organizationId }: Omit<UserDomain, 'status'>,
      trx?: Kysely<unknown>,
    ): Promise<void> {
      const jobId = jobIdOf(organizationId);
      const payload = { userDomainId };
      const dueAt = clock.now() + recheckIntervalMs;
      await jobs?.enqueue({ organizationId, jobId, kind: jobKind, payload, dueAt }, trx);
    },

    /** False where the next keys are published already and wait for their hour. */
    async rotate(userDomainId: string): Promise<boolean> {
      return replaceWithOverlap(await domainOf(userDomainId), clock.now());
    },

    /**
     * For the case that a key was stolen: new keys sign at once, and every token of the others is
     * refused, here at once and elsewhere as soon as the realm is read again.
     */
    async replaceAtOnce(userDomainId: string): Promise<void> {
      const now = clock.now();
      const plan = { activeFrom: now, retireOthersAt: now, unlessActiveAfter: undefined };
      await replace(await domainOf(userDomainId), plan);
    },

    /** Those that still sign or verify, youngest first. */
    async list(userDomainId: string): Promise<SigningKeySummary[]> {
      const now = clock.now();
      const { organizationId } = await domainOf(userDomainId);
      return summarizeKeys(await store.listKeys(organizationId, now), now);
    },
  };
}
