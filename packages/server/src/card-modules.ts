// The rooms that take payments, for processes with the role `cards`: vault, security module, acquirer links, payments, QR.
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
  type Clock,
  createFailPoints,
  type Database,
  type DueClock,
  type Ids,
  type Jobs,
  type Live,
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
  /** Reversals and rounds over the vault are done by whoever has the keys, with the role `jobs` or without. */
  jobs: Jobs;
  provisioning: Provisioning;
  catalog: Catalog;
  calls: OutgoingCalls;
  linkGuard: AddressGuard;
  live: Live;
  hosts: HostTables;
  audit: Audit;
  numbering: Numbering;
};

export type CardModules = {
  /** Sales that this process has committed, where it does the jobs that tell of them. */
  readonly recent: RecentTransactions | undefined;
  register(app: FastifyInstance, streams: EventStreams): void;
  /** How full the queues of writes are, 0 to 1. */
  pressure(): number;
  /** Whether the keys of the vault are to be had. */
  hasKeys(): boolean;
  /** Whether each open link to an acquirer can send messages. */
  linkHealth: Acquiring['listLinkHealth'];
  /** What of an acquirer link is certain to be of no use: keys, certificates. */
  inspectLink: Acquiring['checkLinkConfiguration'];
  /** Opens acquirer links that were made a moment ago, without waiting for the next look. */
  openLinks(): Promise<void>;
  /** Fetches the keys, opens the acquirer links, and begins what waits in the database. */
  start(): Promise<void>;
  /** Answers those who wait for a change, so that they do not hold up a stop. */
  endWaits(): void;
  /** Ends the work under way, while links and database are still there. */
  finish(): Promise<void>;
  /** After the jobs have ended: links, module and keys. */
  close(): Promise<void>;
};

function createCardVault({ settings, jobs, audit, ...deps }: Deps): Vault {
  return createVault({
    ...deps,
    jobs,
    openProvider: () => openKeyProvider(settings, deps.clock),
    legacyMaster: settings.vaultKeyPrevious,
    tell: audit.recordChange,
    keyDays: settings.vaultKeyDays,
    retentionDays: settings.cardRetentionDays,
    accessDays: settings.cardAccessDays,
  });
}

function createQrModule({ settings, ...deps }: Deps): Qr {
  const { platformKey: masterKey, baseUrl } = settings;
  const providers = createProviders({ ...deps, baseUrl, onCall: deps.catalog.callBook.note });
  const failPoints = createFailPoints(settings.failPoint);
  const payWithinMs = settings.qrPaySeconds * 1000;
  const tell = deps.audit.recordChange;
  return createQr({ ...deps, providers, masterKey, failPoints, tell, payWithinMs });
}

/** Acquiring and payments call each other. */
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
    loadLinks: provisioning.linksToOpen,
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
    register(app, streams) {
      payments.register(app);
      qr.register(app, streams);
    },
    pressure: () => Math.max(payments.queueUtilization(), qr.pressure()),
    hasKeys: vault.isOpen,
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
      vault.endRounds();
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
