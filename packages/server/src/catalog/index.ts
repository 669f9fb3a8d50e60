// The interface of the catalogue: services, packages, subscriptions, activations, configuration.
import type { FastifyInstance } from 'fastify';
import { platformAuthor } from '../audit/index.ts';
import { registerActivations } from './activations/activation-routes.ts';
import { type Activations, createActivations } from './activations/activations.ts';
import { createStanding, type Standing } from './activations/active-services.ts';
import { createStandingBelow } from './activations/list-service-states.ts';
import { createHandshake } from './activations/provider-handshake.ts';
import { registerServiceStates } from './activations/service-state-routes.ts';
import { type Configuration, createConfiguration } from './configuration/configuration.ts';
import { registerConfiguration } from './configuration/configuration-routes.ts';
import { createDefaultsCheck } from './configuration/validate-defaults.ts';
import { createDelivery } from './delivery/configuration-delivery.ts';
import { registerDelivery } from './delivery/delivery-routes.ts';
import type { By } from './infrastructure/caller-scope.ts';
import type { CatalogDeps } from './infrastructure/catalog-deps.ts';
import { createParameters } from './parameters/parameter-validator.ts';
import { createSecretBox } from './parameters/secret-encryption.ts';
import { type CallBook, createCallBook } from './provider-calls/call-counter.ts';
import { createWatch } from './provider-dashboard/provider-dashboard.ts';
import { registerWatch } from './provider-dashboard/provider-dashboard-routes.ts';
import {
  type CallableServices,
  createCallableServices,
} from './services/provider-endpoint-cache.ts';
import { registerServices } from './services/service-routes.ts';
import { createServices, type Services } from './services/services.ts';
import { createSigningSecrets } from './services/signing-secrets.ts';
import { registerOffers } from './subscriptions/package-and-subscription-routes.ts';
import { createOffers, type Offers } from './subscriptions/packages-and-subscriptions.ts';

export type { ActiveService } from './activations/active-services.ts';
export type { By } from './infrastructure/caller-scope.ts';
export type { CatalogDeps } from './infrastructure/catalog-deps.ts';
export { emvValueRules } from './parameters/emv-parameters.ts';
export type { NotedCall } from './provider-calls/call-counter.ts';
export type { CallableService } from './services/provider-endpoint-cache.ts';

export type Catalog = Pick<Standing, 'isActive' | 'activeServices' | 'activeAt' | 'explain'> & {
  register(app: FastifyInstance): void;
  /** Finds a published service with its address and keys, for code that calls its provider. */
  readonly callable: CallableServices['find'];
  /** Counts the calls to providers and shows the counts to them. */
  readonly callBook: CallBook;
  readonly services: Services;
  readonly offers: Offers;
  readonly activations: Activations;
  readonly configuration: Configuration;
};

/** The platform itself as the author, for example for seed data. */
export const byPlatform = (organizationId: string): By => ({
  organizationId,
  author: platformAuthor,
});

/** @example const catalog = createCatalog(deps); await catalog.isActive(organizationId, deviceId, serviceId); */
export function createCatalog(deps: CatalogDeps): Catalog {
  const parameters = createParameters();
  const secrets = createSigningSecrets(deps);
  const standing = createStanding(deps);
  const configuration = createConfiguration(deps, { parameters, standing });
  const delivery = createDelivery({ ...deps, configuration });
  const callable = createCallableServices(deps, secrets);
  const onChange = (organizationId?: string) => {
    standing.forget(organizationId);
    configuration.forget(organizationId);
  };
  const onPublish = () => {
    callable.clear();
    onChange();
  };
  const services = createServices(deps, {
    parameters,
    secrets,
    onPublish,
    onRenewal: callable.clear,
    demandDefaults: createDefaultsCheck(parameters, deps.valueRules ?? {}),
  });
  const offers = createOffers(deps);
  const box = createSecretBox(deps.masterKey, 'activation');
  const callBook = createCallBook(deps);
  const handshake = createHandshake(deps, { secrets, box, onChange, onCall: callBook.note });
  const parts = { services, parameters, handshake, box, onChange };
  const activations = createActivations(deps, parts);
  return {
    services,
    offers,
    activations,
    configuration,
    isActive: standing.isActive,
    activeServices: standing.activeServices,
    activeAt: standing.activeAt,
    explain: standing.explain,
    callable: callable.find,
    callBook,
    register(app) {
      registerServices(app, services);
      registerOffers(app, offers);
      registerActivations(app, activations, standing);
      registerConfiguration(app, configuration);
      registerDelivery(app, delivery);
      registerServiceStates(app, createStandingBelow(deps));
      registerWatch(app, createWatch(deps));
    },
  };
}
