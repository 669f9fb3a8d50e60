// Starts the parts of the platform in order; the lifecycle stops them in the reverse order.
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import type { prepareDatabase as PrepareDatabase } from './application.ts';
import type { Demo } from './demo/index.ts';
import {
  applicationName,
  buildVersion,
  checkFileDescriptorLimit,
  createDatabaseClock,
  createDatabaseTimeline,
  createLifecycle,
  createLog,
  createMonitoringListener,
  createSessionTicketKeys,
  type Database,
  type DatabaseTimeline,
  ensureListenerCertificate,
  explainPortInUse,
  joinRoleNames,
  type Lifecycle,
  type Log,
  lowerGcThreadPriority,
  type MonitoringListener,
  openDatabase,
  type Settings,
  startEmbeddedPostgres,
  systemClock,
} from './platform/index.ts';

type StartContext = { settings: Settings; log: Log; lifecycle: Lifecycle; verbose: boolean };

/**
 * Starts the whole platform and leaves it running.
 *
 * @param verbose the demo prints all addresses and secrets, and not only what a first payment needs
 * @throws Error when a part cannot start; the started parts are stopped again
 */
export async function startPlatform(settings: Settings, { verbose = false } = {}): Promise<void> {
  const log = createLog(settings);
  const lifecycle = createLifecycle({ log });
  lifecycle.stopOnSignals();
  try {
    await startParts({ settings, log, lifecycle, verbose });
  } catch (error) {
    await lifecycle.stop('the start failed');
    throw explainPortInUse(error, settings);
  }
}

async function findDatabaseUrl({ settings, log, lifecycle }: StartContext): Promise<string> {
  if (settings.databaseUrl !== undefined) return settings.databaseUrl;
  const postgres = await startEmbeddedPostgres({
    dataDir: join(settings.dataDir, 'postgres'),
    binDir: settings.postgresBinDir,
    log,
  });
  lifecycle.onStop('embedded database', postgres.stop);
  return postgres.url;
}

async function openDatabaseOf(
  { settings, log, lifecycle }: StartContext,
  url: string,
  prepareDatabase: typeof PrepareDatabase,
): Promise<{ database: Database; timeline: DatabaseTimeline }> {
  const timeline = createDatabaseTimeline({ log, dataDir: settings.dataDir });
  const database = openDatabase({
    url,
    log,
    connections: settings.databaseConnections,
    hotConnections: settings.databaseSaleConnections,
    preparedStatements: settings.preparedStatements === 'on',
    engine: settings.databaseEngine,
    verifyConnection: timeline.verifyConnection,
    applicationName: applicationName(
      settings.instanceName,
      `${joinRoleNames(settings.roles)} ${buildVersion.version}`,
    ),
  });
  lifecycle.onStop('database', database.close);
  await prepareDatabase({ settings, database, log });
  lifecycle.onStop('database timeline', timeline.stop);
  await timeline.start(database);
  return { database, timeline };
}

/** Only a process with both roles creates the demo data; other processes use it. */
const seedsDemo = ({ roles }: Settings) => roles.has('cards') && roles.has('identity');

async function startParts(context: StartContext): Promise<void> {
  const { settings, log, lifecycle } = context;
  log.info({ ...buildVersion, node: process.versions.node }, 'starting');
  for (const warning of settings.warnings) log.warn(warning);
  checkFileDescriptorLimit(settings, log);
  lowerGcThreadPriority(log);
  // The modules load while the embedded PostgreSQL starts, which takes about as long.
  const [{ createApplication, prepareDatabase }, { demoUserDomainId, startDemo }, url] =
    await Promise.all([
      import('./application.ts'),
      import('./demo/index.ts'),
      findDatabaseUrl(context),
    ]);
  const { database, timeline } = await openDatabaseOf(context, url, prepareDatabase);
  const certificate =
    settings.tls === 'on'
      ? await ensureListenerCertificate({ settings, clock: systemClock })
      : undefined;
  const sessionTickets = createSessionTicketKeys({
    database,
    masterKey: settings.platformKey,
    log,
  });
  lifecycle.onStop('TLS session tickets', sessionTickets.stop);
  if (certificate !== undefined) await sessionTickets.start();
  // Expiry times are compared across processes, whose clocks may differ by seconds.
  const identityClock = createDatabaseClock({ database, clock: systemClock, log });
  lifecycle.onStop('clock', identityClock.stop);
  await identityClock.start();
  const application = await createApplication({
    settings,
    database,
    log,
    identityClock,
    timeline,
    processMetrics: true,
    ...(settings.environment === 'production' ? {} : { exampleUserDomain: demoUserDomainId }),
    ...defined({ tls: certificate && { ...certificate, sessionTickets } }),
  });
  let demo: Demo | undefined;
  let monitoring: MonitoringListener | undefined;
  // Registered before slow parts, so that it reports the shutdown until they have stopped.
  lifecycle.onStop('monitoring', () => monitoring?.close());
  // Registered before the modules, so that it stops after them: running sales need their acquirer.
  lifecycle.onStop('demo', () => demo?.stop());
  lifecycle.onStop('modules', application.stop, application.stopLimitMs);
  if (settings.environment !== 'production' && seedsDemo(settings)) {
    demo = await startDemo({
      settings,
      modules: application,
      log,
      caFile: certificate?.caFile,
      verbose: context.verbose,
    });
  }
  await application.start();
  await application.http.listen();
  const { connector } = application;
  monitoring = createMonitoringListener({
    host: settings.metricsHost,
    port: settings.metricsPort,
    metrics: application.metrics,
    log,
    roles: [...settings.roles],
    notes: () => ({
      numbering: timeline.numbering.isRecoveryRequired() ? 'recovery_required' : 'ok',
    }),
    checks: {
      // Migrations have run before.
      migrations: () => true,
      ...defined({ keys: application.cards?.hasKeys }),
    },
    dependencies: {
      database: database.healthy,
      ...defined({
        nats:
          connector?.nodesAreUp() === undefined
            ? undefined
            : async () => connector.nodesAreUp() === true,
      }),
    },
    links: application.cards?.linkHealth,
  });
  await monitoring.listen();
  // Stops first, so that load balancers send traffic elsewhere.
  lifecycle.onStop('readiness', monitoring.drain);
  const { baseUrl, environment, roles } = settings;
  log.info({ baseUrl, environment, roles: [...roles] }, 'ready');
  demo?.announce();
}
