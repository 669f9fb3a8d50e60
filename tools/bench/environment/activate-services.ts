// Publishes services of the catalogue and activates them at every device of an organization.
import { setTimeout as pause } from 'node:timers/promises';
import type { ApiClient } from './send-single-request.ts';

const catalogue = '/service-catalog/v1';
const activeLimitMs = 180_000;
const lookEveryMs = 200;

/**
 * @param owner the application that declares the services, of the acquirer or of a provider
 * @returns the identifiers of the services
 */
export async function activateServices(
  acquirer: ApiClient,
  owner: ApiClient,
  organizationId: string,
  services: readonly object[],
): Promise<string[]> {
  const serviceIds: string[] = [];
  for (const service of services) {
    const { serviceId } = await owner.call('POST', `${catalogue}/services`, service);
    await owner.call('POST', `${catalogue}/services/${serviceId}/publish`);
    serviceIds.push(String(serviceId));
  }
  const offer = { name: 'Bench package', serviceIds };
  const { packageId } = await acquirer.call('POST', `${catalogue}/packages`, offer);
  await acquirer.call('POST', `${catalogue}/subscriptions`, { packageId });
  for (const serviceId of serviceIds) {
    const activation = { serviceId, level: 'Organization', entityId: organizationId };
    const { activationId } = await acquirer.call('POST', `${catalogue}/activations`, activation);
    await waitUntilActive(acquirer, String(activationId));
  }
  return serviceIds;
}

/** A provider may confirm later. */
async function waitUntilActive(acquirer: ApiClient, activationId: string): Promise<void> {
  const endMs = performance.now() + activeLimitMs;
  for (;;) {
    const { status } = await acquirer.call('GET', `${catalogue}/activations/${activationId}`);
    if (status === 'Active') return;
    if (performance.now() > endMs) throw new Error(`the service is not active: ${status}`);
    await pause(lookEveryMs);
  }
}
