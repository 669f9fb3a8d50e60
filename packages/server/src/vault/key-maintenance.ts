// Replaces old keys, and re-encrypts the cards of each organisation every day.
import { dayMs, hourMs, type Job, type Jobs, type Reschedule } from '../platform/index.ts';
import type { createCardStore } from './card-sql.ts';
import { type UnwrapCounter, unwrapKey } from './data-keys.ts';
import type { OpenedVault } from './open-vault.ts';
import type { PanAccessLog } from './pan-access-log.ts';
import type { ReEncryptionProgress } from './re-encryption-progress-sql.ts';
import { createReEncryptionRuns, type ReEncryptionDeps } from './re-encryption-run.ts';
import { maintenanceJobKind, reEncryptionJobKind, vaultJobId } from './vault-jobs.ts';
import {
  changeKeyState,
  platformOwnerId,
  type VaultKey,
  type VaultKeyStore,
} from './vault-key-sql.ts';

/**
 * After this time no process encrypts under a replaced key, because keys are cached for five
 * minutes.
 */
const keyCacheExpiryMs = 660_000;
/** Other modules store encrypted data for days at most, which may use a retired key. */
const destroyAfterMs = 30 * dayMs;
const organizationsPerPage = 500;
/**
 * Limits the parallel rounds: each reads all cards of an organisation, and no request waits for it.
 */
const maxConcurrentReEncryptions = 2;

export type KeyMaintenanceDeps = Omit<ReEncryptionDeps, 'getDataKeys'> & {
  keyStore: VaultKeyStore;
  cardStore: ReturnType<typeof createCardStore>;
  panAccessLog: PanAccessLog;
  getOpenedVault(): OpenedVault;
  jobs: Pick<Jobs, 'handle' | 'enqueue'>;
  keyRotationDays: number;
  accessLogRetentionDays: number;
  unwraps: UnwrapCounter;
};

export function createKeyMaintenance(deps: KeyMaintenanceDeps) {
  const {
    database,
    keyStore,
    panAccessLog,
    getOpenedVault,
    jobs,
    clock,
    log,
    recordAudit,
    unwraps,
  } = deps;
  const reEncryptionRuns = createReEncryptionRuns({
    ...deps,
    getDataKeys: () => getOpenedVault().dataKeys,
  });
  const stopping = new AbortController();

  /** Wraps the keys under a new master key or provider; the keys and all cards stay unchanged. */
  async function rewrapKeys(organizationId: string): Promise<void> {
    const { provider } = getOpenedVault();
    const keys = await keyStore.list(organizationId);
    const old = keys.filter(
      ({ wrapped, wrappedBy }) => wrapped !== undefined && wrappedBy !== provider.wrappingKeyName,
    );
    for (const key of old) {
      const bytes = await unwrapKey({ provider, unwraps }, key);
      const { bytes: wrapped, wrappedBy } = await provider.wrap(bytes, key);
      bytes.fill(0);
      if (!(await keyStore.rewrap(key, { wrapped, wrappedBy }))) continue;
      log.info(
        { organizationId, keyId: key.keyId, wrappedBy },
        'a key was wrapped under another key',
      );
    }
  }

  /** The next state of a key, if a whole round found no card under it. */
  function nextStateOf(
    key: VaultKey,
    progress: ReEncryptionProgress,
  ): 'Retired' | 'Destroyed' | undefined {
    if ((progress.counts.found[key.keyId] ?? 0) > 0) return undefined;
    const ageMs = progress.startedAt - key.changedAt;
    if (key.state === 'Retiring' && ageMs > keyCacheExpiryMs) return 'Retired';
    if (key.state === 'Retired' && ageMs > destroyAfterMs) return 'Destroyed';
    return undefined;
  }

  async function finishReEncryption(
    organizationId: string,
    keys: readonly VaultKey[],
    progress: ReEncryptionProgress,
  ) {
    const at = clock.now();
    const entity = { type: 'vault', id: organizationId };
    const { resealed, deleted, broken } = progress.counts;
    await database.transaction(async (trx) => {
      const changed: { keyId: string; state: string }[] = [];
      for (const key of keys) {
        const state = nextStateOf(key, progress);
        if (state === undefined || !(await changeKeyState(trx, key, state, at))) continue;
        changed.push({ keyId: key.keyId, state });
      }
      await reEncryptionRuns.end(trx, organizationId);
      if (changed.length === 0 && resealed === 0) return;
      const after = { keys: changed, resealed, ...(broken === 0 ? {} : { broken }) };
      await recordAudit(trx, { organizationId, action: 'vault.keysChanged', entity, after });
    });
    log.info(
      { organizationId, resealed, deleted, broken },
      'the re-encryption of stored cards has finished',
    );
  }

  async function runReEncryption({ organizationId }: Job): Promise<Reschedule | undefined> {
    await rewrapKeys(platformOwnerId);
    await rewrapKeys(organizationId);
    const keys = await keyStore.list(organizationId);
    const progress = await reEncryptionRuns.run(organizationId, stopping.signal);
    if (progress === undefined) return { retryAt: clock.now(), countAttempt: false };
    await finishReEncryption(organizationId, keys, progress);
    await panAccessLog.deleteOlderThan(
      organizationId,
      clock.now() - deps.accessLogRetentionDays * dayMs,
    );
    // Another round must prove that no card is left under a replaced key.
    const hasRetiringKeys = (await keyStore.list(organizationId)).some(
      ({ state }) => state === 'Retiring',
    );
    return hasRetiringKeys
      ? { retryAt: clock.now() + keyCacheExpiryMs, countAttempt: false }
      : undefined;
  }

  async function enqueueReEncryption(organizationId: string): Promise<void> {
    const jobId = vaultJobId(reEncryptionJobKind, organizationId);
    await jobs.enqueue({ organizationId, jobId, kind: reEncryptionJobKind, payload: {} });
  }

  async function runMaintenance(): Promise<Reschedule> {
    const now = clock.now();
    const replaced = await keyStore.retireKeysCreatedBefore(
      now - deps.keyRotationDays * dayMs,
      now,
    );
    if (replaced.length > 0) log.info({ organizations: replaced.length }, 'keys were replaced');
    await rewrapKeys(platformOwnerId);
    for (let after = platformOwnerId; !stopping.signal.aborted; ) {
      const organizations = await keyStore.listOrganizations(after, organizationsPerPage);
      for (const organizationId of organizations) await enqueueReEncryption(organizationId);
      after = organizations.at(-1) ?? after;
      if (organizations.length < organizationsPerPage)
        return { retryAt: now + dayMs, countAttempt: false };
    }
    return { retryAt: now, countAttempt: false };
  }

  jobs.handle(maintenanceJobKind, runMaintenance);
  jobs.handle(reEncryptionJobKind, runReEncryption, { maxConcurrent: maxConcurrentReEncryptions });

  return {
    /**
     * Enqueues the daily job of the platform. It is due at once if cards from before keys exist.
     */
    async enqueueMaintenance(): Promise<void> {
      const now = clock.now();
      const dueAt = (await keyStore.hasLegacyCards()) ? now : now + hourMs;
      const jobId = vaultJobId(maintenanceJobKind, platformOwnerId);
      const job = { organizationId: platformOwnerId, jobId, kind: maintenanceJobKind, payload: {} };
      await jobs.enqueue({ ...job, dueAt });
    },
    runReEncryption,
    runMaintenance,
    stop: () => stopping.abort(),
  };
}
