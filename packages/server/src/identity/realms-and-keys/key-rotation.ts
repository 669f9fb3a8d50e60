// Rotates the signing keys of a realm: by schedule, by command, and at once after a theft.
import { hash } from 'node:crypto';
import { throwProblem } from '@switchyard/contract';
import {
  type Clock,
  dayMs,
  hourMs,
  isoTime,
  type Job,
  type Jobs,
  type Log,
  type Queries,
  type Reschedule,
} from '../../platform/index.ts';
import type { RecordChange } from '../infrastructure/audit-port.ts';
import type { RealmStore } from './realm-sql.ts';
import type { SealedKey, UserDomain } from './realm-types.ts';
import { type Realms, realmCacheTtlMs } from './realms.ts';
import type { KeyRing } from './signing-keys.ts';

/** A new key is published in the JWKS this long before it signs, so that caches contain it. */
export const publishedBeforeUseMs = hourMs;
/** The longest lifetime of an access token: a replaced signing key verifies tokens for as long. */
export const maxAccessTokenSeconds = 86_400;
/** No token lives longer: an access token lives a day at most, a refresh token too. */
const maxTokenLifetimeMs = maxAccessTokenSeconds * 1000;
/** A retired key verifies nothing; its row is kept this long for investigations of old tokens. */
export const retiredKeyRecordRetentionMs = 7 * dayMs;
/** The job runs at least this often, because the setting may have changed. */
const recheckIntervalMs = dayMs;
/**
 * Minimum delay of the job: its clock may differ from this one, and a due time in the past would
 * run it at once.
 */
const minRecheckDelayMs = 60_000;
/** Generating an RSA key occupies a thread, so other realms wait. */
const maxConcurrentRotations = 1;
const jobKind = 'rotate-realm-keys';

export type KeyState = 'Published' | 'Signing' | 'Verifying';
export type SigningKeySummary = Omit<SealedKey, 'privateSealed'> & { readonly state: KeyState };

type Deps = {
  store: RealmStore;
  keyRing: KeyRing;
  realms: Pick<Realms, 'invalidate'>;
  /** Without jobs, keys rotate by command only (tools and some tests). */
  jobs: Pick<Jobs, 'handle' | 'enqueue'> | undefined;
  recordChange: RecordChange;
  clock: Clock;
  log: Log;
  /** How many days keys sign before rotation. */
  rotationDays: number;
};

/** The job id is derived from the realm, so each realm has one job. */
function jobIdOf(organizationId: string): string {
  const digest = hash('sha256', `${jobKind} ${organizationId}`);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), digest.slice(13, 16)];
  return `${parts[0]}-${parts[1]}-8${parts[2]}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** Keys are sorted newest first: the first active key of an algorithm signs. */
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
    return domain ?? throwProblem('resource_not_found', 'The user domain does not exist.');
  }

  /** False if keys that start after `unlessActiveAfter` exist already. */
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
    log.info({ realm: userDomainId, keyIds, activeFrom }, 'signing keys were rotated');
    return true;
  }

  /**
   * The new keys sign after `publishedBeforeUseMs`; the old ones verify until their last token has
   * expired.
   */
  function replaceWithOverlap(domain: UserDomain, unlessActiveAfter: number): Promise<boolean> {
    const activeFrom = clock.now() + publishedBeforeUseMs;
    const retireOthersAt = activeFrom + realmCacheTtlMs + maxTokenLifetimeMs;
    return replace(domain, { activeFrom, retireOthersAt, unlessActiveAfter });
  }

  async function newestActiveFrom(organizationId: string): Promise<number> {
    const keys = await store.listKeys(organizationId, clock.now());
    return Math.max(0, ...keys.map(({ activeFrom }) => activeFrom));
  }

  async function rotateWhenDue({ organizationId, payload }: Job): Promise<Reschedule | undefined> {
    const domain = await store.findDomain(String(payload['userDomainId']));
    // The domain no longer exists: the job ends.
    if (domain?.organizationId !== organizationId) return undefined;
    const keyLifetimeMs = rotationDays * dayMs;
    const now = clock.now();
    const isDue = (await newestActiveFrom(organizationId)) + keyLifetimeMs <= now;
    if (isDue) await replaceWithOverlap(domain, now - keyLifetimeMs);
    const deleted = await store.deleteKeys(organizationId, now - retiredKeyRecordRetentionMs);
    if (deleted > 0)
      log.info({ realm: domain.userDomainId, deleted }, 'old signing keys were deleted');
    const next = Math.min(
      (await newestActiveFrom(organizationId)) + keyLifetimeMs,
      now + recheckIntervalMs,
    );
    return { retryAt: Math.max(next, clock.now() + minRecheckDelayMs), countAttempt: false };
  }

  jobs?.handle(jobKind, rotateWhenDue, { maxConcurrent: maxConcurrentRotations });

  return {
    /** Schedules the rotation of the realm; the first check is a day later. */
    async scheduleRotation(
      { userDomainId, organizationId }: Omit<UserDomain, 'status'>,
      trx?: Queries,
    ): Promise<void> {
      const jobId = jobIdOf(organizationId);
      const payload = { userDomainId };
      const dueAt = clock.now() + recheckIntervalMs;
      await jobs?.enqueue({ organizationId, jobId, kind: jobKind, payload, dueAt }, trx);
    },

    /** False if the next keys are published already and wait for their start. */
    async rotate(userDomainId: string): Promise<boolean> {
      return replaceWithOverlap(await domainOf(userDomainId), clock.now());
    },

    /**
     * For a stolen key: new keys sign at once, and the server refuses every token of the old keys.
     * Other processes follow when they read the realm again.
     */
    async replaceAtOnce(userDomainId: string): Promise<void> {
      const now = clock.now();
      const plan = { activeFrom: now, retireOthersAt: now, unlessActiveAfter: undefined };
      await replace(await domainOf(userDomainId), plan);
    },

    /** The keys that still sign or verify, newest first. */
    async list(userDomainId: string): Promise<SigningKeySummary[]> {
      const now = clock.now();
      const { organizationId } = await domainOf(userDomainId);
      return summarizeKeys(await store.listKeys(organizationId, now), now);
    },
  };
}
