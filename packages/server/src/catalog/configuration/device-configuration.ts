// Reads the values of every active service of a device, with a bounded cache.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock, Queries } from '../../platform/index.ts';
import type { ActiveServices } from '../activations/active-services.ts';
import { reportedFaultsMax } from '../parameters/level-rules.ts';
import type { SecretCipher } from '../parameters/secret-encryption.ts';
import type { LevelValues, ParameterValues, ValueFault } from '../parameters/types.ts';
import {
  type ConfigurationRecord,
  type LevelVersion,
  readConfigurationsOfDevice,
  readLevelVersionsOfDevice,
} from './configuration-sql.ts';
import type { ConfigurationEvaluator } from './effective-configuration.ts';
import type { ReadReleases } from './release-cache.ts';

const cacheMaxBytes = 32 * 1024 * 1024;
/** The size of a cache entry without its values. */
const entryBytes = 512;
/** A change in another process becomes visible after at most this time; a local change at once. */
const cacheTtlMs = 5_000;
const versionChars = 22;

/** An active service of a device, with the configuration that the device must use. */
export type DeviceConfiguration = {
  readonly serviceId: string;
  readonly serviceName: string;
  readonly domain: string;
  readonly release: number;
  /** Changes whenever the values, or the release that checks them, may have changed. */
  readonly version: string;
  /**
   * Contains the secrets in clear. Absent when the stored values do not fit the release in force or
   * a required member is missing; the device then keeps its current values.
   */
  readonly values?: ParameterValues;
  /** The reasons for absent values; empty when values are present. */
  readonly faults: readonly ValueFault[];
};

export type DeviceConfigurations = {
  readDeviceConfiguration(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly DeviceConfiguration[]>;
  /**
   * Reads only the current versions, which is cheap for a client that may already hold the values.
   */
  readVersions(
    organizationId: string,
    logicalDeviceId: string,
  ): Promise<readonly Pick<DeviceConfiguration, 'serviceId' | 'domain' | 'version'>[]>;
  /**
   * Clears the cache of one organisation after its change, or the whole cache without an argument.
   */
  clearCache(organizationId?: string): void;
};

type DeviceConfigurationParts = {
  readonly queries: Queries;
  readonly clock: Clock;
  readonly activeServices: Pick<ActiveServices, 'listActiveServices'>;
  readonly releases: ReadReleases;
  readonly evaluator: ConfigurationEvaluator;
  readonly secretCipher: SecretCipher;
};

export const toLevelValues = (
  secretCipher: SecretCipher,
  row: ConfigurationRecord,
): LevelValues => ({
  level: row.level,
  entityId: row.entityId,
  version: row.version,
  values: row.ownValues,
  secrets: secretCipher.decrypt(row, row.secretsSealed),
});

/** Derives the version from the names of its inputs, so a change is detected without the values. */
function computeVersion(serviceId: string, release: number, rows: readonly LevelVersion[]): string {
  const levels = rows.map(({ entityId, version }) => [entityId, version]);
  const text = JSON.stringify([serviceId, release, levels]);
  return createHash('sha256').update(text).digest('base64url').slice(0, versionChars);
}

/** @example const devices = createDeviceConfigurations(parts); await devices.readDeviceConfiguration(organizationId, deviceId); */
export function createDeviceConfigurations(parts: DeviceConfigurationParts): DeviceConfigurations {
  const { queries, clock, activeServices, releases, evaluator, secretCipher } = parts;
  const cache = new LRUCache<string, { until: number; configurations: DeviceConfiguration[] }>({
    maxSize: cacheMaxBytes,
    sizeCalculation: ({ configurations }) => entryBytes + JSON.stringify(configurations).length,
  });
  const pendingLoads = new Map<string, Promise<DeviceConfiguration[]>>();
  /** Counts the changes: a result that was read before a change is returned, but not cached. */
  let changeCount = 0;

  async function loadConfigurations(
    organizationId: string,
    deviceId: string,
  ): Promise<DeviceConfiguration[]> {
    const [active, rows] = await Promise.all([
      activeServices.listActiveServices(organizationId, deviceId),
      readConfigurationsOfDevice(queries, organizationId, deviceId),
    ]);
    const inForce = await releases(active);
    return inForce.map((release) => {
      const { serviceId, name, domain } = release;
      const serviceRows = rows.filter((row) => row.serviceId === serviceId);
      const levels = serviceRows.map((row) => toLevelValues(secretCipher, row));
      const { values, missing, faults: valueFaults } = evaluator.evaluate(release, levels);
      const missingFaults = missing.map(
        (pointer): ValueFault => ({
          pointer,
          code: 'field_required',
          detail: 'is set at no level',
        }),
      );
      const faults = [...valueFaults, ...missingFaults];
      return {
        serviceId,
        serviceName: name,
        domain,
        release: release.release,
        version: computeVersion(serviceId, release.release, serviceRows),
        ...(faults.length === 0 ? { values } : {}),
        faults: faults.slice(0, reportedFaultsMax),
      };
    });
  }

  return {
    async readDeviceConfiguration(organizationId, logicalDeviceId) {
      const key = `${organizationId}|${logicalDeviceId}`;
      const cached = cache.get(key);
      if (cached !== undefined && clock.now() < cached.until) return cached.configurations;
      const pendingLoad = pendingLoads.get(key);
      if (pendingLoad !== undefined) return pendingLoad;
      const changeCountBefore = changeCount;
      const until = clock.now() + cacheTtlMs;
      const loading = loadConfigurations(organizationId, logicalDeviceId);
      pendingLoads.set(key, loading);
      try {
        const configurations = await loading;
        if (changeCountBefore === changeCount) cache.set(key, { until, configurations });
        return configurations;
      } finally {
        if (pendingLoads.get(key) === loading) pendingLoads.delete(key);
      }
    },
    async readVersions(organizationId, logicalDeviceId) {
      const [active, rows] = await Promise.all([
        activeServices.listActiveServices(organizationId, logicalDeviceId),
        readLevelVersionsOfDevice(queries, organizationId, logicalDeviceId),
      ]);
      return active.map(({ serviceId, domain, release }) => {
        const serviceRows = rows.filter((row) => row.serviceId === serviceId);
        return { serviceId, domain, version: computeVersion(serviceId, release, serviceRows) };
      });
    },
    clearCache(organizationId) {
      changeCount += 1;
      pendingLoads.clear();
      if (organizationId === undefined) return cache.clear();
      for (const key of cache.keys()) {
        if (key.startsWith(`${organizationId}|`)) cache.delete(key);
      }
    },
  };
}
