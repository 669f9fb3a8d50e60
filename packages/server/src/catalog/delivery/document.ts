// What a device is to have: a version and a signed document for each service, out of its values.
import { createHash } from 'node:crypto';
import {
  canonicalJson,
  type DeviceConfigurationDocument,
  type DeviceServiceConfiguration,
} from '@switchyard/contract';
import type { SigningKey } from '../../platform/index.ts';

type Values = Readonly<Record<string, unknown>>;

/** A service as its device is to have it; without values the device keeps what it has. */
export type Wanted = {
  readonly serviceId: string;
  readonly name: string;
  readonly values?: Values;
};

/** Versions by service. */
export type Versions = Readonly<Record<string, string>>;

export type Current = {
  readonly version: string;
  readonly versions: Versions;
};

const versionChars = 22;

/** Equal contents have equal versions, whatever way they came about. */
export function versionOf(content: unknown): string {
  const digest = createHash('sha256').update(canonicalJson(content)).digest('base64url');
  return digest.slice(0, versionChars);
}

export function currentOf(logicalDeviceId: string, services: readonly Wanted[]): Current {
  const versions = Object.fromEntries(
    services.map((service) => [service.serviceId, versionOf(service)]),
  );
  return { version: versionOf([logicalDeviceId, versions]), versions };
}

const base64url = (text: string) => Buffer.from(text, 'utf8').toString('base64url');

/** The payload names the device too: what was signed for one says nothing to another. */
function signed(
  { key, sign }: SigningKey,
  logicalDeviceId: string,
  { serviceId, name, values }: Wanted,
  version: string,
): DeviceServiceConfiguration {
  if (values === undefined) return { serviceId, name, status: 'Held', version };
  const header = base64url(JSON.stringify({ alg: key.alg, kid: key.kid, cty: 'json' }));
  const content = { logicalDeviceId, serviceId, name, version, values };
  const payload = base64url(canonicalJson(content));
  return {
    serviceId,
    name,
    status: 'Ready',
    version,
    values: { ...values },
    protected: header,
    payload,
    signature: sign(`${header}.${payload}`),
  };
}

export function documentOf(
  key: SigningKey,
  logicalDeviceId: string,
  services: readonly Wanted[],
  { version, versions }: Current,
): DeviceConfigurationDocument {
  return {
    logicalDeviceId,
    version,
    services: services.map((service) =>
      signed(key, logicalDeviceId, service, String(versions[service.serviceId])),
    ),
  };
}
