// Changes the values of a level: submits values, removes them, or restores an older version.
import { type ActivationLevel, defined, type ServiceConfiguration } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { requireVersion } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { By } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import { type Run, runIn } from '../infrastructure/statement-runner.ts';
import type { SecretBox } from '../parameters/secret-encryption.ts';
import { type Own, splitSecrets } from '../parameters/split-secrets.ts';
import type { LevelValues, Values } from '../parameters/types.ts';
import { holdSubscription } from '../subscriptions/package-and-subscription-sql.ts';
import {
  type ConfigurationRow,
  findVersion,
  lockConfiguration,
  readLine,
  writeVersion,
} from './configuration-sql.ts';
import { auditedConfiguration, configurationView } from './configuration-view.ts';
import { levelOf } from './device-configuration.ts';
import type { Judge } from './effective-configuration.ts';
import {
  type Finder,
  type Found,
  refuseUnsubscribed,
  type Target,
} from './find-configuration-target.ts';
import { demandFit, demandSize, isSame, refuseVersion } from './validate-level-values.ts';

export type Written = { readonly view: ServiceConfiguration; readonly version: number };

export type Submissions = {
  /** Replaces all values of the level; the level inherits omitted members. */
  submit(by: By, target: Target, values: Values, ifMatch?: string): Promise<Written>;
  remove(by: By, target: Target, ifMatch?: string): Promise<void>;
  restore(by: By, target: Target, version: number, ifMatch?: string): Promise<Written>;
};

type Parts = {
  readonly finder: Finder;
  readonly judge: Judge;
  readonly box: SecretBox;
  onChange(organizationId: string, level: ActivationLevel): void;
};

type Change = {
  readonly action: 'updated' | 'removed' | 'restored';
  readonly restoredFrom?: number;
  /** Determines the new values of the level; undefined values remove everything. */
  decide(run: Run, row: ConfigurationRow, standing: LevelValues, found: Found): Promise<Own> | Own;
};

/** @example const { submit } = createSubmissions(deps, parts); */
export function createSubmissions(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'audit'>,
  parts: Parts,
): Submissions {
  const { database, clock } = deps;
  const { finder, judge, box, onChange } = parts;

  async function write(
    by: By,
    target: Target,
    ifMatch: string | undefined,
    change: Change,
  ): Promise<Written> {
    const found = await finder.find(by, target);
    const { place, release } = found;
    const { organizationId } = by;
    const { serviceId } = release;
    const written = await database.transaction(async (trx) => {
      const run = runIn(trx);
      if (!(await holdSubscription(run, organizationId, serviceId))) refuseUnsubscribed();
      const now = isoTime(clock.now());
      const row = await lockConfiguration(run, { organizationId, serviceId, place, now });
      requireVersion(ifMatch, row.version);
      const standing = levelOf(box, row);
      const line = await readLine(run, organizationId, place, serviceId);
      const above = line
        .filter(({ entity_id }) => entity_id !== place.entityId)
        .map((each) => levelOf(box, each));
      const own = await change.decide(run, row, standing, found);
      const after: LevelValues = { ...standing, ...own };
      const judged = judge.effective(release, [...above, after]);
      const isChanged = !isSame(standing, after);
      const next = isChanged ? { ...after, version: row.version + 1 } : standing;
      if (isChanged) {
        if (own.values !== undefined) {
          const before = judge.effective(release, [...above, standing]);
          demandFit(place, judge.own(release, after), before, judged);
        }
        await keep(trx, by, { row, standing, next, found, change, now });
      }
      return configurationView(judge, release, place, [...above, next], judged);
    });
    onChange(organizationId, place.level);
    return { view: written, version: written.version };
  }

  type Step = {
    readonly row: ConfigurationRow;
    readonly standing: LevelValues;
    readonly next: LevelValues;
    readonly found: Found;
    readonly change: Change;
    readonly now: string;
  };

  async function keep(trx: Kysely<unknown>, by: By, step: Step): Promise<void> {
    const { row, standing, next, change, now } = step;
    const { place, release } = step.found;
    const written: ConfigurationRow = {
      ...row,
      version: next.version,
      release: release.release,
      own_values: next.values ?? null,
      secrets_sealed: box.close(row, next.secrets),
    };
    const { restoredFrom } = change;
    const author = by.author.actor;
    const more = defined({ restoredFrom });
    await writeVersion(runIn(trx), written, { author, now, ...more });
    const anew = Object.keys(next.secrets).filter(
      (pointer) => next.secrets[pointer] !== standing.secrets[pointer],
    );
    const { merchantId } = place;
    await deps.audit.record(trx, {
      organizationId: by.organizationId,
      ...by.author,
      action: `configuration.${change.action}`,
      entity: {
        type: 'configuration',
        id: place.entityId,
        ...defined({ merchantId }),
      },
      ...defined({
        before:
          standing.values === undefined
            ? undefined
            : auditedConfiguration(row, judge.shown(release, standing)),
        after:
          next.values === undefined
            ? undefined
            : auditedConfiguration(written, judge.shown(release, next), anew),
      }),
    });
  }

  return {
    submit(by, target, values, ifMatch) {
      demandSize(values);
      return write(by, target, ifMatch, {
        action: 'updated',
        decide: (_run, _row, standing, { release }) =>
          splitSecrets(release.schema, values, standing.secrets),
      });
    },

    async remove(by, target, ifMatch) {
      const nothing: Own = { values: undefined, secrets: {} };
      await write(by, target, ifMatch, { action: 'removed', decide: () => nothing });
    },

    restore: (by, target, version, ifMatch) =>
      write(by, target, ifMatch, {
        action: 'restored',
        restoredFrom: version,
        async decide(run, row, _standing, { release }) {
          const {
            organization_id: organizationId,
            entity_id: entityId,
            service_id: serviceId,
          } = row;
          const old = await findVersion(run, { organizationId, entityId, serviceId }, version);
          if (old === undefined) return refuseVersion();
          const secrets = box.open(old, old.secrets_sealed);
          if (old.own_values === null) return { values: undefined, secrets };
          // The release in force may mark a member as secret that was not secret in the old
          // version.
          return splitSecrets(release.schema, old.own_values, secrets);
        },
      }),
  };
}
