// Assembles the configuration: the values that levels set, and the values that devices receive.
import type { CatalogDeps } from '../deps.ts';
import type { Parameters } from '../parameters.ts';
import { createSecretBox } from '../secret-box.ts';
import { runPrepared } from '../sql.ts';
import type { Standing } from '../standing.ts';
import { createJudge } from './effective.ts';
import { createFinder } from './find.ts';
import { createForDevice, type ForDevice } from './for-device.ts';
import { createReads, type Reads } from './read.ts';
import { createReleases } from './releases.ts';
import { createSubmissions, type Submissions } from './submit.ts';

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
