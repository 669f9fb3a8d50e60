// Seeds the services of the demo: declared, subscribed, and active for every device that stands there.
import { Refusal } from '@switchyard/contract';
import { byPlatform, type Catalog } from '../catalog/index.ts';
import { demoPackageId, demoServices, demoSubscriptionId, organizationId } from './catalogue.ts';

const by = byPlatform(organizationId);
const level = 'Organization' as const;

/** A start that was killed in the middle left some of it behind. */
async function once(make: () => Promise<unknown>): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'already_exists') throw error;
  }
}

/** Activations are never deleted: where one is, the rest was made too, and is now somebody's own. */
async function isSeeded({ activations }: Pick<Catalog, 'activations'>): Promise<boolean> {
  const found = await Promise.all(
    demoServices.map(({ serviceId }) => activations.list(by, { serviceId, level }, { limit: 1 })),
  );
  return found.every(({ items }) => items.length > 0);
}

export async function seedServices(
  catalog: Pick<Catalog, 'services' | 'offers' | 'activations'>,
): Promise<void> {
  if (await isSeeded(catalog)) return;
  const { services, offers, activations } = catalog;
  for (const { serviceId, ...declaration } of demoServices) {
    const { methods, paymentTypes } = { methods: [], paymentTypes: [], ...declaration };
    const input = { ...declaration, methods: [...methods], paymentTypes: [...paymentTypes] };
    await once(() => services.declare(by, input, serviceId));
    await services.publish(by, serviceId);
  }
  const serviceIds = demoServices.map(({ serviceId }) => serviceId);
  await once(() => offers.createPackage(by, { name: 'In the store', serviceIds }, demoPackageId));
  await once(() => offers.subscribe(by, demoPackageId, demoSubscriptionId));
  for (const serviceId of serviceIds) {
    const { items } = await activations.list(by, { serviceId, level }, { limit: 1 });
    if (items.length > 0) continue;
    await activations.activate(by, { serviceId, level, entityId: organizationId });
  }
}
