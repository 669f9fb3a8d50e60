// Builds the document for a device: a version and a signed configuration for each service.

import { createHash } from 'node:crypto';
import {
  canonicalJson,
  type DeviceConfigurationDocument,
  type DeviceServiceConfiguration,
} from '@switchyard/contract';
import type { SigningKey } from '../../platform/index.ts';
import type { ParameterValues } from '../parameters/types.ts';

/**
 * The configuration of a service for a device; without values the device keeps its current ones.
 */
export type DesiredService = {
  readonly serviceId: string;
  readonly name: string;
  readonly values?: ParameterValues;
};

/** Versions by service identifier. */
export type VersionsByService = Readonly<Record<string, string>>;

export type DesiredVersions = {
  readonly version: string;
  readonly versions: VersionsByService;
};

const versionChars = 22;

/** Equal contents always have equal versions. */
export function computeContentVersion(content: unknown): string {
  const digest = createHash('sha256').update(canonicalJson(content)).digest('base64url');
  return digest.slice(0, versionChars);
}

export function computeDesiredVersions(
  logicalDeviceId: string,
  services: readonly DesiredService[],
): DesiredVersions {
  const versions = Object.fromEntries(
    services.map((service) => [service.serviceId, computeContentVersion(service)]),
  );
  return { version: computeContentVersion([logicalDeviceId, versions]), versions };
}

const base64url = (text: string) => Buffer.from(text, 'utf8').toString('base64url');

/** The payload also names the device, so that another device cannot use the signed document. */
function signService(
  { key, sign }: SigningKey,
  logicalDeviceId: string,
  { serviceId, name, values }: DesiredService,
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

export function buildDeviceDocument(
  key: SigningKey,
  logicalDeviceId: string,
  services: readonly DesiredService[],
  { version, versions }: DesiredVersions,
): DeviceConfigurationDocument {
  return {
    logicalDeviceId,
    version,
    services: services.map((service) =>
      signService(key, logicalDeviceId, service, String(versions[service.serviceId])),
    ),
  };
}
