// Builds what a run of QR payments needs: database, provider, server and terminals, each a process.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolePermissions } from '@switchyard/contract';
import { decodeJwt, importJWK, SignJWT } from 'jose';
import { createKeyRing } from '../../../packages/server/src/identity/realms-and-keys/signing-keys.ts';
import {
  createLog,
  type Database,
  readSettings,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type ApiClient, createApiClient } from '../environment/api-client.ts';
import {
  type MemoryWatch,
  makeFolder,
  readProfile,
  startDatabase,
  watchMemory,
} from '../environment/bench-environment.ts';
import {
  type BenchOrganization,
  type Credentials,
  openIdentity,
  provisionOrganization,
} from '../environment/provision.ts';
import { freePort, type ServerProcess, startServer } from '../environment/server-process.ts';
import { statementCostSettings } from '../report/statement-costs.ts';
import type { FromQrProvider, ToQrProvider } from './qr-provider.ts';

const providerScript = fileURLToPath(new URL('./qr-provider.ts', import.meta.url));
const profilerScript = fileURLToPath(new URL('../report/profiler.ts', import.meta.url));
const activeLimitMs = 180_000;
const lookEveryMs = 200;
/** Plans of half a second for thousands of devices are made once. */
const databaseSettings = { max_connections: '100' };

export const paymentType = 'benchpay';
export type QrTerminal = { deviceId: string; token: string };

export type QrEnvironment = {
  folder: string;
  database: Database;
  postgresPid: number;
  server: ServerProcess;
  provider: { pid: number; port: number; barePort: number };
  api: ApiClient;
  ca: string;
  memory: MemoryWatch;
  terminals: QrTerminal[];
  providerToken: string;
};

type Deps = { database: Database; log: ReturnType<typeof createLog>; dataDir: string };

async function startProvider(closers: CloseStack) {
  const child = closers.fork(providerScript, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const next = () =>
    new Promise<FromQrProvider>((resolve, reject) => {
      child.once('message', resolve as (message: unknown) => void);
      child.once('exit', () => reject(new Error('the provider has ended')));
    });
  const { port } = await next();
  return {
    pid: child.pid ?? 0,
    port,
    async openBare(cert: string, key: string): Promise<number> {
      child.send({ type: 'bare', cert, key } satisfies ToQrProvider);
      return (await next()).port;
    },
  };
}

/** Of the organisation: one that manages its services, one that provides them. */
async function makeApplications(deps: Deps, { organizationId, realm }: BenchOrganization) {
  const identity = openIdentity(deps);
  const make = (role: string) =>
    identity.createApplication({
      organizationId,
      userDomainId: realm,
      name: role,
      roles: [role],
      entityType: 'tenant',
      entityId: organizationId,
      securityFlows: ['ClientCredentials'],
    });
  const made = [await make('AcquirerAdministrator'), await make('ServiceProvider')] as const;
  await identity.close();
  return made;
}

async function tokenOf(api: ApiClient, realm: string, credentials: Credentials): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: credentials.clientId,
    client_secret: credentials.clientSecret,
  });
  const answer = await api.post(`/oauth2/v1/${realm}/token`, {
    'content-type': 'application/x-www-form-urlencoded',
    text: form.toString(),
  });
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`);
  return String(JSON.parse(answer.text).access_token);
}

type ApiCaller = { api: ApiClient; token: string };

async function post({ api, token }: ApiCaller, path: string, body: object) {
  const answer = await api.post(path, {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    text: JSON.stringify(body),
  });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return JSON.parse(answer.text) as Record<string, string>;
}

/** Declares the service of the provider, and has it active at every device. */
async function activate(options: {
  acquirer: ApiCaller;
  provider: ApiCaller;
  organizationId: string;
  port: number;
}): Promise<void> {
  const { acquirer, provider, organizationId, port } = options;
  const catalogue = '/service-catalog/v1';
  const spiUrl = `http://127.0.0.1:${port}`;
  const { serviceId = '' } = await post(provider, `${catalogue}/services`, {
    name: 'QR',
    domain: 'Payments',
    paymentTypes: [paymentType],
    spiUrl,
  });
  await post(provider, `${catalogue}/services/${serviceId}/publish`, {});
  const { packageId } = await post(acquirer, `${catalogue}/packages`, {
    name: 'QR',
    serviceIds: [serviceId],
  });
  await post(acquirer, `${catalogue}/subscriptions`, { packageId });
  const activation = { serviceId, level: 'Organization', entityId: organizationId };
  const { activationId } = await post(acquirer, `${catalogue}/activations`, activation);
  const endMs = performance.now() + activeLimitMs;
  for (;;) {
    const path = `${catalogue}/activations/${activationId}`;
    const { text } = await acquirer.api.get(path, `Bearer ${acquirer.token}`);
    if (JSON.parse(text).status === 'Active') return;
    if (performance.now() > endMs) throw new Error(`the service is not active: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

type KeyRow = { key_id: string; private_sealed: Buffer };

/** As the device listener would give them: of thousands of terminals without as many handshakes. */
async function tokensOf(
  { database, dataDir }: Deps,
  organization: BenchOrganization,
  tills: readonly string[],
): Promise<QrTerminal[]> {
  const { organizationId } = organization;
  const [row] = await database.query<KeyRow>(
    `SELECT key_id, private_sealed FROM realm_keys WHERE organization_id = $1
      AND algorithm = 'ES256'`,
    [organizationId],
  );
  if (row === undefined) throw new Error('the realm has no key');
  const { platformKey } = readSettings({ SWITCHYARD_DATA_DIR: dataDir });
  const sealed = { keyId: row.key_id, privateSealed: row.private_sealed, activeFrom: 0 };
  const ring = createKeyRing(platformKey);
  const { privateJwk } = ring.openKey(organizationId, { ...sealed, algorithm: 'ES256' });
  const key = await importJWK(privateJwk, 'ES256');
  const stores = await database.query<{ logical_device_id: string; store_id: string }>(
    'SELECT logical_device_id, store_id FROM logical_devices WHERE organization_id = $1',
    [organizationId],
  );
  const storeOf = new Map(stores.map((each) => [each.logical_device_id, each.store_id]));
  const terminals: QrTerminal[] = [];
  for (const [at, { merchantId, deviceIds }] of organization.merchants.entries()) {
    const claims = decodeJwt(tills[at] ?? '');
    for (const deviceId of deviceIds) {
      const entity = { entityId: merchantId, storeId: storeOf.get(deviceId), deviceId };
      const all = {
        ...claims,
        ...entity,
        jti: systemIds.uuidV4(),
        permissions: rolePermissions.Device,
      };
      const token = await new SignJWT(all)
        .setProtectedHeader({ alg: 'ES256', kid: row.key_id, typ: 'JWT' })
        .sign(key);
      terminals.push({ deviceId, token });
    }
  }
  return terminals;
}

/** Everything listens on loopback alone, and is gone when the closers have run. */
export async function openQrEnvironment(
  closers: CloseStack,
  options: { terminals: number; profile: boolean; keepsFolder: boolean },
): Promise<QrEnvironment> {
  const folder = makeFolder(closers, options.keepsFolder);
  const { postgres, database } = await startDatabase(closers, folder, {
    ...databaseSettings,
    ...(options.profile ? statementCostSettings : {}),
  });
  const dataDir = join(folder, 'platform');
  mkdirSync(dataDir);
  const log = createLog({ logLevel: 'error', instanceName: 'bench' }, process.stderr);
  const deps = { database, log, dataDir };
  const acquirerPort = await freePort();
  const organization = await provisionOrganization({
    ...deps,
    acquirerPort,
    terminals: options.terminals,
  });
  const [acquirer, provides] = await makeApplications(deps, organization);
  const provider = await startProvider(closers);
  const server = await startServer(closers, {
    dataDir,
    databaseUrl: postgres.url,
    way: 'process',
    variables: {
      SWITCHYARD_SIMULATORS: 'off',
      ...(options.profile ? { BENCH_PROFILE: readProfile(folder) } : {}),
    },
    ...(options.profile ? { flags: ['--import', profilerScript] } : {}),
  });
  const ca = readFileSync(server.caFile, 'utf8');
  const api = createApiClient(server, ca);
  const { realm, organizationId } = organization;
  const providerToken = await tokenOf(api, realm, provides);
  await activate({
    acquirer: { api, token: await tokenOf(api, realm, acquirer) },
    provider: { api, token: providerToken },
    organizationId,
    port: provider.port,
  });
  const tills: string[] = [];
  for (const { credentials } of organization.merchants) {
    tills.push(await tokenOf(api, realm, credentials));
  }
  const [cert, key] = ['server.pem', 'server-key.pem'].map((name) =>
    readFileSync(join(dataDir, 'tls', name), 'utf8'),
  );
  const barePort = await provider.openBare(cert ?? '', key ?? '');
  return {
    folder,
    database,
    server,
    api,
    ca,
    providerToken,
    provider: { ...provider, barePort },
    postgresPid: postgres.pid(),
    memory: watchMemory(closers, server.pid),
    terminals: await tokensOf(deps, organization, tills),
  };
}
