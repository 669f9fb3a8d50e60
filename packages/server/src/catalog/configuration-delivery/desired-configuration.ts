// Finds the current configuration of a device and its version, with a cache of versions.
import { terminalParameterDomain } from '@switchyard/emv';
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { DeviceConfigurations } from '../configuration/device-configuration.ts';
import { setDefaultTerminalMcc } from '../parameters/emv-parameters.ts';
import {
  computeDesiredVersions,
  type DesiredService,
  type DesiredVersions,
} from './device-document.ts';

const cachedDevicesMax = 100_000;
const cachedMerchantsMax = 10_000;
/** A changed category code of a merchant becomes visible after at most this time. */
const merchantCacheTtlMs = 5_000;

export type DeviceVersions = {
  readonly desired: DesiredVersions;
  /** Names everything that the version depends on; an equal basis means an equal version. */
  readonly basis: string;
};

export type DesiredConfiguration = DeviceVersions & {
  readonly services: readonly DesiredService[];
};

type Device = { readonly logicalDeviceId: string; readonly merchantId: string };

export type DesiredConfigurationFinder = {
  /** Finds the version without the values; undefined when only the values can determine it. */
  findCachedVersions(organizationId: string, device: Device): Promise<DeviceVersions | undefined>;
  find(organizationId: string, device: Device): Promise<DesiredConfiguration>;
};

export type DesiredConfigurationDeps = {
  readonly clock: Clock;
  readonly provisioning: Pick<Provisioning, 'merchants'>;
  readonly configuration: Pick<DeviceConfigurations, 'readDeviceConfiguration' | 'readVersions'>;
};

function createCategoryCodeCache({ clock, provisioning }: DesiredConfigurationDeps) {
  const cache = new LRUCache<string, { until: number; mcc: string }>(
    lruCacheOptions(cachedMerchantsMax),
  );
  return async (organizationId: string, merchantId: string): Promise<string> => {
    const key = `${organizationId}|${merchantId}`;
    const cached = cache.get(key);
    if (cached !== undefined && clock.now() < cached.until) return cached.mcc;
    const { mcc } = (await provisioning.merchants.get({ organizationId }, merchantId)).view;
    cache.set(key, { until: clock.now() + merchantCacheTtlMs, mcc });
    return mcc;
  };
}

/**
 * Computes the version from the values once for each basis. A repeated request of a device
 * therefore does not read the values.
 *
 * @example const { findCachedVersions, find } = createDesiredConfigurationFinder({ clock, provisioning, configuration });
 */
export function createDesiredConfigurationFinder(
  deps: DesiredConfigurationDeps,
): DesiredConfigurationFinder {
  const { configuration } = deps;
  const readCategoryCode = createCategoryCodeCache(deps);
  const cache = new LRUCache<string, DeviceVersions>(lruCacheOptions(cachedDevicesMax));
  type ServiceVersion = {
    readonly serviceId: string;
    readonly domain: string;
    readonly version: string;
  };

  async function computeBasis(
    organizationId: string,
    { merchantId }: Device,
    serviceVersions: readonly ServiceVersion[],
  ) {
    const isEmv = serviceVersions.some(({ domain }) => domain === terminalParameterDomain);
    const mcc = isEmv ? await readCategoryCode(organizationId, merchantId) : '';
    const basis = [
      mcc,
      ...serviceVersions.map(({ serviceId, version }) => `${serviceId}:${version}`),
    ].join();
    return { mcc, basis };
  }

  return {
    async findCachedVersions(organizationId, device) {
      const cached = cache.get(`${organizationId}|${device.logicalDeviceId}`);
      if (cached === undefined) return undefined;
      const serviceVersions = await configuration.readVersions(
        organizationId,
        device.logicalDeviceId,
      );
      const { basis } = await computeBasis(organizationId, device, serviceVersions);
      return cached.basis === basis ? cached : undefined;
    },

    async find(organizationId, device) {
      const { logicalDeviceId } = device;
      const configurations = await configuration.readDeviceConfiguration(
        organizationId,
        logicalDeviceId,
      );
      const { mcc, basis } = await computeBasis(organizationId, device, configurations);
      const services = configurations.map(
        ({ serviceId, serviceName: name, domain, values }): DesiredService => {
          if (values === undefined) return { serviceId, name };
          const isEmv = domain === terminalParameterDomain;
          return { serviceId, name, values: isEmv ? setDefaultTerminalMcc(values, mcc) : values };
        },
      );
      const key = `${organizationId}|${logicalDeviceId}`;
      const cached = cache.get(key);
      if (cached?.basis === basis) return { ...cached, services };
      const deviceVersions = { basis, desired: computeDesiredVersions(logicalDeviceId, services) };
      cache.set(key, deviceVersions);
      return { ...deviceVersions, services };
    },
  };
}
