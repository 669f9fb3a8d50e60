// Reads the configuration of an entity, its versions, and the services that can be configured.
import type {
  ConfigurableService,
  ConfigurationVersion,
  ServiceConfiguration,
} from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { Scope } from '../infrastructure/caller-scope.ts';
import type { Run } from '../infrastructure/statement-runner.ts';
import type { SecretBox } from '../parameters/secret-encryption.ts';
import type { LevelRef, Release } from '../parameters/types.ts';
import {
  findVersion,
  listConfigurable,
  listVersions,
  readLine,
  type VersionRow,
} from './configuration-sql.ts';
import { configurationView, versionView } from './configuration-view.ts';
import { levelOf } from './device-configuration.ts';
import type { Judge } from './effective-configuration.ts';
import type { EntityTarget, Finder, Target } from './find-configuration-target.ts';
import { refuseVersion } from './validate-level-values.ts';

export type Reads = {
  services(
    scope: Scope,
    target: EntityTarget,
    page: PageRequest,
  ): Promise<FoundPage<ConfigurableService>>;
  get(scope: Scope, target: Target): Promise<ServiceConfiguration>;
  versions(
    scope: Scope,
    target: Target,
    page: PageRequest,
  ): Promise<FoundPage<ConfigurationVersion>>;
  version(scope: Scope, target: Target, version: number): Promise<ConfigurationVersion>;
};

type Parts = {
  readonly run: Run;
  readonly finder: Finder;
  readonly judge: Judge;
  readonly box: SecretBox;
};

/** @example const { get } = createReads(parts); */
export function createReads({ run, finder, judge, box }: Parts): Reads {
  const shownOf = (row: VersionRow, release: Release, place: LevelRef) =>
    judge.shown(release, {
      level: place.level,
      entityId: place.entityId,
      version: row.version,
      values: row.own_values ?? undefined,
      secrets: box.open(row, row.secrets_sealed),
    });

  const keyOf = (scope: Scope, place: LevelRef, release: Release) => ({
    organizationId: scope.organizationId,
    entityId: place.entityId,
    serviceId: release.serviceId,
  });

  async function currentOf(scope: Scope, place: LevelRef, release: Release): Promise<number> {
    const [newest] = await listVersions(run, keyOf(scope, place, release), { limit: 1 });
    return newest?.version ?? 0;
  }

  return {
    async services(scope, target, page) {
      const { entityId } = await finder.place(scope, target);
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listConfigurable(run, scope.organizationId, entityId, read);
      const shown = rows.slice(0, page.limit);
      const items = shown.map((row) => ({
        serviceId: row.service_id,
        name: row.name,
        domain: row.domain,
        release: row.release,
        version: row.version,
        isSet: row.is_set,
        ...(row.version === 0 || row.updated_at === null
          ? {}
          : { updatedAt: isoTime(row.updated_at.getTime()) }),
      }));
      return { items, next: rows.length > page.limit ? shown.at(-1)?.service_id : undefined };
    },

    async get(scope, target) {
      const { place, release } = await finder.find(scope, target);
      const rows = await readLine(run, scope.organizationId, place, release.serviceId);
      const levels = rows.map((row) => levelOf(box, row));
      const judged = judge.effective(release, levels);
      return configurationView(judge, release, place, levels, judged);
    },

    async versions(scope, target, page) {
      const { place, release } = await finder.find(scope, target);
      const read = { ...page, limit: page.limit + 1 };
      const [rows, current] = await Promise.all([
        listVersions(run, keyOf(scope, place, release), read),
        currentOf(scope, place, release),
      ]);
      const shown = rows.slice(0, page.limit);
      const last = rows.length > page.limit ? shown.at(-1) : undefined;
      const next = last === undefined ? undefined : String(last.version);
      return { items: shown.map((row) => versionView(row, current)), next };
    },

    async version(scope, target, version) {
      const { place, release } = await finder.find(scope, target);
      const [row, current] = await Promise.all([
        findVersion(run, keyOf(scope, place, release), version),
        currentOf(scope, place, release),
      ]);
      if (row === undefined) return refuseVersion();
      return versionView(row, current, shownOf(row, release, place));
    },
  };
}
