// Keeps demo.json: what somebody needs to try the demo environment, readable for its owner alone.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '@switchyard/contract';
import {
  isSameProcessAlive,
  mailDirectory,
  readProcessIdentity,
  type Settings,
} from '../platform/index.ts';
import { tsnOf } from '../provisioning/index.ts';
import { redirectUriOf, type Secrets } from './applications.ts';
import {
  type DemoApplication,
  type DemoDevice,
  demoApplications,
  demoMerchants,
  demoQrService,
  demoServiceProvider,
  demoUserDomainId,
  organizationId,
  providerServer,
  providerServices,
} from './catalogue.ts';
import { type DeviceFiles, deviceFilesIn } from './devices.ts';
import { type DemoPerson, demoPeople, entityOf, groupOf, providerPeople } from './people.ts';
import type { KnownUsers, UserSecrets } from './users.ts';

export type DemoCredentials = {
  readonly clientId: string;
  /** A public application has none. */
  readonly clientSecret?: string;
  readonly merchantId?: string;
  readonly storeId?: string;
  readonly redirectUri?: string;
};

export type DemoUser = {
  readonly username: string;
  readonly password: string;
  /** In base32; without one the password is enough. */
  readonly otpSecret?: string;
  readonly entityId: string;
  readonly groups: readonly string[];
};

/** What no database could tell again: of the applications by client identifier, of users by name. */
export type DemoSecrets = { readonly applications: Secrets; readonly users: KnownUsers };

export type DemoFacts = {
  readonly environment: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly deviceAuthUrl: string;
  /** Of an acquirer and of a service provider. */
  readonly portalUrl: string;
  readonly providerPortalUrl: string;
  readonly metricsUrl: string;
  readonly caFile?: string;
  /** Where mail lands that nobody sends. */
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
    /** Hexadecimal: under which the device derives the keys of PINs and card data (DUKPT). */
    readonly baseDerivationKey?: string;
    /** The first key serial number that the device uses. */
    readonly ksn?: string;
  })[];
  /** A payment type that the reference provider serves. */
  readonly qr: { readonly paymentType: string };
  /** An organisation of its own, with its own user domain: for the portal of providers. */
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

/** What a device encrypts with. */
export type DeviceKeys = (device: DemoDevice) => { baseDerivationKey: string; ksn: string };

const ownerOnly = 0o600;

export const demoFileIn = (dataDir: string): string => join(dataDir, 'demo.json');

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

function readMembers(dataDir: string): Members {
  try {
    return membersOf(JSON.parse(readFileSync(demoFileIn(dataDir), 'utf8')));
  } catch {
    return {};
  }
}

/** The secrets of an earlier start; none where the file is missing or no longer what we wrote. */
export function readSecrets(dataDir: string): DemoSecrets {
  const facts = readMembers(dataDir);
  const provider = membersOf(facts['serviceProvider']);
  const applications = new Map<string, string>();
  const kept = Object.values(membersOf(facts['applications']));
  for (const credentials of [...kept, provider['application']]) {
    const { clientId, clientSecret } = membersOf(credentials);
    if (typeof clientId === 'string' && typeof clientSecret === 'string') {
      applications.set(clientId, clientSecret);
    }
  }
  const users = new Map<string, UserSecrets>();
  const people = [facts['users'], provider['users']].map((list) => Object.values(membersOf(list)));
  for (const user of people.flat()) {
    const { username, password, otpSecret } = membersOf(user);
    if (typeof username !== 'string' || typeof password !== 'string') continue;
    users.set(username, typeof otpSecret === 'string' ? { password, otpSecret } : { password });
  }
  return { applications, users };
}

/** The platform that has written demo.json last. */
export type LastStart = {
  /** Where it told of its health. */
  readonly metricsUrl?: string;
  /** Another process than this one, and still there; undefined where nothing tells. */
  readonly isElsewhere?: boolean;
};

export function readLastStart(dataDir: string): LastStart {
  const { metricsUrl, processMark: mark } = readMembers(dataDir);
  return {
    ...(typeof metricsUrl === 'string' ? { metricsUrl } : {}),
    ...(typeof mark === 'string' && mark !== readProcessIdentity(process.pid)
      ? { isElsewhere: isSameProcessAlive(mark) }
      : {}),
  };
}

/** Under another name first: whoever reads it meanwhile never sees half of it. */
export function writeFacts(dataDir: string, facts: DemoFacts): void {
  const file = demoFileIn(dataDir);
  const text = `${JSON.stringify({ ...facts, processMark: readProcessIdentity(process.pid) }, undefined, 2)}\n`;
  mkdirSync(dataDir, { recursive: true });
  if (readText(file) !== text) {
    const unfinished = `${file}.${process.pid}`;
    writeFileSync(unfinished, text, { mode: ownerOnly });
    renameSync(unfinished, file);
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
  secrets: Secrets,
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

function userOf(person: DemoPerson, users: KnownUsers): DemoUser {
  const { password = '', otpSecret } = users.get(person.username) ?? {};
  return {
    username: person.username,
    password,
    ...defined({ otpSecret }),
    entityId: entityOf(person),
    groups: [groupOf(person)],
  };
}

function encryptionOf(device: DemoDevice, keysOf: DeviceKeys | undefined) {
  if (keysOf === undefined) return {};
  const { baseDerivationKey, ksn } = keysOf(device);
  return { baseDerivationKey, ksn };
}

function providerFacts(baseUrl: string, secrets: DemoSecrets): DemoFacts['serviceProvider'] {
  const services = Object.values(providerServices);
  return {
    ...demoServiceProvider,
    users: providerPeople.map((person) => userOf(person, secrets.users)),
    application: credentialsOf(providerServer, secrets.applications, baseUrl),
    services: services.map(({ serviceId, name }) => ({ serviceId, name })),
    paymentType: providerServices.pay.paymentTypes[0],
  };
}

/** The same for every start on the same settings and secrets. */
export function factsOf(
  addresses: DemoAddresses,
  caFile: string | undefined,
  secrets: DemoSecrets,
  keysOf?: DeviceKeys,
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
    users: demoPeople.map((person) => userOf(person, secrets.users)),
    devices: demoMerchants.flatMap(({ stores }) =>
      stores.flatMap(({ storeId, devices }) =>
        devices.map((device) => ({
          tsn: tsnOf(device),
          family: device.family,
          storeId,
          logicalDeviceId: device.logicalDeviceId,
          physicalDeviceId: device.physicalDeviceId,
          ...deviceFilesIn(addresses.dataDir, device),
          ...encryptionOf(device, keysOf),
        })),
      ),
    ),
    qr: { paymentType: demoQrService.paymentTypes[0] },
    serviceProvider: providerFacts(baseUrl, secrets),
  };
}
