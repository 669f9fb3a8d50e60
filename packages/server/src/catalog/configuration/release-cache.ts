// Caches the configuration part of releases, which never change.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { lruCacheOptions, type Queries } from '../../platform/index.ts';
import { relaxSchema } from '../parameters/level-rules.ts';
import type { ParameterValues, ReleaseParameters } from '../parameters/types.ts';
import type { ServiceDeclaration } from '../services/service-sql.ts';

const cachedReleasesMax = 500;

/** Identifies a release. */
export type ReleaseId = { readonly serviceId: string; readonly release: number };

export const toReleaseParameters = (
  { serviceId, release }: ReleaseId,
  declaration: ServiceDeclaration,
): ReleaseParameters => {
  const schema = declaration['parameterSchema'] as ParameterValues | undefined;
  return {
    serviceId,
    release,
    name: declaration.name,
    domain: declaration.domain,
    ...defined({ schema, relaxedSchema: schema === undefined ? undefined : relaxSchema(schema) }),
    defaults: (declaration['defaults'] ?? {}) as ParameterValues,
  };
};

const cacheKey = ({ serviceId, release }: ReleaseId) => `${serviceId}:${release}`;

const releasesSql = `SELECT r.service_id, r.release, r.declaration - 'logo' AS declaration
  FROM unnest($1::uuid[], $2::int[]) AS wanted (service_id, release)
  JOIN catalogue_releases r ON r.service_id = wanted.service_id AND r.release = wanted.release`;

export type ReadReleases = (
  releaseIds: readonly ReleaseId[],
) => Promise<readonly ReleaseParameters[]>;

/** @example const releases = createReleaseCache(run); const [release] = await releases([{ serviceId, release: 2 }]); */
export function createReleaseCache(queries: Queries): ReadReleases {
  const cache = new LRUCache<string, ReleaseParameters>(lruCacheOptions(cachedReleasesMax));
  return async (releaseIds) => {
    const missing = releaseIds.filter((releaseId) => !cache.has(cacheKey(releaseId)));
    const loaded = new Map<string, ReleaseParameters>();
    if (missing.length > 0) {
      const keys = [
        missing.map(({ serviceId }) => serviceId),
        missing.map(({ release }) => release),
      ];
      for (const row of await queries.query(releasesSql, keys)) {
        const releaseId = { serviceId: String(row['service_id']), release: Number(row['release']) };
        const release = toReleaseParameters(releaseId, row['declaration'] as ServiceDeclaration);
        loaded.set(cacheKey(releaseId), release);
        cache.set(cacheKey(releaseId), release);
      }
    }
    return releaseIds.map((releaseId) => {
      const release = loaded.get(cacheKey(releaseId)) ?? cache.get(cacheKey(releaseId));
      if (release === undefined) throw new Error('the release in force is not stored');
      return release;
    });
  };
}
