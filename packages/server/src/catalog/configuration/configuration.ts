// Assembles the configuration: the values that levels set, and the values that devices receive.

import type { Standing } from '../activations/active-services.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { runPrepared } from '../infrastructure/statement-runner.ts';
import type { Parameters } from '../parameters/parameter-validator.ts';
import { createSecretBox } from '../parameters/secret-encryption.ts';
import { createSubmissions, type Submissions } from './change-configuration.ts';
import { createForDevice, type ForDevice } from './device-configuration.ts';
import { createJudge } from './effective-configuration.ts';
import { createFinder } from './find-configuration-target.ts';
import { createReads, type Reads } from './read-configuration.ts';
import { createReleases } from './release-cache.ts';

export type Configuration = ForDevice & Reads & Submissions;

/** @example const configuration = createConfiguration(deps, { parameters, standing }); */
export function createConfiguration(
  deps: CatalogDeps,
  { parameters, standing }: { parameters: Parameters; standing: Standing },
): Configuration {
  const run = runPrepared(deps.database);
  const releases = createReleases(run);
  const finder = createFinder(deps.provisioning, run, releases);
  const judge = createJudge(parameters, deps.valueRules ?? {});
  const box = createSecretBox(deps.masterKey, 'configuration');
  const parts = { run, clock: deps.clock, standing, releases, finder, judge, box };
  const devices = createForDevice(parts);
  const submissions = createSubmissions(deps, {
    ...parts,
    // Child organisations inherit these values, so the cache of every organisation is cleared.
    onChange: (organizationId, level) =>
      level === 'Organization' ? devices.forget() : devices.forget(organizationId),
  });
  return { ...devices, ...createReads(parts), ...submissions };
}
