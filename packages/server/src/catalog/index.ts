// The interface of the catalogue: services, packages, subscriptions, activations, configuration.
import type { FastifyInstance } from 'fastify';
import { platformAuthor } from '../audit/index.ts';
import { createPreparedQueries } from '../platform/index.ts';
import {
  registerActivationRoutes,
  registerServiceStateRoutes,
} from './activations/activation-routes.ts';
import { type Activations, createActivations } from './activations/activations.ts';
import { type ActiveServices, createActiveServices } from './activations/active-services.ts';
import { createServiceStateList } from './activations/list-entities-with-service-state.ts';
import { createProviderHandshake } from './activations/provider-handshake.ts';
import {
  type ConfigurationChanges,
  createConfigurationChanges,
} from './configuration/change-configuration.ts';
import { registerConfigurationRoutes } from './configuration/configuration-routes.ts';
import {
  createDeviceConfigurations,
  type DeviceConfigurations,
} from './configuration/device-configuration.ts';
import { createConfigurationEvaluator } from './configuration/effective-configuration.ts';
import { createTargetFinder } from './configuration/find-configuration-target.ts';
import {
  type ConfigurationReads,
  createConfigurationReads,
} from './configuration/read-configuration.ts';
import { createReleaseCache } from './configuration/release-cache.ts';
import { createDefaultsValidator } from './configuration/validate-values.ts';
import { createConfigurationDelivery } from './configuration-delivery/configuration-delivery.ts';
import { registerDeliveryRoutes } from './configuration-delivery/configuration-delivery-routes.ts';
import type { AuthoredScope } from './infrastructure/caller-scope.ts';
import type { CatalogDeps } from './infrastructure/catalog-deps.ts';
import {
  createParameterValidator,
  type ParameterValidator,
} from './parameters/parameter-validator.ts';
import { createSecretCipher } from './parameters/secret-encryption.ts';
import {
  createProviderCallCounter,
  type ProviderCallCounter,
} from './provider-calls/call-counter.ts';
import { createProviderDashboard } from './provider-dashboard/provider-dashboard.ts';
import { registerProviderDashboardRoutes } from './provider-dashboard/provider-dashboard-routes.ts';
import {
  createProviderEndpointCache,
  type ProviderEndpoints,
} from './services/provider-endpoint-cache.ts';
import { registerServiceRoutes } from './services/service-routes.ts';
import { createServices, type Services } from './services/services.ts';
import { createSigningSecrets } from './services/signing-secrets.ts';
import { registerPackageAndSubscriptionRoutes } from './subscriptions/package-and-subscription-routes.ts';
import {
  createPackagesAndSubscriptions,
  type PackageAndSubscriptionOperations,
} from './subscriptions/packages-and-subscriptions.ts';

export type { ActiveService } from './activations/active-services.ts';
export type { AuthoredScope } from './infrastructure/caller-scope.ts';
export type { CatalogDeps } from './infrastructure/catalog-deps.ts';
export { emvValueRules } from './parameters/emv-parameters.ts';
export type { CompletedProviderCall } from './provider-calls/call-counter.ts';
export type { ProviderEndpoint } from './services/provider-endpoint-cache.ts';

type Configuration = DeviceConfigurations & ConfigurationReads & ConfigurationChanges;

export type Catalog = Pick<
  ActiveServices,
  'isActive' | 'listActiveServices' | 'findDevicesWithService' | 'explainDeviceServices'
> & {
  register(app: FastifyInstance): void;
  /** Finds a published service with its address and keys, for code that calls its provider. */
  readonly findProviderEndpoint: ProviderEndpoints['find'];
  /** Counts the calls to providers and shows the counts to them. */
  readonly providerCallCounter: ProviderCallCounter;
  readonly services: Services;
  readonly packagesAndSubscriptions: PackageAndSubscriptionOperations;
  readonly activations: Activations;
  readonly configuration: Configuration;
};

/** The platform itself as the author, for example for seed data. */
export const scopeAuthoredByPlatform = (organizationId: string): AuthoredScope => ({
  organizationId,
  author: platformAuthor,
});

/** @example const catalog = createCatalog(deps); await catalog.isActive(organizationId, deviceId, serviceId); */
export function createCatalog(deps: CatalogDeps): Catalog {
  const parameterValidator = createParameterValidator();
  const signingSecrets = createSigningSecrets(deps);
  const activeServices = createActiveServices(deps);
  const configuration = createConfiguration(deps, {
    parameterValidator,
    activeServices,
  });
  const delivery = createConfigurationDelivery({ ...deps, configuration });
  const providerEndpoints = createProviderEndpointCache(deps, signingSecrets);
  const onChange = (organizationId?: string) => {
    activeServices.clearCache(organizationId);
    configuration.clearCache(organizationId);
  };
  const onPublish = () => {
    providerEndpoints.clearCache();
    onChange();
  };
  const services = createServices(deps, {
    parameterValidator,
    signingSecrets,
    onPublish,
    onSecretRotation: providerEndpoints.clearCache,
    requireValidDefaults: createDefaultsValidator(parameterValidator, deps.valueRules ?? {}),
  });
  const packagesAndSubscriptions = createPackagesAndSubscriptions(deps);
  const secretCipher = createSecretCipher(deps.masterKey, 'activation');
  const providerCallCounter = createProviderCallCounter(deps);
  const handshake = createProviderHandshake(deps, {
    signingSecrets,
    secretCipher,
    onChange,
    onCall: providerCallCounter.record,
  });
  const parts = {
    services,
    parameterValidator,
    handshake,
    secretCipher,
    onChange,
  };
  const activations = createActivations(deps, parts);
  return {
    services,
    packagesAndSubscriptions,
    activations,
    configuration,
    isActive: activeServices.isActive,
    listActiveServices: activeServices.listActiveServices,
    findDevicesWithService: activeServices.findDevicesWithService,
    explainDeviceServices: activeServices.explainDeviceServices,
    findProviderEndpoint: providerEndpoints.find,
    providerCallCounter,
    register(app) {
      registerServiceRoutes(app, services);
      registerPackageAndSubscriptionRoutes(app, packagesAndSubscriptions);
      registerActivationRoutes(app, activations, activeServices);
      registerConfigurationRoutes(app, configuration);
      registerDeliveryRoutes(app, delivery);
      registerServiceStateRoutes(app, createServiceStateList(deps));
      registerProviderDashboardRoutes(app, createProviderDashboard(deps));
    },
  };
}

/** @example const configuration = createConfiguration(deps, { parameterValidator, activeServices }); */
function createConfiguration(
  deps: CatalogDeps,
  {
    parameterValidator,
    activeServices,
  }: { parameterValidator: ParameterValidator; activeServices: ActiveServices },
): Configuration {
  const queries = createPreparedQueries(deps.database, 'catalog');
  const releases = createReleaseCache(queries);
  const finder = createTargetFinder(deps.provisioning, queries, releases);
  const evaluator = createConfigurationEvaluator(parameterValidator, deps.valueRules ?? {});
  const secretCipher = createSecretCipher(deps.masterKey, 'configuration');
  const parts = {
    queries,
    clock: deps.clock,
    activeServices,
    releases,
    finder,
    evaluator,
    secretCipher,
  };
  const devices = createDeviceConfigurations(parts);
  const changes = createConfigurationChanges(deps, {
    ...parts,
    // Child organisations inherit these values, so the cache of every organisation is cleared.
    onChange: (organizationId, level) =>
      level === 'Organization' ? devices.clearCache() : devices.clearCache(organizationId),
  });
  return { ...devices, ...createConfigurationReads(parts), ...changes };
}
