// Converts rows of configurations into API responses and audit entries, never with a secret.
import type { ConfigurationVersion, ServiceConfiguration } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { misfitsMax } from '../parameters/level-rules.ts';
import type { LevelRef, LevelValues, Release } from '../parameters/types.ts';
import type { ConfigurationRow, VersionRow } from './configuration-sql.ts';
import type { Effective, Judge, Shown } from './effective-configuration.ts';

const timeOf = (at: Date) => isoTime(at.getTime());

const shownLevel = ({ level, entityId, version, values }: LevelValues) => ({
  level,
  entityId,
  version,
  isSet: values !== undefined,
});

const copied = ({ values, secrets }: Shown) => ({ values: { ...values }, secrets: [...secrets] });

/** `levels` begins at the top; the entity's own level comes last, if it ever set a value. */
export function configurationView(
  judge: Judge,
  release: Release,
  place: LevelRef,
  levels: readonly LevelValues[],
  judged: Effective,
): ServiceConfiguration {
  const own = levels.find(
    ({ level, entityId }) => level === place.level && entityId === place.entityId,
  );
  const { level, entityId } = place;
  const { values, sources, secrets } = judge.explain(release, levels);
  return {
    serviceId: release.serviceId,
    name: release.name,
    release: release.release,
    level,
    entityId,
    version: own?.version ?? 0,
    isSet: own?.values !== undefined,
    ...(own === undefined ? { values: {}, secrets: [] } : copied(judge.shown(release, own))),
    effective: {
      values: { ...values },
      sources: [...sources],
      secrets: [...secrets],
    },
    levels: levels.map(shownLevel),
    missing: [...judged.missing],
    invalid: judged.misfits.slice(0, misfitsMax),
  };
}

export function versionView(row: VersionRow, current: number, shown?: Shown): ConfigurationVersion {
  return {
    version: row.version,
    release: row.release,
    isSet: row.own_values !== null,
    isCurrent: row.version === current,
    ...(shown === undefined ? {} : copied(shown)),
    ...(row.restored_from === null ? {} : { restoredFrom: row.restored_from }),
    author: row.author,
    createdAt: timeOf(row.created_at),
  };
}

/** The audit keeps the pointers of secrets, and which of them changed, but not their values. */
export const auditedConfiguration = (
  row: Pick<ConfigurationRow, 'service_id' | 'level' | 'version'>,
  { values, secrets }: Shown,
  changed: readonly string[] = [],
): object => ({
  serviceId: row.service_id,
  level: row.level,
  version: row.version,
  values,
  ...(secrets.length === 0 ? {} : { sealed: secrets }),
  ...(changed.length === 0 ? {} : { sealedAnew: changed }),
});
