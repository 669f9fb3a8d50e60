/** Derives the status of a service for the organisation or merchant of the user. */
import type { Service, ServiceActivation, ServicePlace } from '@switchyard/contract';
import type { Tone } from '../../components/values/state-badge.tsx';
import type { PackageOffers } from './service-queries.ts';

export type ServiceStatus =
  | 'Active'
  | 'Requested'
  | 'Pending'
  | 'Refused'
  | 'Subscribed'
  | 'Available'
  | 'Draft'
  | 'Retired';

export const serviceStatuses: readonly ServiceStatus[] = [
  'Active',
  'Requested',
  'Pending',
  'Refused',
  'Subscribed',
  'Available',
  'Retired',
];

export const statusTones: Readonly<Record<ServiceStatus, Tone>> = {
  Active: 'good',
  Requested: 'warn',
  Pending: 'warn',
  Refused: 'bad',
  Subscribed: 'busy',
  Available: 'plain',
  Draft: 'plain',
  Retired: 'plain',
};

/** The services of the subscribed packages. */
export function subscribedServiceIds({
  packages,
  subscriptions,
}: PackageOffers): ReadonlySet<string> {
  const bought = new Set(subscriptions.map(({ packageId }) => packageId));
  const subscribedPackages = packages.filter(({ packageId }) => bought.has(packageId));
  return new Set(subscribedPackages.flatMap(({ serviceIds }) => serviceIds));
}

export function serviceStatus(
  service: Pick<Service, 'serviceId' | 'status'>,
  activations: readonly ServiceActivation[],
  subscribed: ReadonlySet<string>,
): ServiceStatus {
  const activation = activations.find(({ serviceId }) => serviceId === service.serviceId);
  if (activation !== undefined && activation.status !== 'Inactive') return activation.status;
  if (service.status === 'Draft') return 'Draft';
  if (subscribed.has(service.serviceId)) return 'Subscribed';
  return service.status === 'Retired' ? 'Retired' : 'Available';
}

/** For a merchant, an activation of the organisation counts too. */
export function serviceStatusForMerchant(servicePlace: ServicePlace | undefined): ServiceStatus {
  if (servicePlace === undefined) return 'Available';
  if (servicePlace.usable) return 'Active';
  const { status } = servicePlace;
  return status === undefined || status === 'Inactive' || status === 'Active'
    ? 'Available'
    : status;
}
