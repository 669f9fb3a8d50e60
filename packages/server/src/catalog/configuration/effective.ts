// What the levels above a place come to: merged values, what is missing, and what does not fit.
import type { FieldError } from '@switchyard/contract';
import type { Parameters } from '../parameters.ts';
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
} from './merge.ts';
import { misfitsMax, missingIn, ownMisfits, secretsIn } from './own-rules.ts';
import type { LevelValues, Misfit, Release, ValueRules, Values } from './types.ts';

/** A level as it is shown: secrets by their pointers alone. */
export type Shown = { readonly values: Values; readonly secrets: readonly string[] };

export type Effective = {
  /** With secrets, in their places. */
  readonly whole: Values;
  /** Required, and set by nobody. */
  readonly missing: readonly string[];
  readonly misfits: readonly Misfit[];
};

export type Explained = {
  readonly values: Values;
  readonly sources: readonly Source[];
  readonly secrets: readonly Source[];
};

export type Judge = {
  /** Every fault of what a level sets, whatever stands above it. */
  own(release: Release, level: LevelValues): readonly Misfit[];
  /** Every fault of merged values: the schema's, and of the service's own rules. */
  effective(release: Release, levels: readonly LevelValues[]): Effective;
  /** Where the values come from; secrets are told apart. */
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

/** Of a list, the list: it is set as one. */
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
  /** What fault after fault is found, when each that was found is set aside. */
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

  /** A domain may have any name, such as one of those that every object has. */
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
