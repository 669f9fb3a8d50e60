// Assembles the configuration: the values that levels set, and the values that devices receive.

import { createPreparedQueries } from '../../platform/index.ts';
import type { ActiveServices } from '../activations/active-services.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import type { ParameterValidator } from '../parameters/parameter-validator.ts';
import { createSecretCipher } from '../parameters/secret-encryption.ts';
import { type ConfigurationChanges, createConfigurationChanges } from './change-configuration.ts';
import { createDeviceConfigurations, type DeviceConfigurations } from './device-configuration.ts';
import { createConfigurationEvaluator } from './effective-configuration.ts';
import { createTargetFinder } from './find-configuration-target.ts';
import { type ConfigurationReads, createConfigurationReads } from './read-configuration.ts';
import { createReleaseCache } from './release-cache.ts';

export type Configuration = DeviceConfigurations & ConfigurationReads & ConfigurationChanges;

/** @example const configuration = createConfiguration(deps, { parameterValidator, activeServices }); */
export function createConfiguration(
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
