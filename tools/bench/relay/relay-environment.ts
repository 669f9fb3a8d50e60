// Builds what a run of the relay needs: database, thousands of devices, a till, the server, and the bare line.
import { mkdirSync, readFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { request } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAudit } from '../../../packages/server/src/audit/index.ts';
import {
  createCatalog,
  scopeAuthoredByPlatform,
} from '../../../packages/server/src/catalog/index.ts';
import {
  createLog,
  createOutgoingCalls,
  type Database,
  readSettings,
  systemClock,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import { type CloseStack, stopProcess } from '../close-in-reverse-order.ts';
import { makeFolder, readProfile, startDatabase } from '../environment/bench-environment.ts';
import {
  type BenchOrganization,
  openIdentity,
  openProvisioning,
  provisionOrganization,
} from '../environment/provision.ts';
import {
  freePort,
  type Ports,
  type ServerProcess,
  startServer,
} from '../environment/server-process.ts';
import { statementCostSettings } from '../report/statement-costs.ts';
import type { FromRelayClients, PlatformTarget, ToRelayClients } from './relay-messages.ts';
import type { FromRelayBaseline, ToRelayBaseline } from './websocket-baseline.ts';

const { serverFlags } = createRequire(import.meta.url)('../../run.cjs') as {
  serverFlags: string[];
};
const bareScript = fileURLToPath(new URL('./websocket-baseline.ts', import.meta.url));
const clientsScript = fileURLToPath(new URL('./relay-clients.ts', import.meta.url));
const profilerScript = fileURLToPath(new URL('../report/profiler.ts', import.meta.url));
const databaseSettings = { max_connections: '100' };
/** As a node of the connector is started that holds many connections. */
const nodeFlags = ['--max-old-space-size=400'];
const nodeRoles = 'identity connector';
const answerLimitMs = 600_000;
/** Both ends of each pair, the control connections, and some to spare. */
const connectionsOf = (pairs: number) => 2 * pairs + Math.ceil(pairs / 32) + 200;

export type RelayClients = {
  ask(message: ToRelayClients): Promise<FromRelayClients>;
  stop(): Promise<void>;
};

export type RelayEnvironment = {
  readonly folder: string;
  readonly database: Database;
  readonly postgresPid: number;
  readonly tsns: readonly string[];
  /** On the same ports each time. */
  startServer(isTls: boolean): Promise<{ server: ServerProcess; platform: PlatformTarget }>;
  startBare(isTls: boolean): Promise<{ pid: number; port: number; stop(): Promise<void> }>;
  startClients(): RelayClients;
};

type Made = { database: Database; dataDir: string; log: ReturnType<typeof createLog> };

/** The service of the connector, active wherever the organisation has devices. */
async function activate(made: Made, { organizationId }: BenchOrganization): Promise<void> {
  const { database, dataDir, log } = made;
  const { platformKey: masterKey } = readSettings({ SWITCHYARD_DATA_DIR: dataDir });
  const clock = systemClock;
  const calls = createOutgoingCalls({ allowsLoopback: true });
  const noJobs = { handle() {}, async enqueue() {}, wake() {} };
  const catalog = createCatalog({
    database,
    clock,
    masterKey,
    log,
    calls,
    ids: systemIds,
    jobs: noJobs,
    provisioning: openProvisioning(made),
    audit: createAudit({ database, clock, masterKey, jobs: noJobs }),
    valueRules: {},
    baseUrl: 'https://localhost',
  });
  const { services, packagesAndSubscriptions: offers, activations } = catalog;
  const scope = scopeAuthoredByPlatform(organizationId);
  const facts = { name: 'Cloud Connector', description: 'It.', domain: 'Retail API' };
  const { serviceId } = (await services.create(scope, facts as never)).view;
  await services.publish(scope, serviceId);
  const offer = await offers.createPackage(scope, { name: 'Offer', serviceIds: [serviceId] });
  await offers.subscribe(scope, offer.view.packageId);
  await activations.activate(scope, { serviceId, level: 'Organization', entityId: organizationId });
  calls.close();
}

const copiesOf = (
  table: string,
  columns: readonly string[],
  replacements: Record<string, string>,
) =>
  `INSERT INTO ${table} (${columns.join(', ')})
   SELECT ${columns.map((name) => replacements[name] ?? `m.${name}`).join(', ')}
   FROM bench_model_${table} m, bench_devices i`;

/** One after the model of the other: thousands of devices, each in its place. */
async function fillDevices(
  made: Made,
  organization: BenchOrganization,
  count: number,
): Promise<string[]> {
  const { database } = made;
  const { organizationId, merchants } = organization;
  const [merchant] = merchants;
  const [logicalDeviceId = ''] = merchant?.deviceIds ?? [];
  const { physicalDevices, logicalDevices } = openProvisioning(made);
  const scope = { organizationId };
  const hardware = { make: 'AXIUM', model: 'DX8000', family: 'axium', serialNumber: '10000000' };
  const modelDevice = { ...hardware, merchantId: merchant?.merchantId ?? '' };
  const { physicalDeviceId } = (await physicalDevices.create(scope, modelDevice)).view;
  await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [physicalDeviceId]);
  return database.session(async ({ query }) => {
    const columnsOf = async (table: string) => {
      const rows = await query(
        `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()
           AND table_name = $1 AND is_generated = 'NEVER'`,
        [table],
      );
      return rows.map((row) => String(row['column_name']));
    };
    await query(
      `CREATE TEMPORARY TABLE bench_devices AS SELECT i, gen_random_uuid() AS logical,
         gen_random_uuid() AS physical, (20000000 + i)::text AS serial
       FROM generate_series(1, ${count}) AS i`,
    );
    const models = { logical_devices: logicalDeviceId, physical_devices: physicalDeviceId };
    for (const [table, id] of Object.entries(models)) {
      const key = table.replace('devices', 'device_id');
      await query(
        `CREATE TEMPORARY TABLE bench_model_${table} AS SELECT * FROM ${table}
         WHERE organization_id = $1 AND ${key} = $2`,
        [organizationId, id],
      );
    }
    const logical = { logical_device_id: 'i.logical', name: "'Till ' || i.serial" };
    const physical = {
      physical_device_id: 'i.physical',
      logical_device_id: 'i.logical',
      serial_number: 'i.serial',
      name: "'Terminal ' || i.serial",
    };
    await query(copiesOf('logical_devices', await columnsOf('logical_devices'), logical));
    await query(copiesOf('physical_devices', await columnsOf('physical_devices'), physical));
    for (const table of Object.keys(models)) await query(`VACUUM (ANALYZE) ${table}`);
    const rows = await query('SELECT serial FROM bench_devices ORDER BY i');
    return rows.map((row) => `AXIUM_DX8000-${String(row['serial'])}`);
  });
}

type Till = { clientId: string; clientSecret: string };

async function makeTill(made: Made, organization: BenchOrganization): Promise<Till> {
  const { organizationId, realm } = organization;
  const identity = openIdentity(made);
  const till = await identity.createApplication({
    organizationId,
    userDomainId: realm,
    name: 'Till',
    roles: ['PointOfSaleTerminal'],
    entityType: 'tenant',
    entityId: organizationId,
    securityFlows: ['ClientCredentials'],
  });
  await identity.close();
  return till;
}

function fetchToken(
  { target }: Pick<PlatformTarget, 'target'>,
  realm: string,
  { clientId, clientSecret }: Till,
): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  }).toString();
  return new Promise((resolve, reject) => {
    const clientRequest = (target.ca === undefined ? requestPlain : request)({
      host: '127.0.0.1',
      port: target.port,
      method: 'POST',
      agent: false,
      path: `/oauth2/v1/${realm}/token`,
      ca: target.ca,
      servername: 'localhost',
      headers: {
        host: target.authority,
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': form.length,
      },
    });
    clientRequest.on('error', reject);
    clientRequest.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        if (response.statusCode === 200) resolve(String(JSON.parse(text).access_token));
        else reject(new Error(`no token: ${response.statusCode} ${text}`));
      });
    });
    clientRequest.end(form);
  });
}

function startClients(closers: CloseStack): RelayClients {
  const child = closers.fork(clientsScript, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        const limit = setTimeout(() => reject(new Error('the clients are silent')), answerLimitMs);
        child.once('message', (answer: FromRelayClients) => {
          clearTimeout(limit);
          if (answer.type === 'fault') reject(new Error(answer.text));
          else resolve(answer);
        });
        child.send(message);
      }),
    stop: () => stopProcess(child),
  };
}

/** With the flags of the server, so that both have the same memory to work in. */
async function startBare(closers: CloseStack, keys: ToRelayBaseline) {
  const child = closers.fork(bareScript, {
    execArgv: [...serverFlags, ...nodeFlags],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ready = new Promise<FromRelayBaseline>((resolve, reject) => {
    child.once('message', resolve as (message: unknown) => void);
    child.once('exit', () => reject(new Error('the bare line has ended')));
  });
  child.send(keys);
  const { port } = await ready;
  return { pid: child.pid ?? 0, port, stop: () => stopProcess(child) };
}

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openRelayEnvironment(
  closers: CloseStack,
  options: { terminals: number; profile: boolean; keepsFolder: boolean },
): Promise<RelayEnvironment> {
  const folder = makeFolder(closers, options.keepsFolder);
  const { postgres, database } = await startDatabase(closers, folder, {
    ...databaseSettings,
    ...(options.profile ? statementCostSettings : {}),
  });
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const made = { database, dataDir, log };
  const acquirerPort = await freePort();
  const organization = await provisionOrganization({ ...made, acquirerPort, terminals: 4 });
  const tsns = await fillDevices(made, organization, options.terminals);
  await activate(made, organization);
  const till = await makeTill(made, organization);
  const ports: Ports = { port: await freePort(), devicePort: await freePort() };
  const keysOf = () =>
    ['server.pem', 'server-key.pem'].map((name) =>
      readFileSync(join(dataDir, 'tls', name), 'utf8'),
    );

  const start = (variables: Record<string, string>) =>
    startServer(closers, {
      dataDir,
      ports,
      databaseUrl: postgres.url,
      way: 'process',
      variables,
      flags: [...nodeFlags, ...(options.profile ? ['--import', profilerScript] : [])],
    });
  // The first one of all makes what every one needs; the others hold connections, and nothing else.
  await (await start({ SWITCHYARD_SIMULATORS: 'off' })).stop();

  return {
    folder,
    database,
    tsns,
    postgresPid: postgres.pid(),
    async startServer(isTls) {
      const server = await start({
        SWITCHYARD_ROLES: nodeRoles,
        SWITCHYARD_SIMULATORS: 'off',
        SWITCHYARD_CONNECTOR_CONNECTIONS: String(connectionsOf(options.terminals)),
        SWITCHYARD_BASE_URL: `https://localhost:${ports.port}`,
        ...(isTls ? {} : { SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: '127.0.0.1' }),
        ...(options.profile ? { BENCH_PROFILE: readProfile(folder) } : {}),
      });
      const ca = isTls ? readFileSync(server.caFile, 'utf8') : undefined;
      const target = { port: server.port, authority: server.authority, ca };
      const token = await fetchToken({ target }, organization.realm, till);
      return { server, platform: { kind: 'platform', target, token, ...till } };
    },
    startBare(isTls) {
      const [cert, key] = keysOf();
      return startBare(closers, isTls && cert && key ? { cert, key } : {});
    },
    startClients: () => startClients(closers),
  };
}
