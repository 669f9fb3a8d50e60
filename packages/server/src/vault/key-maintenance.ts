// Replaces old keys, and runs a round over each organisation every day.
import type { Job, Jobs, Reschedule } from '../platform/index.ts';
import type { createCardStore } from './card-sql.ts';
import { unwrapped } from './data-keys.ts';
import type { OpenVault } from './open-vault.ts';
import type { Accesses } from './pan-access-log.ts';
import type { Round } from './re-encryption-progress-sql.ts';
import { createRounds, type RoundDeps } from './re-encryption-run.ts';
import { jobIdOf, roundKind, upkeepKind } from './vault-jobs.ts';
import { changeKeyState, type KeyStore, platformId, type StoredKey } from './vault-key-sql.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
/**
 * After this time no process encrypts under a replaced key, because keys are cached for five
 * minutes.
 */
const settleMs = 660_000;
/** Other modules store encrypted data for days at most, which may use a retired key. */
const destroyAfterMs = 30 * dayMs;
const organizationsAtOnce = 500;
/**
 * Limits the parallel rounds: each reads all cards of an organisation, and no request waits for it.
 */
const roundsMost = 2;

export type UpkeepDeps = Omit<RoundDeps, 'dataKeys'> & {
  keyStore: KeyStore;
  cardStore: ReturnType<typeof createCardStore>;
  accesses: Accesses;
  opened(): OpenVault;
  jobs: Pick<Jobs, 'handle' | 'enqueue'>;
  keyDays: number;
  accessDays: number;
};

export function createUpkeep(deps: UpkeepDeps) {
  const { database, keyStore, accesses, opened, jobs, clock, log, tell } = deps;
  const rounds = createRounds({ ...deps, dataKeys: () => opened().dataKeys });
  const stopping = new AbortController();

  /** Wraps the keys under a new master key or provider; the keys and all cards stay unchanged. */
  async function rewrap(organizationId: string): Promise<void> {
    const { provider } = opened();
    const keys = await keyStore.list(organizationId);
    const old = keys.filter(
      ({ wrapped, wrappedBy }) => wrapped !== undefined && wrappedBy !== provider.wrapsWith,
    );
    for (const key of old) {
      const bytes = await unwrapped(provider, key);
      const { bytes: wrapped, wrappedBy } = await provider.wrap(bytes, key);
      bytes.fill(0);
      if (!(await keyStore.rewrap(key, { wrapped, wrappedBy }))) continue;
      log.info({ organizationId, keyId: key.keyId, wrappedBy }, 'a key was wrapped anew');
    }
  }

  /** The next state of a key, if a whole round found no card under it. */
  function nextStateOf(key: StoredKey, round: Round): 'Retired' | 'Destroyed' | undefined {
    if ((round.tally.found[key.keyId] ?? 0) > 0) return undefined;
    const lastsMs = round.startedAt - key.changedAt;
    if (key.state === 'Retiring' && lastsMs > settleMs) return 'Retired';
    if (key.state === 'Retired' && lastsMs > destroyAfterMs) return 'Destroyed';
    return undefined;
  }

  async function endRound(organizationId: string, keys: readonly StoredKey[], round: Round) {
    const at = clock.now();
    const entity = { type: 'vault', id: organizationId };
    const { resealed, deleted, broken } = round.tally;
    await database.transaction(async (trx) => {
      const changed: { keyId: string; state: string }[] = [];
      for (const key of keys) {
        const state = nextStateOf(key, round);
        if (state === undefined || !(await changeKeyState(trx, key, state, at))) continue;
        changed.push({ keyId: key.keyId, state });
      }
      await rounds.end(trx, organizationId);
      if (changed.length === 0 && resealed === 0) return;
      const after = { keys: changed, resealed, ...(broken === 0 ? {} : { broken }) };
      await tell(trx, { organizationId, action: 'vault.keysChanged', entity, after });
    });
    log.info({ organizationId, resealed, deleted, broken }, 'a round over the vault has ended');
  }

  async function round({ organizationId }: Job): Promise<Reschedule | undefined> {
    await rewrap(platformId);
    await rewrap(organizationId);
    const keys = await keyStore.list(organizationId);
    const walked = await rounds.walk(organizationId, stopping.signal);
    if (walked === undefined) return { retryAt: clock.now(), countAttempt: false };
    await endRound(organizationId, keys, walked);
    await accesses.prune(organizationId, clock.now() - deps.accessDays * dayMs);
    // Another round must prove that no card is left under a replaced key.
    const settles = (await keyStore.list(organizationId)).some(({ state }) => state === 'Retiring');
    return settles ? { retryAt: clock.now() + settleMs, countAttempt: false } : undefined;
  }

  async function order(organizationId: string): Promise<void> {
    const jobId = jobIdOf(roundKind, organizationId);
    await jobs.enqueue({ organizationId, jobId, kind: roundKind, payload: {} });
  }

  async function upkeep(): Promise<Reschedule> {
    const now = clock.now();
    const replaced = await keyStore.retireOlder(now - deps.keyDays * dayMs, now);
    if (replaced.length > 0) log.info({ organizations: replaced.length }, 'keys were replaced');
    await rewrap(platformId);
    for (let after = platformId; !stopping.signal.aborted; ) {
      const some = await keyStore.organizations(after, organizationsAtOnce);
      for (const organizationId of some) await order(organizationId);
      after = some.at(-1) ?? after;
      if (some.length < organizationsAtOnce) return { retryAt: now + dayMs, countAttempt: false };
    }
    return { retryAt: now, countAttempt: false };
  }

  jobs.handle(upkeepKind, upkeep);
  jobs.handle(roundKind, round, { maxConcurrent: roundsMost });

  return {
    /**
     * Enqueues the daily job of the platform. It is due at once if cards from before keys exist.
     */
    async arm(): Promise<void> {
      const now = clock.now();
      const dueAt = (await keyStore.hasUnkeyedCards()) ? now : now + hourMs;
      const jobId = jobIdOf(upkeepKind, platformId);
      const job = { organizationId: platformId, jobId, kind: upkeepKind, payload: {} };
      await jobs.enqueue({ ...job, dueAt });
    },
    round,
    upkeep,
    stop: () => stopping.abort(),
  };
}
