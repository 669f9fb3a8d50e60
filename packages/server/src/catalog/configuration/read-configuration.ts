// Reads the configuration of an entity, its versions, and the services that can be configured.
import {
  type ConfigurableService,
  type ConfigurationVersion,
  defined,
  type ServiceConfiguration,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import { isoTime, type Queries } from '../../platform/index.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import type { SecretCipher } from '../parameters/secret-encryption.ts';
import type { LevelReference, ReleaseParameters } from '../parameters/types.ts';
import {
  type ConfigurationVersionRecord,
  findConfigurationVersion,
  listConfigurableServices,
  listConfigurationVersions,
  readConfigurationsOfEntity,
} from './configuration-sql.ts';
import { toConfigurationView, toVersionView } from './configuration-view.ts';
import { toLevelValues } from './device-configuration.ts';
import type { ConfigurationEvaluator } from './effective-configuration.ts';
import type {
  ConfigurationTarget,
  EntityTarget,
  TargetFinder,
} from './find-configuration-target.ts';
import { throwVersionNotFound } from './validate-values.ts';

export type ConfigurationReads = {
  listServices(
    scope: CallerScope,
    target: EntityTarget,
    page: PageRequest,
  ): Promise<FoundPage<ConfigurableService>>;
  getConfiguration(scope: CallerScope, target: ConfigurationTarget): Promise<ServiceConfiguration>;
  listVersions(
    scope: CallerScope,
    target: ConfigurationTarget,
    page: PageRequest,
  ): Promise<FoundPage<ConfigurationVersion>>;
  getVersion(
    scope: CallerScope,
    target: ConfigurationTarget,
    version: number,
  ): Promise<ConfigurationVersion>;
};

type ReadParts = {
  readonly queries: Queries;
  readonly finder: TargetFinder;
  readonly evaluator: ConfigurationEvaluator;
  readonly secretCipher: SecretCipher;
};

/** @example const { getConfiguration } = createConfigurationReads(parts); */
export function createConfigurationReads({
  queries,
  finder,
  evaluator,
  secretCipher,
}: ReadParts): ConfigurationReads {
  const toVisibleValues = (
    row: ConfigurationVersionRecord,
    release: ReleaseParameters,
    entity: LevelReference,
  ) =>
    evaluator.hideSecrets(release, {
      level: entity.level,
      entityId: entity.entityId,
      version: row.version,
      values: row.ownValues,
      secrets: secretCipher.decrypt(row, row.secretsSealed),
    });

  const configurationKey = (
    scope: CallerScope,
    entity: LevelReference,
    release: ReleaseParameters,
  ) => ({
    organizationId: scope.organizationId,
    entityId: entity.entityId,
    serviceId: release.serviceId,
  });

  async function readCurrentVersion(
    scope: CallerScope,
    entity: LevelReference,
    release: ReleaseParameters,
  ): Promise<number> {
    const [newest] = await listConfigurationVersions(
      queries,
      configurationKey(scope, entity, release),
      { limit: 1 },
    );
    return newest?.version ?? 0;
  }

  return {
    async listServices(scope, target, page) {
      const { entityId } = await finder.findEntity(scope, target);
      return readPage(
        page,
        (read) => listConfigurableServices(queries, scope.organizationId, entityId, read),
        ({ serviceId }) => serviceId,
        ({ updatedAt, ...service }) => ({
          ...service,
          ...defined({
            updatedAt:
              service.version === 0 || updatedAt === undefined ? undefined : isoTime(updatedAt),
          }),
        }),
      );
    },

    async getConfiguration(scope, target) {
      const { entity, release } = await finder.find(scope, target);
      const rows = await readConfigurationsOfEntity(
        queries,
        scope.organizationId,
        entity,
        release.serviceId,
      );
      const levels = rows.map((row) => toLevelValues(secretCipher, row));
      const effective = evaluator.evaluate(release, levels);
      return toConfigurationView(evaluator, release, entity, levels, effective);
    },

    async listVersions(scope, target, page) {
      const { entity, release } = await finder.find(scope, target);
      const current = await readCurrentVersion(scope, entity, release);
      return readPage(
        page,
        (read) =>
          listConfigurationVersions(queries, configurationKey(scope, entity, release), read),
        ({ version }) => String(version),
        (row) => toVersionView(row, current),
      );
    },

    async getVersion(scope, target, version) {
      const { entity, release } = await finder.find(scope, target);
      const [row, current] = await Promise.all([
        findConfigurationVersion(queries, configurationKey(scope, entity, release), version),
        readCurrentVersion(scope, entity, release),
      ]);
      if (row === undefined) return throwVersionNotFound();
      return toVersionView(row, current, toVisibleValues(row, release, entity));
    },
  };
}
