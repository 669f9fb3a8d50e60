// Computes the effective values of an entity, the missing members, and the values that do not fit.
import type { FieldError } from '@switchyard/contract';
import { misfitsMax, missingIn, ownMisfits, secretsIn } from '../parameters/level-rules.ts';
import {
  isObject,
  leavesOf,
  mergeAll,
  type Source,
  sourceOf,
  step,
  stepsOf,
  valueAt,
  type WholeLevel,
  without,
  withSecrets,
} from '../parameters/merge-levels.ts';
import type { Parameters } from '../parameters/parameter-validator.ts';
import type { LevelValues, Misfit, Release, ValueRules, Values } from '../parameters/types.ts';

/** The values of a level as clients see them: secrets appear only as pointers. */
export type Shown = { readonly values: Values; readonly secrets: readonly string[] };

export type Effective = {
  /** The merged values, including the secrets. */
  readonly whole: Values;
  /** The required members that no level sets. */
  readonly missing: readonly string[];
  readonly misfits: readonly Misfit[];
};

export type Explained = {
  readonly values: Values;
  readonly sources: readonly Source[];
  readonly secrets: readonly Source[];
};

export type Judge = {
  /** Returns every fault in the values of one level, independent of the levels above it. */
  own(release: Release, level: LevelValues): readonly Misfit[];
  /** Merges the levels, and returns every fault: of the schema and of the service's own rules. */
  effective(release: Release, levels: readonly LevelValues[]): Effective;
  /** Returns the level that each value comes from, and lists secrets separately. */
  explain(release: Release, levels: readonly LevelValues[]): Explained;
  shown(release: Release, level: LevelValues): Shown;
};

const wholeOf = ({ level, entityId, values = {}, secrets }: LevelValues): WholeLevel => ({
  level,
  entityId,
  whole: withSecrets(values, secrets),
});

const defaultsOf = ({ serviceId, defaults }: Release): WholeLevel => ({
  level: 'Service',
  entityId: serviceId,
  whole: defaults,
});

const linesOf = (release: Release, levels: readonly LevelValues[]): WholeLevel[] => [
  defaultsOf(release),
  ...levels.map(wholeOf),
];

/**
 * For a pointer into a list, returns the pointer of the list, because a level sets a list as a
 * whole.
 */
function settingAt(values: Values, pointer: string): string {
  let at = '';
  for (const name of stepsOf(pointer)) {
    if (!isObject(valueAt(values, at))) break;
    at = `${at}${step(name)}`;
  }
  return at;
}

/** @example const judge = createJudge(parameters, {}); judge.effective(release, levels).whole; */
export function createJudge(parameters: Pick<Parameters, 'faultIn'>, rules: ValueRules): Judge {
  /**
   * The schema check finds one fault at a time, so each faulty setting is removed before the next.
   */
  function schemaFaults({ serviceId, release, relaxed }: Release, whole: Values): FieldError[] {
    const found: FieldError[] = [];
    let left = whole;
    while (relaxed !== undefined && found.length < misfitsMax) {
      const fault = parameters.faultIn(relaxed, `${serviceId}:${release}:values`, left);
      if (fault === undefined) break;
      found.push(fault);
      const setting = settingAt(left, fault.pointer);
      if (setting === '') break;
      left = without(left, new Set([setting]));
    }
    return found;
  }

  /** A domain may have the name of a member that every object has, such as `constructor`. */
  const ruleFaults = ({ domain }: Release, whole: Values): readonly FieldError[] =>
    (Object.hasOwn(rules, domain) ? rules[domain]?.(whole) : undefined) ?? [];

  return {
    own(release, level) {
      const { whole } = wholeOf(level);
      const unknown = ownMisfits(release.schema, whole, level.level);
      return [...unknown, ...schemaFaults(release, whole)];
    },

    effective(release, levels) {
      const lines = linesOf(release, levels);
      const whole = mergeAll(lines.map((line) => line.whole));
      const own = lines.flatMap(({ level, entityId, whole: values }) =>
        ownMisfits(release.schema, values, level).map((misfit) => ({ ...misfit, level, entityId })),
      );
      const merged = [...schemaFaults(release, whole), ...ruleFaults(release, whole)].map(
        (fault) => ({ ...fault, ...sourceOf(lines, settingAt(whole, fault.pointer)) }),
      );
      return {
        whole,
        missing: missingIn(release.schema, whole),
        misfits: [...own, ...merged],
      };
    },

    explain(release, levels) {
      const lines = linesOf(release, levels);
      const whole = mergeAll(lines.map((line) => line.whole));
      const sealed = new Set(levels.flatMap(({ secrets }) => Object.keys(secrets)));
      for (const [pointer] of secretsIn(release.schema, whole)) sealed.add(pointer);
      const sources = leavesOf(whole).flatMap(([pointer]): Source[] => {
        const source = sourceOf(lines, pointer);
        return source === undefined ? [] : [{ pointer, ...source }];
      });
      const isSealed = ({ pointer }: Source) => sealed.has(pointer);
      return {
        values: without(whole, sealed),
        sources: sources.filter((source) => !isSealed(source)),
        secrets: sources.filter(isSealed),
      };
    },

    shown(release, { values = {}, secrets }) {
      const sealed = new Set(Object.keys(secrets));
      for (const [pointer] of secretsIn(release.schema, values)) sealed.add(pointer);
      return { values: without(values, sealed), secrets: [...sealed].sort() };
    },
  };
}
