// Changes the values of a level: submits values, removes them, or restores an older version.
import { type ActivationLevel, defined, type ServiceConfiguration } from '@switchyard/contract';
import { requireVersion } from '../../http/index.ts';
import { isoTime, type Queries } from '../../platform/index.ts';
import type { AuthoredScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import type { SecretCipher } from '../parameters/secret-encryption.ts';
import { splitSecrets, type ValuesAndSecrets } from '../parameters/split-secrets.ts';
import type { LevelValues, ParameterValues } from '../parameters/types.ts';
import { lockSubscription } from '../subscriptions/package-and-subscription-sql.ts';
import {
  type ConfigurationRecord,
  findConfigurationVersion,
  lockConfiguration,
  readConfigurationsOfEntity,
  writeConfigurationVersion,
} from './configuration-sql.ts';
import { toConfigurationAuditEntry, toConfigurationView } from './configuration-view.ts';
import { toLevelValues } from './device-configuration.ts';
import type { ConfigurationEvaluator } from './effective-configuration.ts';
import {
  type ConfigurationTarget,
  type FoundTarget,
  type TargetFinder,
  throwNotSubscribed,
} from './find-configuration-target.ts';
import {
  isSameContent,
  requireNoNewFaults,
  requireSizeWithinLimit,
  throwVersionNotFound,
} from './validate-values.ts';

export type ChangedConfiguration = {
  readonly view: ServiceConfiguration;
  readonly version: number;
};

export type ConfigurationChanges = {
  /** Replaces all values of the level; the level inherits omitted members. */
  submit(
    scope: AuthoredScope,
    target: ConfigurationTarget,
    values: ParameterValues,
    ifMatch?: string,
  ): Promise<ChangedConfiguration>;
  remove(scope: AuthoredScope, target: ConfigurationTarget, ifMatch?: string): Promise<void>;
  restore(
    scope: AuthoredScope,
    target: ConfigurationTarget,
    version: number,
    ifMatch?: string,
  ): Promise<ChangedConfiguration>;
};

type ChangeParts = {
  readonly finder: TargetFinder;
  readonly evaluator: ConfigurationEvaluator;
  readonly secretCipher: SecretCipher;
  onChange(organizationId: string, level: ActivationLevel): void;
};

type ConfigurationChange = {
  readonly action: 'updated' | 'removed' | 'restored';
  readonly restoredFrom?: number;
  /** Determines the new values of the level; undefined values remove everything. */
  decide(
    queries: Queries,
    row: ConfigurationRecord,
    current: LevelValues,
    foundTarget: FoundTarget,
  ): Promise<ValuesAndSecrets> | ValuesAndSecrets;
};

/** @example const { submit } = createConfigurationChanges(deps, parts); */
export function createConfigurationChanges(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'audit'>,
  parts: ChangeParts,
): ConfigurationChanges {
  const { database, clock } = deps;
  const { finder, evaluator, secretCipher, onChange } = parts;

  async function write(
    scope: AuthoredScope,
    target: ConfigurationTarget,
    ifMatch: string | undefined,
    change: ConfigurationChange,
  ): Promise<ChangedConfiguration> {
    const foundTarget = await finder.find(scope, target);
    const { entity, release } = foundTarget;
    const { organizationId } = scope;
    const { serviceId } = release;
    const view = await database.transaction(async (trx) => {
      if (!(await lockSubscription(trx, organizationId, serviceId))) throwNotSubscribed();
      const now = isoTime(clock.now());
      const row = await lockConfiguration(trx, { organizationId, serviceId, entity, now });
      requireVersion(ifMatch, row.version);
      const current = toLevelValues(secretCipher, row);
      const rows = await readConfigurationsOfEntity(trx, organizationId, entity, serviceId);
      const above = rows
        .filter(({ entityId }) => entityId !== entity.entityId)
        .map((each) => toLevelValues(secretCipher, each));
      const content = await change.decide(trx, row, current, foundTarget);
      const after: LevelValues = { ...current, ...content };
      const effective = evaluator.evaluate(release, [...above, after]);
      const isChanged = !isSameContent(current, after);
      const next = isChanged ? { ...after, version: row.version + 1 } : current;
      if (isChanged) {
        if (content.values !== undefined) {
          const before = evaluator.evaluate(release, [...above, current]);
          requireNoNewFaults(entity, evaluator.findLevelFaults(release, after), before, effective);
        }
        await writeAndAudit(trx, scope, { row, current, next, foundTarget, change, now });
      }
      return toConfigurationView(evaluator, release, entity, [...above, next], effective);
    });
    onChange(organizationId, entity.level);
    return { view, version: view.version };
  }

  type PendingChange = {
    readonly row: ConfigurationRecord;
    readonly current: LevelValues;
    readonly next: LevelValues;
    readonly foundTarget: FoundTarget;
    readonly change: ConfigurationChange;
    readonly now: string;
  };

  async function writeAndAudit(
    trx: Queries,
    scope: AuthoredScope,
    pendingChange: PendingChange,
  ): Promise<void> {
    const { row, current, next, change, now } = pendingChange;
    const { entity, release } = pendingChange.foundTarget;
    const view: ConfigurationRecord = {
      ...row,
      version: next.version,
      release: release.release,
      ownValues: next.values,
      secretsSealed: secretCipher.encrypt(row, next.secrets),
    };
    const { restoredFrom } = change;
    const author = scope.author.actor;
    const origin = defined({ restoredFrom });
    await writeConfigurationVersion(trx, view, { author, now, ...origin });
    const changedSecrets = Object.keys(next.secrets).filter(
      (pointer) => next.secrets[pointer] !== current.secrets[pointer],
    );
    const { merchantId } = entity;
    await deps.audit.record(trx, {
      organizationId: scope.organizationId,
      ...scope.author,
      action: `configuration.${change.action}`,
      entity: {
        type: 'configuration',
        id: entity.entityId,
        ...defined({ merchantId }),
      },
      ...defined({
        before:
          current.values === undefined
            ? undefined
            : toConfigurationAuditEntry(row, evaluator.hideSecrets(release, current)),
        after:
          next.values === undefined
            ? undefined
            : toConfigurationAuditEntry(view, evaluator.hideSecrets(release, next), changedSecrets),
      }),
    });
  }

  return {
    submit(scope, target, values, ifMatch) {
      requireSizeWithinLimit('/values', values);
      return write(scope, target, ifMatch, {
        action: 'updated',
        decide: (_run, _row, current, { release }) =>
          splitSecrets(release.schema, values, current.secrets),
      });
    },

    async remove(scope, target, ifMatch) {
      const noValues: ValuesAndSecrets = { values: undefined, secrets: {} };
      await write(scope, target, ifMatch, { action: 'removed', decide: () => noValues });
    },

    restore: (scope, target, version, ifMatch) =>
      write(scope, target, ifMatch, {
        action: 'restored',
        restoredFrom: version,
        async decide(queries, row, _current, { release }) {
          const { organizationId, entityId, serviceId } = row;
          const oldVersion = await findConfigurationVersion(
            queries,
            { organizationId, entityId, serviceId },
            version,
          );
          if (oldVersion === undefined) return throwVersionNotFound();
          const secrets = secretCipher.decrypt(oldVersion, oldVersion.secretsSealed);
          if (oldVersion.ownValues === undefined) return { values: undefined, secrets };
          // The release in force may mark a member as secret that was not secret in the old
          // version.
          return splitSecrets(release.schema, oldVersion.ownValues, secrets);
        },
      }),
  };
}
