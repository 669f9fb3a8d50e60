// The plan of the house: builds each room and hands it what it needs; nothing is started here.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined } from '@switchyard/contract';
import { createHostTables, createRequestSigners } from './acquiring/index.ts';
import { type Audit, auditEvents, createAudit } from './audit/index.ts';
import { type CardRooms, createCardRooms } from './card-rooms.ts';
import { type Catalog, createCatalog, emvValueRules } from './catalog/index.ts';
import {
  type Connector,
  type ConnectorTimes,
  createConnector,
  createRetail,
  openNodes,
  presenceEvents,
  type RetailTimes,
  retailEvents,
} from './connector/index.ts';
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
  acquirerProxiesOf,
  type Clock,
  callRulesOf,
  createAddressGuard,
  createDueClock,
  createFailPoints,
  createJobs,
  createLive,
  createMail,
  createMetrics,
  createOutbox,
  createOutgoingCalls,
  type Database,
  explainSchemaMismatch,
  type GuardedTimeline,
  type Ids,
  type Jobs,
  type Log,
  linkRulesOf,
  type Metrics,
  migrate,
  type OutgoingCalls,
  type Settings,
  systemClock,
  systemIds,
  unguardedTimeline,
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

/** The 15 s each of the requests and of the jobs, and as much for all the rest of a stop. */
const stopPartsMs = 45_000;

export type HouseDeps = {
  settings: Settings;
  database: Database;
  log: Log;
  tls?: HttpDeps['tls'];
  rateLimits?: HttpDeps['rateLimits'];
  loadLimits?: HttpDeps['loadLimits'];
  /** The user domain that the API reference signs in to. */
  shownUserDomain?: HttpDeps['shownUserDomain'];
  /** Makes an answer that its schema does not know a fault: for tests. */
  checksAnswers?: boolean;
  /** Counts memory and CPU of the process too: for the one house of a process. */
  processMetrics?: boolean;
  clock?: Clock;
  identityClock?: Clock;
  /** Left out, a restored database goes unnoticed: for tests and tools. */
  timeline?: GuardedTimeline;
  ids?: Ids;
  /** Makes the private keys of realms: for tests. */
  makeRealmKey?: IdentityDeps['generatePrivateKey'];
  /** Calls to servers of others, and how patiently events are sent: for tests. */
  calls?: OutgoingCalls;
  /** Resolves hosts of acquirer links: for tests. */
  lookup?: AddressLookup;
  webhookTimes?: DeliveryTimes;
  /** How patient the connector is: for tests. */
  connectorTimes?: Partial<ConnectorTimes>;
  retailTimes?: Partial<RetailTimes>;
  /** Where the built pages of the portal lie: for tests. */
  portalFolder?: string;
};

export type House = {
  http: Http;
  identity: Identity;
  provisioning: Provisioning;
  catalog: Catalog;
  /** Absent without the role `cards`. */
  cards?: CardRooms;
  /** Absent without the role `connector`. */
  connector?: Connector;
  audit: Audit;
  reporting: Reporting;
  metrics: Metrics;
  /** Opens acquirer links that were made a moment ago, without waiting for the next look. */
  openLinks(): Promise<void>;
  /** Opens the acquirer links and begins the work that waits in the database. */
  start(): Promise<void>;
  /** Finishes what runs, then lets go of everything but the database. */
  stop(): Promise<void>;
  /** More than the parts of the stop take together at the worst. */
  stopLimitMs: number;
};

/**
 * Brings the schema up to date; safe while other processes do the same.
 *
 * @throws Error for a database of another commit, with how to remove it
 */
export async function prepareDatabase({
  settings,
  database,
  log,
}: Pick<HouseDeps, 'settings' | 'database' | 'log'>): Promise<void> {
  const deps = { log, clock: systemClock, ids: systemIds };
  try {
    await migrate(database, migrationsDirectory, deps);
  } catch (error) {
    throw explainSchemaMismatch(error, settings);
  }
}

/** What identity asks of provisioning about the devices that come to it. */
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

/** Provisioning makes user domains, and identity is built upon it: asked once the house stands. */
const userDomainsOf = (identity: () => Identity): UserDomains => ({
  of: (organizationId) => identity().userDomains.findByOrganization(organizationId),
  ofAll: (organizationIds) => identity().userDomains.findByOrganizations(organizationIds),
  async open(organizationId, userDomainId, trx) {
    await identity().userDomains.open(organizationId, [userDomainId], trx);
  },
  close: (organizationId, trx) => identity().userDomains.close(organizationId, trx),
  changed: (organizationId) => identity().userDomains.invalidate(organizationId),
});

/** Devices have a listener of their own; whether the API asks for their certificates is a setting. */
async function listenersOf(
  { settings, tls }: HouseDeps,
  identity: Identity,
): Promise<Pick<HttpDeps, 'tls' | 'secondListener'>> {
  const own = settings.roles.has('identity')
    ? { port: settings.devicePort, ...deviceListener }
    : undefined;
  if (tls === undefined) return { secondListener: own };
  const asking = { ...tls, clientAuthorities: await identity.devices.authorities() };
  return {
    tls: settings.clientCertificates === 'on' ? asking : tls,
    secondListener: own && { ...own, tls: asking },
  };
}

/** What applications act for is provisioning's to know. */
const placesOf = ({ merchants, stores }: Provisioning): LocationChecks => ({
  async requireMerchant(organizationId, merchantId) {
    await merchants.get({ organizationId }, merchantId);
  },
  async findMerchantOfStore(organizationId, storeId) {
    return (await stores.get({ organizationId }, storeId)).view.merchantId;
  },
});

/** Jobs of rooms that this process does not open are left to another one. */
const jobsIf = (opens: boolean, jobs: Jobs): Jobs => (opens ? jobs : { ...jobs, handle: () => {} });

/** Who manages people, and how organisations and their first users come in. */
function registerPeople(
  app: Http['app'],
  parts: Parameters<typeof registerOnboarding>[1] & {
    provisioning: Provisioning;
    identity: Identity;
  },
) {
  const { identity, provisioning, audit } = parts;
  const { requireMerchant } = placesOf(provisioning);
  const { accounts, sessions } = identity;
  const { database } = parts;
  registerUsers(app, { accounts, sessions, audit, demandMerchant: requireMerchant, database });
  registerOnboarding(app, parts);
}

type Management = Parameters<typeof registerPeople>[1] & {
  identity: Identity;
  catalog: Catalog;
  audit: Audit;
  logs: Logs;
  webhooks: Webhooks;
};

/** Everything but payments: who people and devices are, and the estate that they work in (ADR 0032). */
async function registerManagement({ app, streams }: Http, parts: Management): Promise<void> {
  const { identity, provisioning, audit, catalog, logs, webhooks } = parts;
  await identity.register(app);
  await identity.registerDevices(app);
  identity.registerApplicationManagement(app, placesOf(provisioning));
  registerPeople(app, parts);
  audit.register(app);
  provisioning.register(app);
  catalog.register(app);
  logs.register(app, streams);
  webhooks.register(app, streams);
}

/** The rooms that every process has, whichever of them it opens: payments ask them who and where. */
function createRooms(deps: HouseDeps) {
  const { settings, database, log, clock = systemClock, ids = systemIds } = deps;
  const { platformKey: masterKey, roles } = settings;
  const metrics = createMetrics({ processMetrics: deps.processMetrics ?? false });
  const live = createLive({ log, metrics });
  const dueClock = createDueClock(clock, log);
  const allJobs = createJobs({ database, clock, dueClock, ids, log, metrics });
  const jobs = jobsIf(roles.has('jobs'), allJobs);
  const mail = createMail({ settings, clock, ids });
  const audit = createAudit({ database, clock, jobs, masterKey });
  const hostTables = settings.dialectsDir ?? join(settings.dataDir, 'dialects');
  const hosts = createHostTables({ directory: hostTables, clock, log });
  const linkGuard = createAddressGuard({ ...linkRulesOf(settings), lookup: deps.lookup });
  const provisioning = createProvisioning({
    database,
    clock,
    ids,
    audit,
    jobs,
    acquirerProxies: acquirerProxiesOf(settings),
    approvesLinksAtOnce: settings.environment === 'demo',
    linkGuard,
    dialects: hosts.reload,
    signingKeys: createRequestSigners(masterKey).publicKeysFor,
    inspectLink: async (...of) => (await cards?.inspectLink(...of)) ?? [],
    userDomains: userDomainsOf(() => identity),
    tills: () => identity.posClients,
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
    ...defined({ makeKey: deps.makeRealmKey }),
  });
  const calls = deps.calls ?? createOutgoingCalls(callRulesOf(settings));
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
  const timeline = deps.timeline ?? unguardedTimeline;
  const { numbering } = timeline;
  registerNumberingGauges(metrics, timeline);
  const parts = { settings, database, clock, dueClock, ids, log, metrics, live, numbering };
  const logs = createLogs({ ...parts, portalClientId });
  const cards = roles.has('cards')
    ? createCardRooms({
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
  const retentionDays = settings.eventDays;
  const deliveries = createDeliveries({
    ...parts,
    masterKey,
    jobs,
    audit,
    calls,
    retentionDays,
    demandMerchant: placesOf(provisioning).requireMerchant,
    failPoints: createFailPoints(settings.failPoint),
    ...defined({ times: deps.webhookTimes }),
  });
  const webhooks = createWebhooks({
    ...parts,
    outbox,
    jobs,
    retentionDays,
    deliveries,
    sources: [
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
      : createRetail({
          ...parts,
          relay: connector,
          masterKey,
          provisioning,
          catalog,
          times: deps.retailTimes,
        });
  const managed = { audit, provisioning, identity, catalog, logs, webhooks, connector, retail };
  return { ...parts, ...managed, timeline, allJobs, jobs, mail, calls, cards, outbox };
}

/** What this process needs in order to do its part. */
function checksOf({ database, cards, connector }: ReturnType<typeof createRooms>) {
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
 * Builds the house, and opens of it what the roles of the settings say. A test may replace the
 * clock and the identifiers.
 *
 * @example const house = await composeHouse({ settings, database, log, tls }); await house.start();
 */
export async function composeHouse(deps: HouseDeps): Promise<House> {
  const { settings, log } = deps;
  const rooms = createRooms(deps);
  const { metrics, ids, mail, audit, provisioning, identity, catalog, cards, logs } = rooms;
  const { outbox, webhooks, connector, retail } = rooms;
  const portal = createPortal({ ...rooms, builtFolder: deps.portalFolder });
  const idempotency = createIdempotency({ ...rooms, masterKey: settings.platformKey });
  const http = await createHttp({
    settings,
    log,
    ids,
    metrics,
    live: rooms.live,
    ...defined({ clock: deps.clock }),
    verifyToken: identity.verifyToken,
    findOrganization: provisioning.findOrganization,
    sessionCallerOf: portal.callerOf,
    onAnswered: logs.note,
    idempotencyKeys: idempotency.keys,
    certificates: identity.devices.reader,
    ...(await listenersOf(deps, identity)),
    shownUserDomain: deps.shownUserDomain,
    ...defined({ rateLimits: deps.rateLimits }),
    loadLimits: deps.loadLimits ?? { ...defaultLoadLimits, loopDelayMs: settings.loopDelayMs },
    ...defined({ checksAnswers: deps.checksAnswers }),
  });
  const reporting = createReporting({
    ...rooms,
    exportDays: settings.exportDays,
    pressure: http.loadShedding.pressure,
    // Who says what load is, says so of this too: tests share their process with the platform.
    ...defined({ busy: deps.loadLimits === undefined ? undefined : () => 0 }),
    async demandLink(organizationId, linkId) {
      await provisioning.acquirerLinks.get({ organizationId }, linkId);
    },
  });
  registerReferenceRoutes(http.app);
  if (settings.roles.has('identity')) {
    await registerManagement(http, rooms);
    reporting.register(http.app);
  }
  registerHealth(http.app, { ...rooms, checks: checksOf(rooms) });
  registerNumbering(http.app, { ...rooms, isOperator: identity.isOperator });
  const opensPortal = settings.roles.has('portal');
  if (opensPortal) portal.register(http.app, http.upgrades);
  if (cards !== undefined) {
    http.loadShedding.addPressure(cards.pressure);
    cards.register(http.app, http.streams);
  }
  connector?.register(http.upgrades);
  connector?.registerFleet(http.app);
  retail?.register(http.app, http.streams);
  const doesJobs = settings.roles.has('jobs');
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
      rooms.allJobs.start();
      rooms.live.start();
      catalog.callBook.start();
      connector?.start();
      retail?.start();
      if (doesJobs) {
        await mail.open();
        outbox.start();
        webhooks.start();
        reporting.start();
        idempotency.start();
      }
      if (opensPortal) portal.start();
      logs.start({ deletes: doesJobs });
    },
    stopLimitMs: settings.acquirerTimeoutMs + stopPartsMs,
    async stop() {
      cards?.endWaits();
      http.upgrades.drain();
      await retail?.stop();
      await connector?.stop();
      await http.close();
      await rooms.live.stop();
      await cards?.finish();
      await rooms.allJobs.stop();
      await cards?.close();
      await outbox.stop();
      await webhooks.stop();
      await reporting.stop();
      await idempotency.stop();
      rooms.calls.close();
      await catalog.callBook.stop();
      await logs.stop();
      await portal.stop();
      await identity.close();
      await mail.close();
    },
  };
}
