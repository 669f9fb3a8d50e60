// What a run of an estate needs: a database that is filled before the server starts, and tokens.

import { systemIdGenerator } from '../../../packages/server/src/platform/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import {
  createProgress,
  openPlatform,
  type Platform,
  type RunningServer,
} from '../environment/platform.ts';
import {
  createClient,
  createMerchant,
  createOrganization,
  createPasswordClient,
  createStore,
  createTerminal,
  createUser,
  fetchClientToken,
  type Identity,
  type Organization,
  openProvisioning,
  type Provisioning,
  withIdentity,
} from '../environment/provision-in-database.ts';
import type { Credentials } from '../environment/send-single-request.ts';
import { type HttpsConnections, openHttpsConnections } from '../sales/https-connections.ts';
import type { PrintLine } from '../sales/measured-step.ts';
import { fillEstate } from './estate-fill.ts';
import {
  devicesPerMerchant,
  divideDevices,
  estateId,
  queriedOrganizations,
} from './estate-plan.ts';
import type { EstateTarget } from './estate-requests.ts';

/** Users of the first merchants of the largest organisation, and the client at which they sign in. */
export type MerchantUsers = {
  clientId: string;
  users: { merchant: number; username: string; password: string }[];
};

export type EstateEnvironment = {
  platform: Platform;
  server: RunningServer;
  /** The largest first. */
  targets: EstateTarget[];
  /** An organisation with nothing in it, for the import. */
  empty: { organizationId: string; token: string };
  merchantUsers: MerchantUsers;
  firstMs: number;
  fillSeconds: number;
  /** For reads, and for concurrent writes. */
  readers: HttpsConnections;
  writers: HttpsConnections;
};

const writersCount = 4;
const merchantUsersMost = 10;

type Member = Organization & { credentials: Credentials };
type QueriedMember = Member & { number: number; devices: number };

/** One object of each kind, created as the platform creates it. */
async function createModelOrganization(provisioning: Provisioning): Promise<string> {
  const organizationId = await createOrganization(provisioning, 'Model');
  const merchantId = await createMerchant(provisioning, organizationId, 'Model merchant');
  const storeId = await createStore(provisioning, organizationId, merchantId);
  const till = { storeId, name: 'Model till' };
  const { view } = await provisioning.logicalDevices.create({ organizationId }, till);
  const { logicalDeviceId } = view;
  const terminal = { merchantId, logicalDeviceId, serialNumber: 'MODEL' };
  await createTerminal(provisioning, organizationId, terminal);
  return organizationId;
}

/** The realm of an organisation, with an application that may read and write all of it. */
async function createMember(
  identity: Identity,
  organizationId: string,
  realm: string,
): Promise<Member> {
  await identity.createUserDomain({ userDomainId: realm, organizationId });
  const organization = { organizationId, realm };
  const credentials = await createClient(identity, organization, 'AcquirerAdministrator');
  return { ...organization, credentials };
}

/** The organisations that are queried: the ten largest, and others from among the small ones. */
function queriedNumbers(organizations: number): number[] {
  const few = Math.min(queriedOrganizations, organizations);
  const large = Math.min(10, few);
  const step = Math.max(1, Math.floor((organizations - large) / Math.max(1, few - large)));
  return Array.from({ length: few }, (_, at) => (at < large ? at : large + (at - large) * step));
}

/** A user of each of the first merchants, before the server starts. */
async function createMerchantUsers(
  identity: Identity,
  organization: QueriedMember,
  firstMs: number,
): Promise<MerchantUsers> {
  const clientId = await createPasswordClient(identity, organization, 'Devices');
  const merchants = Math.floor(organization.devices / devicesPerMerchant);
  const users: MerchantUsers['users'] = [];
  for (let merchant = 0; merchant < Math.min(merchantUsersMost, merchants); merchant += 1) {
    const merchantId = estateId('merchant', firstMs, organization.number, merchant);
    const user = await createUser(identity, organization, `keeper-${merchant}`, merchantId);
    users.push({ merchant, ...user });
  }
  return { clientId, users };
}

export async function openEstateEnvironment(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<EstateEnvironment> {
  const platform = await openPlatform(closers, options);
  const provisioning = openProvisioning(platform);
  const counts = divideDevices(options.devices, options.organizations);
  const organizationIds = counts.map(() => systemIdGenerator.uuid());
  const firstMs = Date.now() - options.devices;
  const modelId = await createModelOrganization(provisioning);
  const progress = createProgress(printLine);
  await fillEstate(platform.database, {
    modelId,
    organizationIds,
    counts,
    firstMs,
    onProgress: (devices) => progress.report(`${devices.toLocaleString('en')} devices`),
  });
  const fillSeconds = progress.seconds();
  const filled = options.devices.toLocaleString('en');
  printLine(`${filled} devices filled in ${fillSeconds.toFixed(0)} s`);

  const importedId = await createOrganization(provisioning, 'Import');
  const { members, merchantUsers, imports } = await withIdentity(platform, async (identity) => {
    const members: QueriedMember[] = [];
    for (const number of queriedNumbers(counts.length)) {
      const organizationId = organizationIds[number] ?? '';
      const member = await createMember(identity, organizationId, `estate-${number}`);
      members.push({ ...member, number, devices: counts[number] ?? 0 });
    }
    const [largest] = members;
    if (largest === undefined) throw new Error('there is no organisation');
    return {
      members,
      merchantUsers: await createMerchantUsers(identity, largest, firstMs),
      imports: await createMember(identity, importedId, 'estate-import'),
    };
  });

  const server = await platform.startServer();
  const readers = await openHttpsConnections(server.target, options.connections);
  const writers = await openHttpsConnections(server.target, writersCount);
  closers.add(async () => [readers, writers].map((connections) => connections.close()));
  const tokenOf = ({ realm, credentials }: Member) =>
    fetchClientToken(server.target, realm, credentials);
  const targets: EstateTarget[] = [];
  for (const member of members.filter(({ devices }) => devices > 0)) {
    targets.push({ ...member, token: await tokenOf(member) });
  }
  const empty = { organizationId: importedId, token: await tokenOf(imports) };
  return {
    platform,
    server,
    targets,
    empty,
    merchantUsers,
    firstMs,
    fillSeconds,
    readers,
    writers,
  };
}
