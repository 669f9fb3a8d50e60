// Caches the configuration part of releases, which never change.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions } from '../../platform/index.ts';
import type { Run } from '../infrastructure/statement-runner.ts';
import { relaxed } from '../parameters/level-rules.ts';
import type { Release, Values } from '../parameters/types.ts';
import type { Declaration } from '../services/service-sql.ts';

const rememberedMax = 500;

/** Identifies a release. */
export type ReleaseName = { readonly serviceId: string; readonly release: number };

export const releaseOf = (
  { serviceId, release }: ReleaseName,
  declaration: Declaration,
): Release => {
  const schema = declaration['parameterSchema'] as Values | undefined;
  return {
    serviceId,
    release,
    name: declaration.name,
    domain: declaration.domain,
    ...defined({ schema, relaxed: schema === undefined ? undefined : relaxed(schema) }),
    defaults: (declaration['defaults'] ?? {}) as Values,
  };
};

const keyOf = ({ serviceId, release }: ReleaseName) => `${serviceId}:${release}`;

const text = `SELECT r.service_id, r.release, r.declaration - 'logo' AS declaration
  FROM unnest($1::uuid[], $2::int[]) AS wanted (service_id, release)
  JOIN catalogue_releases r ON r.service_id = wanted.service_id AND r.release = wanted.release`;

export type Releases = (names: readonly ReleaseName[]) => Promise<readonly Release[]>;

/** @example const releases = createReleases(run); const [release] = await releases([{ serviceId, release: 2 }]); */
export function createReleases(run: Run): Releases {
  const remembered = new LRUCache<string, Release>(lruCacheOptions(rememberedMax));
  return async (names) => {
    const missing = names.filter((name) => !remembered.has(keyOf(name)));
    const loaded = new Map<string, Release>();
    if (missing.length > 0) {
      const keys = [
        missing.map(({ serviceId }) => serviceId),
        missing.map(({ release }) => release),
      ];
      for (const row of await run(text, keys)) {
        const name = { serviceId: String(row['service_id']), release: Number(row['release']) };
        const release = releaseOf(name, row['declaration'] as Declaration);
        loaded.set(keyOf(name), release);
        remembered.set(keyOf(name), release);
      }
    }
    return names.map((name) => {
      const release = loaded.get(keyOf(name)) ?? remembered.get(keyOf(name));
      if (release === undefined) throw new Error('a release that is in force is not kept');
      return release;
    });
  };
}
