// Converts configurations into API responses and audit entries, never with a secret.
import {
  type ConfigurationVersion,
  defined,
  type ServiceConfiguration,
} from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { reportedFaultsMax } from '../parameters/level-rules.ts';
import type { LevelReference, LevelValues, ReleaseParameters } from '../parameters/types.ts';
import type { ConfigurationRecord, ConfigurationVersionRecord } from './configuration-sql.ts';
import type {
  ConfigurationEvaluator,
  EffectiveConfiguration,
  VisibleValues,
} from './effective-configuration.ts';

const toLevelView = ({ level, entityId, version, values }: LevelValues) => ({
  level,
  entityId,
  version,
  isSet: values !== undefined,
});

const copyValues = ({ values, secrets }: VisibleValues) => ({
  values: { ...values },
  secrets: [...secrets],
});

/** `levels` begins at the top; the entity's own level comes last, if it ever set a value. */
export function toConfigurationView(
  evaluator: ConfigurationEvaluator,
  release: ReleaseParameters,
  entity: LevelReference,
  levels: readonly LevelValues[],
  effective: EffectiveConfiguration,
): ServiceConfiguration {
  const ownLevel = levels.find(
    ({ level, entityId }) => level === entity.level && entityId === entity.entityId,
  );
  const { level, entityId } = entity;
  const { values, sources, secrets } = evaluator.explainSources(release, levels);
  return {
    serviceId: release.serviceId,
    name: release.name,
    release: release.release,
    level,
    entityId,
    version: ownLevel?.version ?? 0,
    isSet: ownLevel?.values !== undefined,
    ...(ownLevel === undefined
      ? { values: {}, secrets: [] }
      : copyValues(evaluator.hideSecrets(release, ownLevel))),
    effective: {
      values: { ...values },
      sources: [...sources],
      secrets: [...secrets],
    },
    levels: levels.map(toLevelView),
    missing: [...effective.missing],
    invalid: effective.faults.slice(0, reportedFaultsMax),
  };
}

export function toVersionView(
  row: ConfigurationVersionRecord,
  current: number,
  visibleValues?: VisibleValues,
): ConfigurationVersion {
  return {
    version: row.version,
    release: row.release,
    isSet: row.ownValues !== undefined,
    isCurrent: row.version === current,
    ...(visibleValues === undefined ? {} : copyValues(visibleValues)),
    ...defined({ restoredFrom: row.restoredFrom }),
    author: row.author,
    createdAt: isoTime(row.createdAt),
  };
}

/** The audit keeps the pointers of secrets, and which of them changed, but not their values. */
export const toConfigurationAuditEntry = (
  row: Pick<ConfigurationRecord, 'serviceId' | 'level' | 'version'>,
  { values, secrets }: VisibleValues,
  changed: readonly string[] = [],
): object => ({
  serviceId: row.serviceId,
  level: row.level,
  version: row.version,
  values,
  ...(secrets.length === 0 ? {} : { sealed: secrets }),
  ...(changed.length === 0 ? {} : { sealedAnew: changed }),
});
