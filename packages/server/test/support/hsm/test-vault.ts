// A vault over its own database; the test controls keys, clock and jobs.
import { randomBytes } from 'node:crypto';
import {
  createLog,
  createMetrics,
  type Database,
  type Job,
  type JobHandler,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../../src/platform/index.ts';
import { createVault, type KeyProvider, type Vault } from '../../../src/vault/index.ts';
import { createLocalKeyProvider } from '../../../src/vault/key-providers/open-key-provider.ts';
import type { VaultDeps } from '../../../src/vault/vault.ts';
import { reEncryptionJobKind } from '../../../src/vault/vault-jobs.ts';
import { migrationsFolder, testDatabaseCopyUrl } from '../database/test-database.ts';
import { type MovableClock, movableClock } from '../movable-clock.ts';

export type VaultAuditEntry = Parameters<VaultDeps['recordAudit']>[1];

export type TestVault = {
  readonly vault: Vault;
  readonly clock: MovableClock;
  readonly auditEntries: VaultAuditEntry[];
  /** Runs the job of a kind now, as the platform would. */
  runJob(kind: string, organizationId: string): ReturnType<JobHandler>;
  runRound(organizationId: string): ReturnType<JobHandler>;
  close(): Promise<void>;
};

export const log = createLog({ logLevel: 'silent', instanceName: 'vault-test' });

export async function openVaultDatabase(): Promise<Database> {
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log, connections: 4 });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  return database;
}

export type TestVaultOptions = Partial<
  Pick<VaultDeps, 'legacyMasterKey' | 'retentionDays' | 'keyRotationDays' | 'clock' | 'metrics'>
> & {
  readonly database: Database;
  readonly provider?: KeyProvider;
  readonly clock?: MovableClock;
};

/** Acts as a separate process over the same database. */
export async function openTestVault(options: TestVaultOptions): Promise<TestVault> {
  const { database, clock = movableClock(Date.now()) } = options;
  const { provider = createLocalKeyProvider(randomBytes(32)), metrics = createMetrics() } = options;
  const handlers = new Map<string, JobHandler>();
  const auditEntries: VaultAuditEntry[] = [];
  const vault = createVault({
    database,
    clock,
    log,
    ids: systemIdGenerator,
    metrics,
    openProvider: async () => provider,
    legacyMasterKey: options.legacyMasterKey,
    jobs: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      enqueue: async () => {},
    },
    recordAudit: async (_trx, change) => void auditEntries.push(change),
    keyRotationDays: options.keyRotationDays ?? 365,
    retentionDays: options.retentionDays ?? 540,
    accessLogRetentionDays: 400,
  });
  await vault.openKeys();
  const runJob = async (kind: string, organizationId: string) => {
    const handler = handlers.get(kind);
    if (handler === undefined) throw new Error(`no handler for ${kind}`);
    const facts: Job = {
      organizationId,
      kind,
      jobId: systemIdGenerator.uuid(),
      payload: {},
      attempts: 0,
      dueAt: clock.now(),
    };
    return handler(facts);
  };
  return {
    vault,
    clock,
    auditEntries,
    runJob,
    runRound: (organizationId) => runJob(reEncryptionJobKind, organizationId),
    async close() {
      await vault.drain();
      await vault.close();
    },
  };
}
