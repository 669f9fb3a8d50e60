// Seeds the services of the demo: declared, subscribed, and active for every device.
import { ProblemError, type ServiceInput } from '@switchyard/contract';
import { type AuthoredScope, type Catalog, scopeAuthoredByPlatform } from '../catalog/index.ts';
import {
  demoPackageId,
  demoServiceProvider,
  demoServices,
  demoSubscriptionId,
  organizationId,
  providerServices,
} from './demo-data.ts';
import { seedTerminalParameters, terminalParameters } from './seed-terminal-parameters.ts';

const scope = scopeAuthoredByPlatform(organizationId);
const byProvider = scopeAuthoredByPlatform(demoServiceProvider.organizationId);
const level = 'Organization' as const;

/** A start that was killed may have created some of them. */
async function once(make: () => Promise<unknown>): Promise<void> {
  try {
    await make();
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== 'already_exists') throw error;
  }
}

type Offer = {
  readonly packageId: string;
  readonly subscriptionId: string;
  readonly name: string;
  readonly services: readonly { readonly serviceId: string; readonly input: ServiceInput }[];
  /** The provider of the services; the default is the acquirer. */
  readonly provider?: AuthoredScope;
  /** Runs before the activation, because an active service needs its configuration. */
  configure?(configuration: Catalog['configuration']): Promise<void>;
};

const nothing = { methods: [], paymentTypes: [], events: [] };

const inTheStore: Offer = {
  packageId: demoPackageId,
  subscriptionId: demoSubscriptionId,
  name: 'In the store',
  services: demoServices.map(({ serviceId, ...declaration }) => {
    const { methods, paymentTypes, events } = { ...nothing, ...declaration };
    const lists = { methods: [...methods], paymentTypes: [...paymentTypes], events: [...events] };
    const input = { ...declaration, ...lists };
    return { serviceId, input };
  }),
};

type Seeded = Pick<
  Catalog,
  'services' | 'packagesAndSubscriptions' | 'activations' | 'configuration'
>;

/**
 * Activations are never deleted. If one exists, the rest was created too, and users may have
 * changed it.
 */
async function isActivated({ activations }: Seeded, serviceId: string): Promise<boolean> {
  const { items } = await activations.list(scope, { serviceId, level }, { limit: 1 });
  return items.length > 0;
}

async function seedOffer(catalog: Seeded, offer: Offer): Promise<void> {
  const serviceIds = offer.services.map(({ serviceId }) => serviceId);
  const activated = await Promise.all(serviceIds.map((id) => isActivated(catalog, id)));
  if (activated.every((isMade) => isMade)) return;
  const { services, packagesAndSubscriptions: offers, activations } = catalog;
  for (const { serviceId, input } of offer.services) {
    const { provider = scope } = offer;
    await once(() => services.create(provider, input, serviceId));
    await services.publish(provider, serviceId);
  }
  const { name, packageId, subscriptionId } = offer;
  await once(() => offers.createPackage(scope, { name, serviceIds }, packageId));
  await once(() => offers.subscribe(scope, packageId, subscriptionId));
  await offer.configure?.(catalog.configuration);
  for (const [at, serviceId] of serviceIds.entries()) {
    if (activated[at] === true) continue;
    await activations.activate(scope, { serviceId, level, entityId: organizationId });
  }
}

const { packageId, subscriptionId, serviceId: payId, ...pay } = providerServices.pay;

/** This service comes from another organisation, as most services do. */
const fromProvider: Offer = {
  packageId,
  subscriptionId,
  name: 'Lumen',
  provider: byProvider,
  services: [
    {
      serviceId: payId,
      // The catalogue is constant, but an input is mutable.
      input: structuredClone(pay) as unknown as ServiceInput,
    },
  ],
};

/**
 * The server creates these services together at the first start only, so a deleted draft stays
 * deleted.
 */
async function seedProviderServices({ services }: Seeded): Promise<void> {
  const { serviceId: pointsId, ...points } = providerServices.points;
  const { serviceId: laterId, ...later } = providerServices.later;
  const providerFilter = { providerId: demoServiceProvider.organizationId };
  const { items } = await services.list(byProvider, providerFilter, { limit: 3 });
  if (items.some(({ serviceId }) => serviceId === pointsId)) return;
  await once(() => services.create(byProvider, later, laterId));
  await once(() =>
    services.create(byProvider, structuredClone(points) as unknown as ServiceInput, pointsId),
  );
  await services.publish(byProvider, pointsId);
}

export async function seedServices(catalog: Seeded): Promise<void> {
  await seedOffer(catalog, inTheStore);
  await seedOffer(catalog, fromProvider);
  await seedProviderServices(catalog);
  await seedOffer(catalog, {
    ...terminalParameters,
    services: [terminalParameters],
    configure: seedTerminalParameters,
  });
}
