// The interface of the catalogue: services, packages, subscriptions, activations, configuration.
import type { FastifyInstance } from 'fastify';
import { platformAuthor } from '../audit/index.ts';
import { registerActivations } from './activation-routes.ts';
import { type Activations, createActivations } from './activations.ts';
import { type CallBook, createCallBook } from './call-book.ts';
import { type CallableServices, createCallableServices } from './callable.ts';
import { createDefaultsCheck } from './configuration/defaults.ts';
import { type Configuration, createConfiguration } from './configuration/index.ts';
import { registerConfiguration } from './configuration/routes.ts';
import { createDelivery } from './delivery/delivery.ts';
import { registerDelivery } from './delivery/routes.ts';
import type { By, CatalogDeps } from './deps.ts';
import { createHandshake } from './handshake.ts';
import { registerOffers } from './offer-routes.ts';
import { createOffers, type Offers } from './offers.ts';
import { createParameters } from './parameters.ts';
import { createSecretBox } from './secret-box.ts';
import { registerServices } from './service-routes.ts';
import { createServices, type Services } from './services.ts';
import { createSigningSecrets } from './signing-secrets.ts';
import { createStanding, type Standing } from './standing.ts';
import { createStandingBelow } from './standing-below.ts';
import { createWatch } from './watch.ts';
import { registerWatch } from './watch-routes.ts';

export type { NotedCall } from './call-book.ts';
export type { CallableService } from './callable.ts';
export type { By, CatalogDeps } from './deps.ts';
export { emvValueRules } from './emv-parameters.ts';
export type { ActiveService } from './standing.ts';

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
      registerWatch(app, createWatch(deps), createStandingBelow(deps));
    },
  };
}
