// Creates organizations, merchants, devices, applications and users past the server, under its keys.
import { randomBytes, randomUUID } from 'node:crypto';
import { defined } from '@switchyard/contract';
import { createAudit } from '../../../packages/server/src/audit/index.ts';
import { createIdentity, type IdentityDeps } from '../../../packages/server/src/identity/index.ts';
import {
  readSettings,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import { createProvisioning } from '../../../packages/server/src/provisioning/index.ts';
import type { Platform } from './platform.ts';
import {
  type Credentials,
  clientCredentialsForm,
  fetchToken,
  type Target,
  tokenPath,
} from './send-single-request.ts';

/** Each has an application of its own: payments are limited to 5,000 a second for each client. */
const merchantsStandard = 4;
const storesPerMerchant = 4;

/** What provisioning uses of a platform. */
export type ProvisionedPlatform = Pick<Platform, 'database' | 'log' | 'dataDir'>;
export type Identity = ReturnType<typeof createIdentity>;
export type Provisioning = ReturnType<typeof createProvisioning>;
export type Organization = { organizationId: string; realm: string };
export type BenchMerchant = { merchantId: string; deviceIds: string[]; credentials: Credentials };
export type BenchOrganization = Organization & { merchants: BenchMerchant[] };

/** The server seals its keys under this one. */
export function readPlatformKey({ dataDir }: Pick<Platform, 'dataDir'>): Buffer {
  return readSettings({ SWITCHYARD_DATA_DIR: dataDir }).platformKey;
}

/**
 * Identity as the server has it, until the work is done.
 *
 * @param findTerminal finds the hardware of devices that get a certificate
 */
export async function withIdentity<Result>(
  { database, log, dataDir }: ProvisionedPlatform,
  work: (identity: Identity) => Promise<Result>,
  findTerminal?: IdentityDeps['findTerminal'],
): Promise<Result> {
  const identity = createIdentity({
    database,
    settings: readSettings({ SWITCHYARD_DATA_DIR: dataDir }),
    clock: systemClock,
    ids: systemIdGenerator,
    log,
    masterKey: readPlatformKey({ dataDir }),
    // It creates applications here and answers no device.
    findDevice: async () => undefined,
    ...defined({ findTerminal }),
  });
  try {
    return await work(identity);
  } finally {
    await identity.close();
  }
}

/** An audit log whose next checkpoint the server itself creates. */
export function openAudit(platform: ProvisionedPlatform) {
  const { database } = platform;
  const jobs = { handle: () => {}, enqueue: async () => {} };
  return createAudit({ database, clock: systemClock, masterKey: readPlatformKey(platform), jobs });
}

export function openProvisioning(platform: ProvisionedPlatform): Provisioning {
  const { database } = platform;
  return createProvisioning({
    database,
    clock: systemClock,
    ids: systemIdGenerator,
    audit: openAudit(platform),
  });
}

export async function createOrganization(
  provisioning: Provisioning,
  name: string,
): Promise<string> {
  const organizationId = systemIdGenerator.uuid();
  await provisioning.organizations.create({ organizationId }, { name }, organizationId);
  return organizationId;
}

/** Members of an application or a user that belongs to a whole organization. */
const tenantOf = ({ organizationId, realm }: Organization) =>
  ({
    organizationId,
    userDomainId: realm,
    entityType: 'tenant',
    entityId: organizationId,
  }) as const;

/** An application that gets tokens by its secret. */
export function createClient(
  identity: Identity,
  organization: Organization,
  role: string,
  name = role,
): Promise<Credentials> {
  return identity.createApplication({
    ...tenantOf(organization),
    name,
    roles: [role],
    securityFlows: ['ClientCredentials'],
  });
}

/** A public application at which users sign in with their password; gives its client ID. */
export async function createPasswordClient(
  identity: Identity,
  organization: Organization,
  name: string,
): Promise<string> {
  const { clientId } = await identity.createPublicApplication({
    ...tenantOf(organization),
    name,
    roles: [],
    securityFlows: ['Password'],
  });
  return clientId;
}

/** @param merchantId the merchant that the user manages; without it, the user belongs to the organization */
export async function createUser(
  identity: Identity,
  organization: Organization,
  username: string,
  merchantId?: string,
): Promise<{ username: string; password: string }> {
  const password = randomBytes(18).toString('base64url');
  const merchant = { entityType: 'merchant', entityId: merchantId ?? '' } as const;
  await identity.accounts.create({
    ...tenantOf(organization),
    ...(merchantId ? merchant : {}),
    username,
    password,
    groups: merchantId === undefined ? [] : [`${merchantId}_merchant_manager`],
    email: `${username}@bench.example`,
    emailVerified: true,
    secondFactor: 'Off',
  });
  return { username, password };
}

export async function createMerchant(
  { merchants }: Provisioning,
  organizationId: string,
  name: string,
): Promise<string> {
  const location = { country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
  return (await merchants.create({ organizationId }, { name, ...location })).view.merchantId;
}

export async function createStore(
  { stores }: Provisioning,
  organizationId: string,
  merchantId: string,
  name = 'Store 1',
): Promise<string> {
  return (await stores.create({ organizationId }, { merchantId, name })).view.storeId;
}

export const terminalModel = { make: 'AXIUM', model: 'DX8000', family: 'axium' };

/** Hardware at a logical device. */
export async function createTerminal(
  { physicalDevices, logicalDevices }: Provisioning,
  organizationId: string,
  terminal: { merchantId: string; logicalDeviceId: string; serialNumber: string },
): Promise<string> {
  const { merchantId, logicalDeviceId, serialNumber } = terminal;
  const scope = { organizationId };
  const hardware = { merchantId, serialNumber, ...terminalModel };
  const { physicalDeviceId } = (await physicalDevices.create(scope, hardware)).view;
  await logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [physicalDeviceId]);
  return physicalDeviceId;
}

async function createSellingMerchant(
  provisioning: Provisioning,
  organizationId: string,
  { number, linkId, devices }: { number: number; linkId: string; devices: number },
): Promise<{ merchantId: string; deviceIds: string[] }> {
  const scope = { organizationId };
  const merchantId = await createMerchant(provisioning, organizationId, `Bench merchant ${number}`);
  await provisioning.acquirerContracts.create(
    { ...scope, merchantId },
    {
      acquirerLink: linkId,
      acquirerMerchantId: `BENCH${String(number).padStart(10, '0')}`,
      terminalIdRange: { from: `BN${number}00001`, to: `BN${number}99999` },
      currencies: ['EUR'],
      captureModes: ['Immediate', 'Deferred'],
      defaultCaptureMode: 'Immediate',
      clearCardData: 'Allowed',
    },
  );
  const storeIds: string[] = [];
  for (let at = 1; at <= storesPerMerchant; at += 1) {
    storeIds.push(await createStore(provisioning, organizationId, merchantId, `Store ${at}`));
  }
  const deviceIds: string[] = [];
  for (let at = 0; at < devices; at += 1) {
    const device = { storeId: storeIds[at % storeIds.length], name: `Till ${at + 1}` };
    deviceIds.push((await provisioning.logicalDevices.create(scope, device)).view.logicalDeviceId);
  }
  return { merchantId, deviceIds };
}

/** An organization that sells; the server must not run, or searches for new acquirer links soon. */
export async function provisionOrganization(
  platform: ProvisionedPlatform,
  {
    acquirerPort,
    terminals,
    merchants: merchantsCount = merchantsStandard,
  }: { acquirerPort: number; terminals: number; merchants?: number },
): Promise<BenchOrganization> {
  const provisioning = openProvisioning(platform);
  const realm = `bench-${randomUUID().slice(0, 8)}`;
  const organizationId = await createOrganization(provisioning, realm);
  return withIdentity(platform, async (identity) => {
    await identity.createUserDomain({ userDomainId: realm, organizationId });
    const link = await provisioning.acquirerLinks.create(
      { organizationId },
      {
        name: 'bench',
        host: '127.0.0.1',
        port: acquirerPort,
        tls: false,
        institutionId: '100001',
      },
    );
    const linkId = link.view.acquirerLinkId;
    const devices = Math.ceil(terminals / merchantsCount);
    const merchants: BenchMerchant[] = [];
    for (let number = 1; number <= merchantsCount; number += 1) {
      const merchant = await createSellingMerchant(provisioning, organizationId, {
        number,
        linkId,
        devices,
      });
      const { merchantId } = merchant;
      const credentials = await identity.createApplication({
        organizationId,
        userDomainId: realm,
        name: `Till of merchant ${number}`,
        entityType: 'merchant',
        entityId: merchantId,
        merchantId,
        roles: ['Merchant'],
        securityFlows: ['ClientCredentials'],
      });
      merchants.push({ ...merchant, credentials });
    }
    return { organizationId, realm, merchants };
  });
}

/** The token of an application. */
export async function fetchClientToken(
  target: Target,
  realm: string,
  credentials: Credentials,
): Promise<string> {
  return (await fetchToken(target, tokenPath(realm), clientCredentialsForm(credentials)))
    .accessToken;
}
