// The modules of a process with the role `cards`: vault, HSM, acquirer links, payments and QR payments.
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import {
  type Acquiring,
  createAcquiring,
  createClientCertificates,
  createRequestSigners,
  type HostTables,
} from './acquiring/index.ts';
import type { Audit } from './audit/index.ts';
import type { Catalog } from './catalog/index.ts';
import type { EventStreams } from './http/index.ts';
import {
  createPayments,
  createRecentTransactions,
  type Payments,
  type RecentTransactions,
} from './payments/index.ts';
import {
  type AddressGuard,
  type ChangeNotifier,
  type CleanupJob,
  type Clock,
  createFailPoints,
  type Database,
  type DueClock,
  type Ids,
  type Jobs,
  type Log,
  type Metrics,
  type Numbering,
  type OutgoingCalls,
  type Settings,
} from './platform/index.ts';
import type { Provisioning } from './provisioning/index.ts';
import { createProviders, createQr, type Qr } from './qr/index.ts';
import { createHsm, createVault, openKeyProvider, type Vault } from './vault/index.ts';

type Deps = {
  settings: Settings;
  database: Database;
  clock: Clock;
  dueClock: DueClock;
  ids: Ids;
  log: Log;
  metrics: Metrics;
  /** Every process with keys runs reversals and vault jobs, also without the role `jobs`. */
  jobs: Jobs;
  provisioning: Provisioning;
  catalog: Catalog;
  calls: OutgoingCalls;
  linkGuard: AddressGuard;
  live: ChangeNotifier;
  hosts: HostTables;
  audit: Audit;
  numbering: Numbering;
};

export type CardModules = {
  /** Recently committed transactions, when this process also runs the jobs that publish them. */
  readonly recent: RecentTransactions | undefined;
  readonly cleanupJob: CleanupJob;
  register(app: FastifyInstance, streams: EventStreams): void;
  /** The fill level of the write queues, 0 to 1. */
  pressure(): number;
  /** True while this process captures items of a batch. */
  isCapturingBatch(): boolean;
  /** Whether the keys of the vault are available. */
  hasKeys(): boolean;
  /** Whether each open link to an acquirer can send messages. */
  linkHealth: Acquiring['listLinkHealth'];
  /** Checks the keys and certificates of an acquirer link. */
  inspectLink: Acquiring['checkLinkConfiguration'];
  /** Opens new acquirer links at once instead of at the next refresh. */
  openLinks(): Promise<void>;
  /** Fetches the keys, opens the acquirer links and starts the pending work in the database. */
  start(): Promise<void>;
  /** Answers waiting requests, so that they do not delay a shutdown. */
  endWaits(): void;
  /** Finishes running work while links and database are still open. */
  finish(): Promise<void>;
  /** Closes links, HSM and keys after the jobs have ended. */
  close(): Promise<void>;
};

function createCardVault({ settings, jobs, audit, ...deps }: Deps): Vault {
  return createVault({
    ...deps,
    jobs,
    openProvider: () => openKeyProvider(settings, deps.clock),
    legacyMasterKey: settings.vaultKeyPrevious,
    recordAudit: audit.recordChange,
    keyRotationDays: settings.vaultKeyRotationDays,
    retentionDays: settings.cardRetentionDays,
    accessLogRetentionDays: settings.cardAccessRetentionDays,
  });
}

function createQrModule({ settings, ...deps }: Deps): Qr {
  const { platformKey: masterKey, baseUrl } = settings;
  const providers = createProviders({
    ...deps,
    baseUrl,
    onCall: deps.catalog.providerCallCounter.record,
  });
  const failPoints = createFailPoints(settings.failPoint);
  const payWithinMs = settings.qrPaymentTimeoutSeconds * 1000;
  const recordAudit = deps.audit.recordChange;
  return createQr({ ...deps, providers, masterKey, failPoints, recordAudit, payWithinMs });
}

/** Acquiring and payments call each other, so both are created here. */
export function createCardModules(deps: Deps): CardModules {
  const { settings, hosts, ...parts } = deps;
  const { database, clock, log, metrics, numbering, provisioning } = parts;
  const vault = createCardVault(deps);
  const hsm = createHsm({ settings, log, metrics, clock });
  const certificates = createClientCertificates({
    directory: settings.acquirerCertificatesDir ?? join(settings.dataDir, 'acquirer-certificates'),
    log,
  });
  const acquiring = createAcquiring({
    hostTables: hosts,
    clientCertificates: certificates,
    database,
    clock,
    log,
    metrics,
    numbering,
    hsm,
    requestSigners: createRequestSigners(settings.platformKey),
    addressGuard: deps.linkGuard,
    timeoutMs: settings.acquirerTimeoutMs,
    loadLinks: provisioning.listLinksToOpen,
    findLinksWithPendingWork: () => payments.findLinksInUse(),
    onLateResponse: (late) => payments.recordLateResponse(late),
  });
  const recent = settings.roles.has('jobs') ? createRecentTransactions() : undefined;
  const payments: Payments = createPayments({
    ...parts,
    acquiring,
    vault,
    hsm,
    recentTransactions: recent,
    failPoints: createFailPoints(settings.failPoint),
    acquirerTimeoutMs: settings.acquirerTimeoutMs,
  });
  const qr = createQrModule(deps);
  return {
    recent,
    cleanupJob: payments.cleanupJob,
    register(app, streams) {
      payments.register(app);
      qr.register(app, streams);
    },
    pressure: () => Math.max(payments.queueUtilization(), qr.pressure()),
    isCapturingBatch: payments.isCapturingBatch,
    hasKeys: vault.hasKeys,
    linkHealth: acquiring.listLinkHealth,
    inspectLink: acquiring.checkLinkConfiguration,
    openLinks: acquiring.refreshLinks,
    async start() {
      await vault.openKeys();
      await hsm.start();
      await acquiring.start();
      payments.start();
      qr.start();
    },
    endWaits: payments.stopWaitingReaders,
    async finish() {
      vault.stopReEncryption();
      await Promise.all([payments.stop(), qr.stop()]);
    },
    async close() {
      await acquiring.close();
      await hsm.close();
      await vault.drain();
      await vault.close();
    },
  };
}
