/** In one word, how a service stands for the organisation or the merchant that looks at it. */
import type { Service, ServiceActivation, ServicePlace } from '@switchyard/contract';
import type { Tone } from '../../components/values/state-badge.tsx';
import type { Offers } from './service-queries.ts';

export type Standing =
  | 'Active'
  | 'Requested'
  | 'Pending'
  | 'Refused'
  | 'Subscribed'
  | 'Available'
  | 'Draft'
  | 'Retired';

export const standings: readonly Standing[] = [
  'Active',
  'Requested',
  'Pending',
  'Refused',
  'Subscribed',
  'Available',
  'Retired',
];

export const toneOf: Readonly<Record<Standing, Tone>> = {
  Active: 'good',
  Requested: 'warn',
  Pending: 'warn',
  Refused: 'bad',
  Subscribed: 'busy',
  Available: 'plain',
  Draft: 'plain',
  Retired: 'plain',
};

/** The services that packages with a subscription hold. */
export function subscribedIn({ packages, subscriptions }: Offers): ReadonlySet<string> {
  const bought = new Set(subscriptions.map(({ packageId }) => packageId));
  const held = packages.filter(({ packageId }) => bought.has(packageId));
  return new Set(held.flatMap(({ serviceIds }) => serviceIds));
}

export function standingOf(
  service: Pick<Service, 'serviceId' | 'status'>,
  activations: readonly ServiceActivation[],
  subscribed: ReadonlySet<string>,
): Standing {
  const own = activations.find(({ serviceId }) => serviceId === service.serviceId);
  if (own !== undefined && own.status !== 'Inactive') return own.status;
  if (service.status === 'Draft') return 'Draft';
  if (subscribed.has(service.serviceId)) return 'Subscribed';
  return service.status === 'Retired' ? 'Retired' : 'Available';
}

/** For a merchant: what the organisation has switched on for all counts for it, too. */
export function standingAt(place: ServicePlace | undefined): Standing {
  if (place === undefined) return 'Available';
  if (place.usable) return 'Active';
  const { status } = place;
  return status === undefined || status === 'Inactive' || status === 'Active'
    ? 'Available'
    : status;
}
