// Keeps demo.json: what somebody needs to try the demo environment, readable for its owner alone.
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../platform/index.ts';
import { tsnOf } from '../provisioning/index.ts';
import type { Secrets } from './applications.ts';
import {
  type DemoApplication,
  demoApplications,
  demoMerchants,
  demoUserDomainId,
  organizationId,
} from './catalogue.ts';

export type DemoCredentials = {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly merchantId?: string;
  readonly storeId?: string;
};

export type DemoFacts = {
  readonly environment: string;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly deviceAuthUrl: string;
  readonly metricsUrl: string;
  readonly caFile?: string;
  readonly userDomainId: string;
  readonly organizationId: string;
  readonly merchants: readonly {
    readonly merchantId: string;
    readonly name: string;
    readonly stores: readonly { readonly storeId: string; readonly name: string }[];
  }[];
  readonly applications: Readonly<Record<string, DemoCredentials>>;
  readonly devices: readonly {
    readonly tsn: string;
    readonly family: 'axium' | 'tetra';
    readonly storeId: string;
    readonly logicalDeviceId: string;
    readonly physicalDeviceId: string;
  }[];
};

export type DemoAddresses = Pick<
  Settings,
  'environment' | 'baseUrl' | 'authUrl' | 'deviceAuthUrl' | 'metricsHost' | 'metricsPort'
>;

const ownerOnly = 0o600;

export const demoFileIn = (dataDir: string): string => join(dataDir, 'demo.json');

/** The secrets of an earlier start; none where the file is missing or no longer what we wrote. */
export function readSecrets(dataDir: string): Secrets {
  const secrets = new Map<string, string>();
  for (const credentials of Object.values(readApplications(dataDir))) {
    const { clientId, clientSecret } = (credentials ?? {}) as Record<string, unknown>;
    if (typeof clientId === 'string' && typeof clientSecret === 'string') {
      secrets.set(clientId, clientSecret);
    }
  }
  return secrets;
}

/** Where a platform on this directory tells of its health, if it ever told. */
export function readMetricsUrl(dataDir: string): string | undefined {
  try {
    const { metricsUrl } = JSON.parse(readFileSync(demoFileIn(dataDir), 'utf8')) as Partial<
      Record<string, unknown>
    >;
    return typeof metricsUrl === 'string' ? metricsUrl : undefined;
  } catch {
    return undefined;
  }
}

function readApplications(dataDir: string): object {
  try {
    const facts: unknown = JSON.parse(readFileSync(demoFileIn(dataDir), 'utf8'));
    if (typeof facts !== 'object' || facts === null || !('applications' in facts)) return {};
    const { applications } = facts;
    return typeof applications === 'object' && applications !== null ? applications : {};
  } catch {
    return {};
  }
}

/** Under another name first: whoever reads it meanwhile never sees half of it. */
export function writeFacts(dataDir: string, facts: DemoFacts): void {
  const file = demoFileIn(dataDir);
  const text = `${JSON.stringify(facts, undefined, 2)}\n`;
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

function credentialsOf(application: DemoApplication, secrets: Secrets): DemoCredentials {
  const { clientId, merchantId, storeId } = application;
  return {
    clientId,
    clientSecret: secrets.get(clientId) ?? '',
    ...(merchantId === undefined ? {} : { merchantId }),
    ...(storeId === undefined ? {} : { storeId }),
  };
}

/** The same for every start on the same settings and secrets. */
export function factsOf(
  addresses: DemoAddresses,
  caFile: string | undefined,
  secrets: Secrets,
): DemoFacts {
  const { environment, baseUrl, authUrl, deviceAuthUrl, metricsHost, metricsPort } = addresses;
  return {
    environment,
    baseUrl,
    authUrl,
    deviceAuthUrl,
    metricsUrl: `http://${metricsHost}:${metricsPort}`,
    ...(caFile === undefined ? {} : { caFile }),
    userDomainId: demoUserDomainId,
    organizationId,
    merchants: demoMerchants.map(({ merchantId, name, stores }) => ({
      merchantId,
      name,
      stores: stores.map((store) => ({ storeId: store.storeId, name: store.name })),
    })),
    applications: Object.fromEntries(
      demoApplications.map((application) => [application.key, credentialsOf(application, secrets)]),
    ),
    devices: demoMerchants.flatMap(({ stores }) =>
      stores.flatMap(({ storeId, devices }) =>
        devices.map(({ family, logicalDeviceId, physicalDeviceId, ...device }) => ({
          tsn: tsnOf(device),
          family,
          storeId,
          logicalDeviceId,
          physicalDeviceId,
        })),
      ),
    ),
  };
}
