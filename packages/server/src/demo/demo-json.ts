// Reads and writes demo.json: all data for a user of the demo, readable only by the file owner.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined, formatTsn } from '@switchyard/contract';
import {
  isSameProcessAlive,
  mailDirectory,
  readProcessIdentity,
  type Settings,
} from '../platform/index.ts';
import {
  type DemoApplication,
  type DemoDevice,
  demoApplications,
  demoMerchants,
  demoQrService,
  demoServiceProvider,
  demoUserDomainId,
  organizationId,
  providerServices,
  serviceProviderApplication,
} from './demo-data.ts';
import {
  type DemoUserAccount,
  demoUsers,
  entityIdOf,
  groupIdOf,
  providerUsers,
} from './demo-users.ts';
import { type ClientSecrets, redirectUriOf } from './seed-applications.ts';
import { type DeviceFiles, deviceFilesOf } from './seed-device-certificates.ts';
import type { UserSecrets, UserSecretsByName } from './seed-users.ts';

export type DemoCredentials = {
  readonly clientId: string;
  /** Omitted for a public application. */
  readonly clientSecret?: string;
  readonly merchantId?: string;
  readonly storeId?: string;
  readonly redirectUri?: string;
};

export type DemoUser = {
  readonly username: string;
  readonly password: string;
  /** In base32; without it the password is sufficient. */
  readonly otpSecret?: string;
  readonly entityId: string;
  readonly groups: readonly string[];
};

/** The secrets that the database cannot return: applications by client ID, users by user name. */
export type DemoSecrets = {
  readonly applications: ClientSecrets;
  readonly users: UserSecretsByName;
};

export type DemoFacts = {
  readonly environment: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly deviceAuthUrl: string;
  /** The portal of the acquirer and the portal of the service provider. */
  readonly portalUrl: string;
  readonly providerPortalUrl: string;
  readonly metricsUrl: string;
  readonly caFile?: string;
  /** The directory of all mail, because the demo sends none. */
  readonly mailDir: string;
  readonly userDomainId: string;
  readonly organizationId: string;
  readonly merchants: readonly {
    readonly merchantId: string;
    readonly name: string;
    readonly stores: readonly { readonly storeId: string; readonly name: string }[];
  }[];
  readonly applications: Readonly<Record<string, DemoCredentials>>;
  readonly users: readonly DemoUser[];
  readonly devices: readonly (DeviceFiles & {
    readonly tsn: string;
    readonly family: 'axium' | 'tetra';
    readonly storeId: string;
    readonly logicalDeviceId: string;
    readonly physicalDeviceId: string;
    /** Hexadecimal; the device derives the keys of PINs and card data from it (DUKPT). */
    readonly baseDerivationKey?: string;
    /** The first key serial number that the device uses. */
    readonly ksn?: string;
  })[];
  /** A payment type that the reference provider serves. */
  readonly qr: { readonly paymentType: string };
  /** A separate organisation with its own user domain, for the provider portal. */
  readonly serviceProvider: {
    readonly name: string;
    readonly organizationId: string;
    readonly userDomainId: string;
    readonly users: readonly DemoUser[];
    readonly application: DemoCredentials;
    readonly services: readonly { readonly serviceId: string; readonly name: string }[];
    readonly paymentType: string;
  };
};

export type DemoAddresses = Pick<
  Settings,
  | 'environment'
  | 'baseUrl'
  | 'authUrl'
  | 'deviceAuthUrl'
  | 'metricsHost'
  | 'metricsPort'
  | 'dataDir'
>;

/** Returns the keys with which a device encrypts. */
export type DeviceKeys = (device: DemoDevice) => { baseDerivationKey: string; ksn: string };

const ownerOnly = 0o600;

export const demoFileIn = (dataDir: string): string => join(dataDir, 'demo.json');

type Members = Readonly<Record<string, unknown>>;

const asMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

function readMembers(dataDir: string): Members {
  try {
    return asMembers(JSON.parse(readFileSync(demoFileIn(dataDir), 'utf8')));
  } catch {
    return {};
  }
}

/** Returns the secrets of an earlier start; none if the file is missing or damaged. */
export function readSecrets(dataDir: string): DemoSecrets {
  const facts = readMembers(dataDir);
  const provider = asMembers(facts['serviceProvider']);
  const applications = new Map<string, string>();
  const storedApplications = Object.values(asMembers(facts['applications']));
  for (const credentials of [...storedApplications, provider['application']]) {
    const { clientId, clientSecret } = asMembers(credentials);
    if (typeof clientId === 'string' && typeof clientSecret === 'string') {
      applications.set(clientId, clientSecret);
    }
  }
  const users = new Map<string, UserSecrets>();
  const storedUsers = [facts['users'], provider['users']].map((list) =>
    Object.values(asMembers(list)),
  );
  for (const user of storedUsers.flat()) {
    const { username, password, otpSecret } = asMembers(user);
    if (typeof username !== 'string' || typeof password !== 'string') continue;
    users.set(username, typeof otpSecret === 'string' ? { password, otpSecret } : { password });
  }
  return { applications, users };
}

/** The platform process that wrote demo.json last. */
export type LastStart = {
  /** The address of its health endpoint. */
  readonly metricsUrl?: string;
  /** True if another process wrote the file and still runs; undefined if the file does not say. */
  readonly isRunning?: boolean;
};

export function readLastStart(dataDir: string): LastStart {
  const { metricsUrl, processMark } = readMembers(dataDir);
  return {
    ...(typeof metricsUrl === 'string' ? { metricsUrl } : {}),
    ...(typeof processMark === 'string' && processMark !== readProcessIdentity(process.pid)
      ? { isRunning: isSameProcessAlive(processMark) }
      : {}),
  };
}

/** Writes a temporary file first, so that no reader sees an incomplete file. */
export function writeDemoFile(dataDir: string, facts: DemoFacts): void {
  const file = demoFileIn(dataDir);
  const text = `${JSON.stringify({ ...facts, processMark: readProcessIdentity(process.pid) }, undefined, 2)}\n`;
  mkdirSync(dataDir, { recursive: true });
  if (readText(file) !== text) {
    const temporaryFile = `${file}.${process.pid}`;
    writeFileSync(temporaryFile, text, { mode: ownerOnly });
    renameSync(temporaryFile, file);
  }
  chmodSync(file, ownerOnly);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function credentialsOf(
  application: DemoApplication,
  secrets: ClientSecrets,
  baseUrl: string,
): DemoCredentials {
  const { clientId, merchantId, storeId } = application;
  const redirectUri = redirectUriOf(application, baseUrl);
  const clientSecret = secrets.get(clientId);
  return {
    clientId,
    ...defined({ clientSecret, merchantId, storeId, redirectUri }),
  };
}

function userOf(person: DemoUserAccount, users: UserSecretsByName): DemoUser {
  const { password = '', otpSecret } = users.get(person.username) ?? {};
  return {
    username: person.username,
    password,
    ...defined({ otpSecret }),
    entityId: entityIdOf(person),
    groups: [groupIdOf(person)],
  };
}

function encryptionOf(device: DemoDevice, deviceKeysOf: DeviceKeys | undefined) {
  if (deviceKeysOf === undefined) return {};
  const { baseDerivationKey, ksn } = deviceKeysOf(device);
  return { baseDerivationKey, ksn };
}

function providerFacts(baseUrl: string, secrets: DemoSecrets): DemoFacts['serviceProvider'] {
  const services = Object.values(providerServices);
  return {
    ...demoServiceProvider,
    users: providerUsers.map((person) => userOf(person, secrets.users)),
    application: credentialsOf(serviceProviderApplication, secrets.applications, baseUrl),
    services: services.map(({ serviceId, name }) => ({ serviceId, name })),
    paymentType: providerServices.pay.paymentTypes[0],
  };
}

/** Returns the same result for the same settings and secrets. */
export function buildDemoJson(
  addresses: DemoAddresses,
  caFile: string | undefined,
  secrets: DemoSecrets,
  deviceKeysOf?: DeviceKeys,
): DemoFacts {
  const { environment, baseUrl, authUrl, deviceAuthUrl } = addresses;
  const { metricsHost, metricsPort } = addresses;
  return {
    environment,
    baseUrl,
    authUrl,
    deviceAuthUrl,
    portalUrl: `${baseUrl}/portal`,
    providerPortalUrl: `${baseUrl}/provider-portal`,
    metricsUrl: `http://${metricsHost}:${metricsPort}`,
    ...defined({ caFile }),
    mailDir: mailDirectory(addresses),
    userDomainId: demoUserDomainId,
    organizationId,
    merchants: demoMerchants.map(({ merchantId, name, stores }) => ({
      merchantId,
      name,
      stores: stores.map((store) => ({ storeId: store.storeId, name: store.name })),
    })),
    applications: Object.fromEntries(
      demoApplications.map((application) => [
        application.key,
        credentialsOf(application, secrets.applications, baseUrl),
      ]),
    ),
    users: demoUsers.map((person) => userOf(person, secrets.users)),
    devices: demoMerchants.flatMap(({ stores }) =>
      stores.flatMap(({ storeId, devices }) =>
        devices.map((device) => ({
          tsn: formatTsn(device),
          family: device.family,
          storeId,
          logicalDeviceId: device.logicalDeviceId,
          physicalDeviceId: device.physicalDeviceId,
          ...deviceFilesOf(addresses.dataDir, formatTsn(device)),
          ...encryptionOf(device, deviceKeysOf),
        })),
      ),
    ),
    qr: { paymentType: demoQrService.paymentTypes[0] },
    serviceProvider: providerFacts(baseUrl, secrets),
  };
}
