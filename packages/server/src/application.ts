// Creates every module of the application and connects them; nothing is started here.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import { createHostTables, createRequestSigners } from './acquiring/index.ts';
import { type Audit, type Author, auditEvents, createAudit } from './audit/index.ts';
import { type CardModules, createCardModules } from './card-modules.ts';
import { type Catalog, createCatalog, emvValueRules } from './catalog/index.ts';
import {
  type Connector,
  type ConnectorTimes,
  createConnector,
  createRetailApi,
  openNodes,
  presenceEvents,
  type RetailTimes,
  retailEvents,
} from './connector/index.ts';
import { createTerminalStarter } from './demo/index.ts';
import { registerHealth, registerNumbering, registerNumberingGauges } from './health/index.ts';
import { createHttp, defaultLoadLimits, type Http, type HttpDeps } from './http/index.ts';
import { createIdempotency } from './idempotency/index.ts';
import {
  createIdentity,
  deviceListener,
  type Identity,
  type IdentityDeps,
  type LocationChecks,
  portalClientId,
} from './identity/index.ts';
import { createLogs, type Logs } from './logs/index.ts';
import { registerOnboarding } from './onboarding/index.ts';
import { paymentEvents } from './payments/index.ts';
import {
  type AddressLookup,
  acquirerLinkRules,
  allowedAcquirerProxies,
  type Clock,
  createAddressGuard,
  createChangeNotifier,
  createCleanup,
  createDueClock,
  createFailPoints,
  createJobs,
  createMail,
  createMetrics,
  createOutbox,
  createOutgoingCalls,
  createTracer,
  type Database,
  explainSchemaMismatch,
  type Ids,
  type Jobs,
  type Log,
  type LostWriteGuard,
  type Metrics,
  migrate,
  noLostWriteGuard,
  type OutgoingCalls,
  outgoingCallRules,
  registerDatabaseMetrics,
  reportCertificateExpiry,
  requireDatabaseAccess,
  requirePlatformKey,
  type Settings,
  storePlatformKeyCheck,
  systemClock,
  systemIdGenerator,
} from './platform/index.ts';
import { createPortal } from './portal/index.ts';
import { createProvisioning, type Provisioning, type UserDomains } from './provisioning/index.ts';
import { qrEvents } from './qr/index.ts';
import { registerReferenceRoutes } from './reference/index.ts';
import { createReporting, type Reporting } from './reporting/index.ts';
import { registerUsers } from './users/index.ts';
import {
  createDeliveries,
  createWebhooks,
  type DeliveryTimes,
  type Webhooks,
} from './webhooks/index.ts';

type DeviceLookups = Pick<
  IdentityDeps,
  'findDevice' | 'findTerminal' | 'findMerchantName' | 'terminalClaims'
>;

export const migrationsDirectory = fileURLToPath(new URL('../migrations', import.meta.url));

/** 15 s each for running requests, for jobs and for the other parts of a shutdown. */
const stopMarginMs = 45_000;

export type ApplicationOptions = {
  settings: Settings;
  database: Database;
  log: Log;
  tls?: NonNullable<HttpDeps['tls']> & { readonly caFile?: string | undefined };
  rateLimits?: HttpDeps['rateLimits'];
  loadLimits?: HttpDeps['loadLimits'];
  /** The user domain in the token URL of the API reference. */
  exampleUserDomain?: HttpDeps['exampleUserDomain'];
  /** For tests: a response that its route does not declare becomes an internal error. */
  validatesResponses?: boolean;
  /** Adds metrics of memory and CPU; once per process. */
  processMetrics?: boolean;
  /** The author of changes without a request, if a command creates the application. */
  author?: Author;
  clock?: Clock;
  identityClock?: Clock;
  /** Left out, for tests and tools: a restored database is not detected. */
  timeline?: LostWriteGuard;
  ids?: Ids;
  /** For tests: creates the private keys of realms. */
  makeRealmKey?: IdentityDeps['generatePrivateKey'];
  /** For tests: hashes passwords with less work. */
  passwordHasher?: IdentityDeps['passwordHasher'];
  /** For tests: calls to external servers, and the delays of webhook deliveries. */
  calls?: OutgoingCalls;
  /** For tests: resolves hosts of acquirer links. */
  lookup?: AddressLookup;
  webhookTimes?: DeliveryTimes;
  /** For tests: the timeouts of the connector. */
  connectorTimes?: Partial<ConnectorTimes>;
  retailTimes?: Partial<RetailTimes>;
  /** For tests: the folder of the built portal. */
  portalFolder?: string;
};

export type Application = {
  http: Http;
  identity: Identity;
  provisioning: Provisioning;
  catalog: Catalog;
  /** Absent without the role `cards`. */
  cards?: CardModules;
  /** Absent without the role `connector`. */
  connector?: Connector;
  audit: Audit;
  reporting: Reporting;
  metrics: Metrics;
  /** Opens new acquirer links at once instead of at the next refresh. */
  openLinks(): Promise<void>;
  /** Opens the acquirer links and starts the pending work in the database. */
  start(): Promise<void>;
  /** Finishes running work, then closes everything except the database. */
  stop(): Promise<void>;
  /** An upper bound of the duration of `stop`. */
  stopLimitMs: number;
};

/**
 * Migrates the database schema; safe while other processes do the same.
 *
 * @throws Error for a database of another version, with instructions to remove it, or of another platform key
 */
export async function prepareDatabase({
  settings,
  database,
  log,
}: Pick<ApplicationOptions, 'settings' | 'database' | 'log'>): Promise<void> {
  const deps = {
    log,
    clock: systemClock,
    ids: systemIdGenerator,
    engine: settings.databaseEngine,
  };
  await requireDatabaseAccess(database, settings.databaseUrl);
  // Before the migrations: the address may be that of the database of another platform.
  await requirePlatformKey(database, settings.platformKey);
  try {
    await migrate(database, migrationsDirectory, deps);
  } catch (error) {
    throw explainSchemaMismatch(error, settings);
  }
  await storePlatformKeyCheck(database, settings.platformKey);
}

/** The queries of identity about devices, answered by provisioning. */
function deviceLookups(provisioning: Provisioning): DeviceLookups {
  const { findDevice, physicalDevices, merchants, terminalClaims } = provisioning;
  return {
    findDevice,
    terminalClaims,
    findTerminal: async (scope, id) => (await physicalDevices.get(scope, id)).view,
    findMerchantName: async (organizationId, id) =>
      (await merchants.get({ organizationId }, id)).view.name,
  };
}

/** Identity is created after provisioning, which uses it, so identity is read at each call. */
const userDomainsOf = (identity: () => Identity): UserDomains => ({
  findByOrganization: (organizationId) => identity().userDomains.findByOrganization(organizationId),
  findByOrganizations: (organizationIds) =>
    identity().userDomains.findByOrganizations(organizationIds),
  async open(organizationId, userDomainId, trx) {
    await identity().userDomains.open(organizationId, [userDomainId], trx);
  },
  close: (organizationId, trx) => identity().userDomains.close(organizationId, trx),
  invalidate: (organizationId) => identity().userDomains.invalidate(organizationId),
});

/** The listener for devices always requests client certificates; a setting decides whether the API listener does. */
async function listenersOf(
  { settings, tls }: ApplicationOptions,
  identity: Identity,
): Promise<Pick<HttpDeps, 'tls' | 'deviceListener'>> {
  const deviceListenerOptions = settings.roles.has('identity')
    ? { port: settings.devicePort, ...deviceListener }
    : undefined;
  if (tls === undefined) return { deviceListener: deviceListenerOptions };
  const tlsWithClientCertificates = {
    ...tls,
    clientAuthorities: await identity.devices.authorities(),
  };
  return {
    tls: settings.clientCertificates === 'on' ? tlsWithClientCertificates : tls,
    deviceListener: deviceListenerOptions && {
      ...deviceListenerOptions,
      tls: tlsWithClientCertificates,
    },
  };
}

/** Only a page of the demo can simulate a terminal, in a process with the connector. */
function terminalStarterOf(
  { settings, tls, log }: ApplicationOptions,
  { identity, clock }: ReturnType<typeof createModules>,
) {
  if (settings.environment !== 'demo' || !settings.roles.has('connector')) return undefined;
  const { certificates } = identity.devices;
  return createTerminalStarter({ settings, caFile: tls?.caFile, certificates, clock, log });
}

/** Provisioning knows the merchants and stores of applications. */
const merchantAndStoreLookups = ({ merchants, stores }: Provisioning): LocationChecks => ({
  async requireMerchant(organizationId, merchantId) {
    await merchants.get({ organizationId }, merchantId);
  },
  async findMerchantOfStore(organizationId, storeId) {
    return (await stores.get({ organizationId }, storeId)).view.merchantId;
  },
});

/** Without the role `jobs`, this process leaves the jobs to another process. */
const jobsWhen = (opens: boolean, jobs: Jobs): Jobs =>
  opens ? jobs : { ...jobs, handle: () => {} };

/** Registers user management and the sign-up of organisations. */
function registerUserManagement(
  app: Http['app'],
  parts: Parameters<typeof registerOnboarding>[1] & {
    provisioning: Provisioning;
    identity: Identity;
  },
) {
  const { identity, provisioning, audit } = parts;
  const { requireMerchant } = merchantAndStoreLookups(provisioning);
  const { accounts, sessions } = identity;
  registerUsers(app, {
    accounts,
    sessions,
    audit,
    requireMerchant,
    database: parts.database,
  });
  registerOnboarding(app, parts);
}

type Management = Parameters<typeof registerUserManagement>[1] & {
  identity: Identity;
  catalog: Catalog;
  audit: Audit;
  logs: Logs;
  webhooks: Webhooks;
};

/** Registers everything except payments: identities and provisioning (ADR 0032). */
async function registerManagement({ app, streams }: Http, parts: Management): Promise<void> {
  const { identity, provisioning, audit, catalog, logs, webhooks } = parts;
  await identity.register(app);
  await identity.registerDevices(app);
  identity.registerApplicationManagement(app, merchantAndStoreLookups(provisioning));
  registerUserManagement(app, parts);
  audit.register(app);
  provisioning.register(app);
  catalog.register(app);
  logs.register(app, streams);
  webhooks.register(app, streams);
}

/** Creates the modules of every process; its roles decide which routes and jobs it serves. */
function createModules(deps: ApplicationOptions) {
  const { settings, database, log, clock = systemClock, ids = systemIdGenerator } = deps;
  const { platformKey: masterKey, roles } = settings;
  const metrics = createMetrics({ processMetrics: deps.processMetrics ?? false });
  const tracer = createTracer({ settings, log, metrics });
  const live = createChangeNotifier({ log, metrics });
  const dueClock = createDueClock(clock, log);
  const allJobs = createJobs({ database, clock, dueClock, ids, log, metrics, tracer });
  const jobs = jobsWhen(roles.has('jobs'), allJobs);
  const mail = createMail({ settings, clock, ids });
  const audit = createAudit({ database, clock, jobs, masterKey, author: deps.author });
  const hostTables = settings.dialectsDir ?? join(settings.dataDir, 'dialects');
  const hosts = createHostTables({ directory: hostTables, clock, log });
  const linkGuard = createAddressGuard({ ...acquirerLinkRules(settings), lookup: deps.lookup });
  const provisioning = createProvisioning({
    database,
    clock,
    ids,
    audit,
    jobs,
    acquirerProxies: allowedAcquirerProxies(settings),
    approvesLinksAtOnce: settings.environment === 'demo',
    linkGuard,
    dialects: hosts.reload,
    signingKeys: createRequestSigners(masterKey).publicKeysFor,
    checkLinkKeys: async (...of) => (await cards?.inspectLink(...of)) ?? [],
    userDomains: userDomainsOf(() => identity),
    posClients: () => identity.posClients,
    isOperator: (organizationId) => identity.isOperator(organizationId),
  });
  const identity: Identity = createIdentity({
    database,
    settings,
    ids,
    log,
    masterKey,
    jobs,
    mail,
    clock: deps.identityClock ?? clock,
    ...deviceLookups(provisioning),
    recordChange: audit.recordChange,
    ...defined({
      generatePrivateKey: deps.makeRealmKey,
      passwordHasher: deps.passwordHasher,
    }),
  });
  const calls = deps.calls ?? createOutgoingCalls(outgoingCallRules(settings));
  const catalog = createCatalog({
    database,
    clock,
    ids,
    log,
    masterKey,
    jobs,
    audit,
    provisioning,
    calls,
    valueRules: emvValueRules({ allowsTestKeys: settings.environment !== 'production' }),
    baseUrl: settings.baseUrl,
  });
  const timeline = deps.timeline ?? noLostWriteGuard;
  const { numbering } = timeline;
  registerNumberingGauges(metrics, timeline);
  reportCertificateExpiry({ metrics, clock, log }, settings, deps.tls?.cert.toString());
  registerDatabaseMetrics(metrics, database);
  const parts = { settings, database, clock, dueClock, ids, log, metrics, tracer, live, numbering };
  const logs = createLogs({ ...parts, portalClientId });
  const cards = roles.has('cards')
    ? createCardModules({
        ...parts,
        jobs: allJobs,
        provisioning,
        catalog,
        calls,
        linkGuard,
        hosts,
        audit,
      })
    : undefined;
  const outbox = createOutbox({ database, log, metrics });
  const retentionDays = settings.eventRetentionDays;
  const deliveries = createDeliveries({
    ...parts,
    masterKey,
    jobs,
    audit,
    calls,
    retentionDays,
    requireMerchant: merchantAndStoreLookups(provisioning).requireMerchant,
    failPoints: createFailPoints(settings.failPoint),
    ...defined({ times: deps.webhookTimes }),
  });
  const webhooks = createWebhooks({
    ...parts,
    changeNotifier: live,
    outbox,
    jobs,
    retentionDays,
    deliveries,
    eventMappers: [
      ...paymentEvents(cards?.recent),
      qrEvents,
      retailEvents,
      presenceEvents,
      auditEvents,
      deliveries.events,
    ],
  });
  const nodes = roles.has('connector') ? openNodes(parts) : undefined;
  const connector = roles.has('connector')
    ? createConnector({
        ...parts,
        masterKey,
        audit,
        provisioning,
        catalog,
        nodes,
        times: deps.connectorTimes,
        verifyToken: identity.verifyToken,
        clients: identity.clientVerifier,
        certificates: identity.devices.reader,
      })
    : undefined;
  const retail =
    connector === undefined
      ? undefined
      : createRetailApi({
          ...parts,
          connector,
          masterKey,
          provisioning,
          catalog,
          times: deps.retailTimes,
        });
  const managed = { audit, provisioning, identity, catalog, logs, webhooks, connector, retail };
  return { ...parts, ...managed, timeline, allJobs, jobs, mail, calls, cards, outbox };
}

/** The health checks of the components that this process needs. */
function healthChecks({ database, cards, connector }: ReturnType<typeof createModules>) {
  return {
    database: database.healthy,
    ...defined({
      keys: cards === undefined ? undefined : async () => cards.hasKeys(),
      nats:
        connector?.nodesAreUp() === undefined
          ? undefined
          : async () => connector.nodesAreUp() === true,
    }),
  };
}

/**
 * Creates the application and registers the routes of its roles. A test may replace the clock and the
 * identifiers.
 *
 * @example const application = await createApplication({ settings, database, log, tls }); await application.start();
 */
export async function createApplication(deps: ApplicationOptions): Promise<Application> {
  const { settings, log } = deps;
  const modules = createModules(deps);
  const { metrics, ids, mail, audit, provisioning, identity, catalog, cards, logs } = modules;
  const { outbox, webhooks, connector, retail } = modules;
  const startTerminal = terminalStarterOf(deps, modules);
  const portal = createPortal({ ...modules, startTerminal, builtFolder: deps.portalFolder });
  const idempotency = createIdempotency({ ...modules, masterKey: settings.platformKey });
  const http = await createHttp({
    settings,
    log,
    ids,
    metrics,
    tracer: modules.tracer,
    live: modules.live,
    ...defined({ clock: deps.clock }),
    verifyToken: identity.verifyToken,
    findOrganization: provisioning.findOrganization,
    findSessionCaller: portal.callerOf,
    onResponse: logs.record,
    idempotencyKeys: idempotency.keys,
    certificates: identity.devices.reader,
    ...(await listenersOf(deps, identity)),
    exampleUserDomain: deps.exampleUserDomain,
    ...defined({ rateLimits: deps.rateLimits }),
    loadLimits: deps.loadLimits ?? {
      ...defaultLoadLimits,
      loopDelayMs: settings.overloadEventLoopLagMs,
    },
    ...defined({ validatesResponses: deps.validatesResponses }),
  });
  const reporting = createReporting({
    ...modules,
    exportRetentionDays: settings.exportRetentionDays,
    // A batch of captures leaves less of the database to sales, so reports wait for its end.
    getPressure: () =>
      modules.cards?.isCapturingBatch() === true ? 1 : http.loadShedding.pressure(),
    // Tests set their own load limits, since they share their process with the platform.
    ...defined({ getBusyShare: deps.loadLimits === undefined ? undefined : () => 0 }),
    async requireLink(organizationId, linkId) {
      await provisioning.acquirerLinks.get({ organizationId }, linkId);
    },
  });
  registerReferenceRoutes(http.app);
  if (settings.roles.has('identity')) {
    await registerManagement(http, modules);
    reporting.register(http.app);
  }
  registerHealth(http.app, { ...modules, checks: healthChecks(modules) });
  registerNumbering(http.app, { ...modules, isOperator: identity.isOperator });
  const servesPortal = settings.roles.has('portal');
  if (servesPortal) portal.register(http.app, http.streams);
  if (cards !== undefined) {
    http.loadShedding.addPressure(cards.pressure);
    cards.register(http.app, http.streams);
  }
  connector?.register(http.upgrades);
  connector?.registerDeviceRoutes(http.app);
  retail?.register(http.app, http.streams);
  const runsJobs = settings.roles.has('jobs');
  const cleanup = createCleanup(
    [
      ...(runsJobs ? [idempotency.cleanupJob, logs.cleanupJob, ...webhooks.cleanupJobs] : []),
      ...(settings.roles.has('identity') ? identity.cleanupJobs : []),
      ...(servesPortal ? [portal.cleanupJob] : []),
      ...(cards === undefined ? [] : [cards.cleanupJob]),
      catalog.providerCallCounter.cleanupJob,
    ],
    log,
  );
  return {
    http,
    identity,
    provisioning,
    catalog,
    audit,
    reporting,
    metrics,
    ...defined({ cards, connector }),
    openLinks: async () => cards?.openLinks(),
    async start() {
      await cards?.start();
      modules.allJobs.start();
      modules.live.start();
      catalog.providerCallCounter.start();
      connector?.start();
      retail?.start();
      if (runsJobs) {
        await mail.open();
        outbox.start();
        webhooks.start();
        reporting.start();
      }
      logs.start();
      cleanup.start();
    },
    stopLimitMs: settings.acquirerTimeoutMs + stopMarginMs,
    async stop() {
      cards?.endWaits();
      http.upgrades.drain();
      await retail?.stop();
      await connector?.stop();
      await http.close();
      await modules.live.stop();
      await cards?.finish();
      await modules.allJobs.stop();
      await cards?.close();
      await outbox.stop();
      await webhooks.stop();
      await reporting.stop();
      await cleanup.stop();
      modules.calls.close();
      await catalog.providerCallCounter.stop();
      await logs.stop();
      await portal.stop();
      await identity.close();
      await mail.close();
      await modules.tracer?.stop();
    },
  };
}
