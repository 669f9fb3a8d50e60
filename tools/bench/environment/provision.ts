// Makes the bench's own organisation: merchants, stores, devices, contracts, applications.
import { randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import { createAudit } from '../../../packages/server/src/audit/index.ts';
import { createIdentity, type IdentityDeps } from '../../../packages/server/src/identity/index.ts';
import {
  type Database,
  type Log,
  readSettings,
  systemClock,
  systemIds,
} from '../../../packages/server/src/platform/index.ts';
import { createProvisioning } from '../../../packages/server/src/provisioning/index.ts';

/** Each has an application of its own: payments are limited to 5,000 a second for each client. */
const merchantsCount = 4;
const storesPerMerchant = 4;

export type Credentials = { clientId: string; clientSecret: string };
export type BenchMerchant = { merchantId: string; deviceIds: string[]; credentials: Credentials };
export type BenchOrganization = {
  organizationId: string;
  realm: string;
  merchants: BenchMerchant[];
};

type Deps = {
  database: Database;
  log: Log;
  /** Of the server: the keys of its realms are sealed under the key that lies there. */
  dataDir: string;
  acquirerPort: number;
  terminals: number;
};

function masterKeyOf({ dataDir }: Pick<Deps, 'dataDir'>): Buffer {
  return readSettings({ SWITCHYARD_DATA_DIR: dataDir }).platformKey;
}

/**
 * What identity writes must be readable by the server: same key, same address.
 *
 * @param findHardware provisioning's, where devices are certified
 */
export function openIdentity(
  { database, log, dataDir }: Pick<Deps, 'database' | 'log' | 'dataDir'>,
  findHardware?: IdentityDeps['findTerminal'],
) {
  const settings = readSettings({ SWITCHYARD_DATA_DIR: dataDir });
  return createIdentity({
    database,
    settings,
    clock: systemClock,
    ids: systemIds,
    log,
    masterKey: masterKeyOf({ dataDir }),
    // It makes applications here and answers no device.
    findDevice: async () => undefined,
    ...defined({ findTerminal: findHardware }),
  });
}

export function openProvisioning(deps: Pick<Deps, 'database' | 'dataDir'>): Provisioning {
  const { database } = deps;
  const clock = systemClock;
  return createProvisioning({
    database,
    clock,
    ids: systemIds,
    // The server's own changes order the next checkpoint.
    audit: createAudit({
      database,
      clock,
      masterKey: masterKeyOf(deps),
      jobs: { handle: () => {}, enqueue: async () => {} },
    }),
  });
}

type Provisioning = ReturnType<typeof createProvisioning>;
type Scope = { organizationId: string };

async function makeDevices(
  provisioning: Provisioning,
  scope: Scope,
  merchantId: string,
  count: number,
): Promise<string[]> {
  const storeIds: string[] = [];
  for (let number = 1; number <= storesPerMerchant; number += 1) {
    const { view } = await provisioning.stores.create(scope, {
      merchantId,
      name: `Store ${number}`,
    });
    storeIds.push(view.storeId);
  }
  const deviceIds: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const storeId = storeIds[number % storeIds.length];
    const { view } = await provisioning.logicalDevices.create(scope, {
      storeId,
      name: `Till ${number + 1}`,
    });
    deviceIds.push(view.logicalDeviceId);
  }
  return deviceIds;
}

async function makeMerchant(
  provisioning: Provisioning,
  scope: Scope,
  merchantOptions: { number: number; linkId: string; devices: number },
): Promise<{ merchantId: string; deviceIds: string[] }> {
  const { number } = merchantOptions;
  const { view } = await provisioning.merchants.create(scope, {
    name: `Bench merchant ${number}`,
    country: 'FR',
    mcc: '5411',
    timeZone: 'Europe/Paris',
  });
  const { merchantId } = view;
  await provisioning.acquirerContracts.create(
    { ...scope, merchantId },
    {
      acquirerLink: merchantOptions.linkId,
      acquirerMerchantId: `BENCH${String(number).padStart(10, '0')}`,
      terminalIdRange: { from: `BN${number}00001`, to: `BN${number}99999` },
      currencies: ['EUR'],
      captureModes: ['Immediate', 'Deferred'],
      defaultCaptureMode: 'Immediate',
      clearCardData: 'Allowed',
    },
  );
  return {
    merchantId,
    deviceIds: await makeDevices(provisioning, scope, merchantId, merchantOptions.devices),
  };
}

/** Writes straight to the database of a server that does not run, or looks for new links soon. */
export async function provisionOrganization(deps: Deps): Promise<BenchOrganization> {
  const provisioning = openProvisioning(deps);
  const identity = openIdentity(deps);
  const organizationId = systemIds.uuid();
  const scope = { organizationId };
  const realm = `bench-${randomUUID().slice(0, 8)}`;
  await provisioning.organizations.create(scope, { name: realm }, organizationId);
  await identity.createUserDomain({ userDomainId: realm, organizationId });
  const link = await provisioning.acquirerLinks.create(scope, {
    name: 'bench',
    host: '127.0.0.1',
    port: deps.acquirerPort,
    tls: false,
    institutionId: '100001',
  });
  const merchants: BenchMerchant[] = [];
  for (let number = 1; number <= merchantsCount; number += 1) {
    const made = await makeMerchant(provisioning, scope, {
      number,
      linkId: link.view.acquirerLinkId,
      devices: Math.ceil(deps.terminals / merchantsCount),
    });
    const credentials = await identity.createApplication({
      organizationId,
      userDomainId: realm,
      name: `Till of merchant ${number}`,
      entityType: 'merchant',
      entityId: made.merchantId,
      merchantId: made.merchantId,
      roles: ['Merchant'],
      securityFlows: ['ClientCredentials'],
    });
    merchants.push({ ...made, credentials });
  }
  await identity.close();
  return { organizationId, realm, merchants };
}
