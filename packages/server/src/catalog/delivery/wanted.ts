// Finds what a device is to have now, and under which version; versions are remembered.
import { terminalParameterDomain } from '@switchyard/emv';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../platform/index.ts';
import type { Provisioning } from '../../provisioning/index.ts';
import type { ForDevice } from '../configuration/for-device.ts';
import { withMerchantCategory } from '../emv-parameters.ts';
import { type Current, currentOf, type Wanted } from './document.ts';

const rememberedMax = 100_000;
const merchantsMax = 10_000;
/** How long a merchant's other category may stay unseen. */
const merchantMs = 5_000;

export type Found = {
  readonly services: readonly Wanted[];
  readonly current: Current;
  /** The names of all that the version comes from: while they stay, so does the version. */
  readonly basis: string;
};

export type FindWanted = (
  organizationId: string,
  device: { readonly logicalDeviceId: string; readonly merchantId: string },
) => Promise<Found>;

export type WantedDeps = {
  readonly clock: Clock;
  readonly provisioning: Pick<Provisioning, 'merchants'>;
  readonly configuration: Pick<ForDevice, 'forDevice'>;
};

function createCategories({ clock, provisioning }: WantedDeps) {
  const known = new LRUCache<string, { until: number; mcc: string }>({ max: merchantsMax });
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
 * The version is that of the values themselves. It is taken once for each set of names of what they
 * come from, so a device that asks again costs no look at its values.
 *
 * @example const findWanted = createFindWanted({ clock, provisioning, configuration });
 */
export function createFindWanted(deps: WantedDeps): FindWanted {
  const { configuration } = deps;
  const categoryOf = createCategories(deps);
  const remembered = new LRUCache<string, { basis: string; current: Current }>({
    max: rememberedMax,
  });

  return async (organizationId, { logicalDeviceId, merchantId }) => {
    const found = await configuration.forDevice(organizationId, logicalDeviceId);
    const isEmv = found.some(({ domain }) => domain === terminalParameterDomain);
    const mcc = isEmv ? await categoryOf(organizationId, merchantId) : '';
    const services = found.map(({ serviceId, serviceName: name, domain, values }): Wanted => {
      if (values === undefined) return { serviceId, name };
      const whole = domain === terminalParameterDomain ? withMerchantCategory(values, mcc) : values;
      return { serviceId, name, values: whole };
    });
    const basis = [mcc, ...found.map(({ serviceId, version }) => `${serviceId}:${version}`)].join();
    const key = `${organizationId}|${logicalDeviceId}`;
    const kept = remembered.get(key);
    const current = kept?.basis === basis ? kept.current : currentOf(logicalDeviceId, services);
    if (kept?.basis !== basis) remembered.set(key, { basis, current });
    return { services, current, basis };
  };
}
