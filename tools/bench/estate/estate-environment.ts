// Builds what a run of an estate needs: a database that is filled before the server starts, and tokens.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createLog,
  type Database,
  type EmbeddedPostgres,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  type MemoryWatch,
  makeFolder,
  readProfile,
  startDatabase,
  watchMemory,
} from '../environment/bench-environment.ts';
import { type Credentials, openIdentity, openProvisioning } from '../environment/provision.ts';
import { type ServerProcess, startServer } from '../environment/server-process.ts';
import { statementCostSettings } from '../report/statement-costs.ts';
import { type HttpsConnections, openHttpsConnections } from '../sales/https-connections.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { fetchToken } from './estate-client.ts';
import { createDeviceOwners, type MerchantUserLogins } from './estate-devices.ts';
import { type EstateToFill, fillEstate } from './estate-fill.ts';
import { divideDevices, queriedOrganizations } from './estate-plan.ts';
import type { EstateQueryTarget } from './estate-queries.ts';

const profilerScript = fileURLToPath(new URL('../report/profiler.ts', import.meta.url));

export type EstateEnvironment = {
  folder: string;
  database: Database;
  postgres: EmbeddedPostgres;
  server: ServerProcess;
  ca: string;
  memory: MemoryWatch;
  /** The largest first. */
  targets: EstateQueryTarget[];
  /** An organisation with nothing in it, for the import. */
  empty: { organizationId: string; token: string };
  /** Of the largest. */
  keepers: MerchantUserLogins;
  firstMs: number;
  fillSeconds: number;
  /** For reads, and for concurrent writes. */
  readers: HttpsConnections;
  writers: HttpsConnections;
};

export type EstateEnvironmentOptions = {
  devices: number;
  organizations: number;
  connections: number;
  profile: boolean;
  keepsFolder: boolean;
};

const writersCount = 4;

type Deps = { database: Database; log: ReturnType<typeof createLog>; dataDir: string };
type Member = { organizationId: string; realm: string; credentials: Credentials };

/** One thing of each kind, made as the platform makes it. */
async function makeModel(deps: Deps): Promise<string> {
  const { organizations, merchants, stores, logicalDevices, physicalDevices } =
    openProvisioning(deps);
  const organizationId = systemIds.uuid();
  const scope = { organizationId };
  await organizations.create(scope, { name: 'Model' }, organizationId);
  const { view: merchant } = await merchants.create(scope, {
    name: 'Model merchant',
    country: 'FR',
    mcc: '5411',
    timeZone: 'Europe/Paris',
  });
  const { merchantId } = merchant;
  const { view: store } = await stores.create(scope, { merchantId, name: 'Model store' });
  const { view: place } = await logicalDevices.create(scope, {
    storeId: store.storeId,
    name: 'Model till',
  });
  const { view: hardware } = await physicalDevices.create(scope, {
    merchantId,
    serialNumber: 'MODEL',
    make: 'AXIUM',
    model: 'DX8000',
    family: 'axium',
  });
  await logicalDevices.linkPhysicalDevices(scope, place.logicalDeviceId, [
    hardware.physicalDeviceId,
  ]);
  return organizationId;
}

/** An organisation's realm, with an application that may read and write all of it. */
async function admit(
  identity: ReturnType<typeof openIdentity>,
  organizationId: string,
  realm: string,
): Promise<Member> {
  await identity.createUserDomain({ userDomainId: realm, organizationId });
  const credentials = await identity.createApplication({
    organizationId,
    userDomainId: realm,
    name: 'Estate',
    entityType: 'tenant',
    entityId: organizationId,
    roles: ['AcquirerAdministrator'],
    securityFlows: ['ClientCredentials'],
  });
  return { organizationId, realm, credentials };
}

/** The organisations that are queried: the ten largest, and others from among the small ones. */
function targetNumbers(organizations: number): number[] {
  const few = Math.min(queriedOrganizations, organizations);
  const large = Math.min(10, few);
  const step = Math.max(1, Math.floor((organizations - large) / Math.max(1, few - large)));
  return Array.from({ length: few }, (_, at) => (at < large ? at : large + (at - large) * step));
}

async function fillTables(
  deps: Deps,
  estate: Omit<EstateToFill, 'onProgress'>,
  printLine: PrintLine,
) {
  const began = performance.now();
  let reportedAt = began;
  await fillEstate(deps.database, {
    ...estate,
    onProgress(devices) {
      const now = performance.now();
      if (now - reportedAt < 5000) return;
      reportedAt = now;
      printLine(
        `  ${devices.toLocaleString('en')} devices after ${Math.round((now - began) / 1000)} s`,
      );
    },
  });
  return (performance.now() - began) / 1000;
}

type Members = {
  members: (Member & { number: number; devices: number })[];
  keepers: MerchantUserLogins;
  empty: Member;
};

/** The applications that read and import, made before the server starts. */
async function admitAll(
  deps: Deps,
  estate: { organizationIds: readonly string[]; counts: readonly number[]; firstMs: number },
): Promise<Members> {
  const { organizationIds, counts, firstMs } = estate;
  const identity = openIdentity(deps);
  const members: Members['members'] = [];
  for (const number of targetNumbers(counts.length)) {
    const member = await admit(identity, organizationIds[number] ?? '', `estate-${number}`);
    members.push({ ...member, number, devices: counts[number] ?? 0 });
  }
  const [largest] = members;
  if (largest === undefined) throw new Error('there is no organisation');
  const keepers = await createDeviceOwners(identity, { ...largest, firstMs });
  const organizationId = systemIds.uuid();
  const { organizations } = openProvisioning(deps);
  await organizations.create({ organizationId }, { name: 'Import' }, organizationId);
  const empty = await admit(identity, organizationId, 'estate-import');
  await identity.close();
  return { members, keepers, empty };
}

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openEstateEnvironment(
  closers: CloseStack,
  options: EstateEnvironmentOptions,
  printLine: PrintLine,
): Promise<EstateEnvironment> {
  const folder = makeFolder(closers, options.keepsFolder);
  const settings = options.profile ? statementCostSettings : {};
  const { postgres, database } = await startDatabase(closers, folder, settings);
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const deps = { database, log, dataDir };

  const counts = divideDevices(options.devices, options.organizations);
  const organizationIds = counts.map(() => systemIds.uuid());
  const firstMs = Date.now() - options.devices;
  const modelId = await makeModel(deps);
  const fillSeconds = await fillTables(
    deps,
    { modelId, organizationIds, counts, firstMs },
    printLine,
  );
  printLine(
    `${options.devices.toLocaleString('en')} devices filled in ${fillSeconds.toFixed(0)} s`,
  );
  const { members, keepers, empty } = await admitAll(deps, { organizationIds, counts, firstMs });

  const server = await startServer(closers, {
    dataDir,
    databaseUrl: postgres.url,
    way: 'process',
    ...(options.profile
      ? { flags: ['--import', profilerScript], variables: { BENCH_PROFILE: readProfile(folder) } }
      : {}),
  });
  const memory = watchMemory(closers, server.pid);
  const ca = readFileSync(server.caFile, 'utf8');
  const target = { host: '127.0.0.1', port: server.port, ca };
  const readers = await openHttpsConnections(target, options.connections);
  const writers = await openHttpsConnections(target, writersCount);
  closers.add(async () => [readers, writers].map((exchange) => exchange.close()));
  const tokenOf = ({ realm, credentials }: Member) =>
    fetchToken(writers, server.authority, realm, credentials);
  const targets: EstateQueryTarget[] = [];
  for (const { number, devices, ...member } of members) {
    if (devices === 0) continue;
    const { organizationId } = member;
    targets.push({ organizationId, number, devices, token: await tokenOf(member) });
  }
  return {
    folder,
    database,
    postgres,
    server,
    ca,
    memory,
    targets,
    keepers,
    firstMs,
    fillSeconds,
    empty: { organizationId: empty.organizationId, token: await tokenOf(empty) },
    readers,
    writers,
  };
}
