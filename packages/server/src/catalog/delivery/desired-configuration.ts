// Finds the current configuration of a device and its version, with a cache of versions.
import { terminalParameterDomain } from '@switchyard/emv';
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { ForDevice } from '../configuration/device-configuration.ts';
import { withMerchantCategory } from '../parameters/emv-parameters.ts';
import { type Current, currentOf, type Wanted } from './device-document.ts';

const rememberedMax = 100_000;
const merchantsMax = 10_000;
/** A changed category code of a merchant becomes visible after at most this time. */
const merchantMs = 5_000;

export type Known = {
  readonly current: Current;
  /** Names everything that the version depends on; an equal basis means an equal version. */
  readonly basis: string;
};

export type Found = Known & { readonly services: readonly Wanted[] };

type Device = { readonly logicalDeviceId: string; readonly merchantId: string };

export type WantedFinder = {
  /** Finds the version without the values; undefined when only the values can determine it. */
  known(organizationId: string, device: Device): Promise<Known | undefined>;
  find(organizationId: string, device: Device): Promise<Found>;
};

export type WantedDeps = {
  readonly clock: Clock;
  readonly provisioning: Pick<Provisioning, 'merchants'>;
  readonly configuration: Pick<ForDevice, 'forDevice' | 'versionsFor'>;
};

function createCategories({ clock, provisioning }: WantedDeps) {
  const known = new LRUCache<string, { until: number; mcc: string }>(lruCacheOptions(merchantsMax));
  return async (organizationId: string, merchantId: string): Promise<string> => {
    const key = `${organizationId}|${merchantId}`;
    const kept = known.get(key);
    if (kept !== undefined && clock.now() < kept.until) return kept.mcc;
    const { mcc } = (await provisioning.merchants.get({ organizationId }, merchantId)).view;
    known.set(key, { until: clock.now() + merchantMs, mcc });
    return mcc;
  };
}

/**
 * Computes the version from the values once for each basis. A repeated request of a device
 * therefore does not read the values.
 *
 * @example const { known, find } = createWantedFinder({ clock, provisioning, configuration });
 */
export function createWantedFinder(deps: WantedDeps): WantedFinder {
  const { configuration } = deps;
  const categoryOf = createCategories(deps);
  const remembered = new LRUCache<string, Known>(lruCacheOptions(rememberedMax));
  type Named = { readonly serviceId: string; readonly domain: string; readonly version: string };

  async function namesOf(organizationId: string, { merchantId }: Device, named: readonly Named[]) {
    const isEmv = named.some(({ domain }) => domain === terminalParameterDomain);
    const mcc = isEmv ? await categoryOf(organizationId, merchantId) : '';
    const basis = [mcc, ...named.map(({ serviceId, version }) => `${serviceId}:${version}`)].join();
    return { mcc, basis };
  }

  return {
    async known(organizationId, device) {
      const kept = remembered.get(`${organizationId}|${device.logicalDeviceId}`);
      if (kept === undefined) return undefined;
      const named = await configuration.versionsFor(organizationId, device.logicalDeviceId);
      const { basis } = await namesOf(organizationId, device, named);
      return kept.basis === basis ? kept : undefined;
    },

    async find(organizationId, device) {
      const { logicalDeviceId } = device;
      const found = await configuration.forDevice(organizationId, logicalDeviceId);
      const { mcc, basis } = await namesOf(organizationId, device, found);
      const services = found.map(({ serviceId, serviceName: name, domain, values }): Wanted => {
        if (values === undefined) return { serviceId, name };
        const isEmv = domain === terminalParameterDomain;
        return { serviceId, name, values: isEmv ? withMerchantCategory(values, mcc) : values };
      });
      const key = `${organizationId}|${logicalDeviceId}`;
      const kept = remembered.get(key);
      if (kept?.basis === basis) return { ...kept, services };
      const known = { basis, current: currentOf(logicalDeviceId, services) };
      remembered.set(key, known);
      return { ...known, services };
    },
  };
}
