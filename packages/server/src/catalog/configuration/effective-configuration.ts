// Computes the effective values of an entity, the missing members, and the values that do not fit.
import { type FieldError, isObject } from '@switchyard/contract';
import {
  findLevelFaults,
  findMissingMembers,
  findSecrets,
  reportedFaultsMax,
} from '../parameters/level-rules.ts';
import {
  addSecrets,
  encodePointerStep,
  findSource,
  getValueAt,
  type LevelWithSecrets,
  listLeaves,
  mergeLevels,
  parsePointer,
  type ValueSource,
  withoutPointers,
} from '../parameters/merge-levels.ts';
import type { ParameterValidator } from '../parameters/parameter-validator.ts';
import type {
  LevelValues,
  ParameterValues,
  ReleaseParameters,
  ValueFault,
  ValueRules,
} from '../parameters/types.ts';

/** The values of a level as clients see them: secrets appear only as pointers. */
export type VisibleValues = {
  readonly values: ParameterValues;
  readonly secrets: readonly string[];
};

export type EffectiveConfiguration = {
  /** The merged values, including the secrets. */
  readonly values: ParameterValues;
  /** The required members that no level sets. */
  readonly missing: readonly string[];
  readonly faults: readonly ValueFault[];
};

export type ExplainedValues = {
  readonly values: ParameterValues;
  readonly sources: readonly ValueSource[];
  readonly secrets: readonly ValueSource[];
};

export type ConfigurationEvaluator = {
  /** Returns every fault in the values of one level, independent of the levels above it. */
  findLevelFaults(release: ReleaseParameters, level: LevelValues): readonly ValueFault[];
  /** Merges the levels, and returns every fault: of the schema and of the service's own rules. */
  evaluate(release: ReleaseParameters, levels: readonly LevelValues[]): EffectiveConfiguration;
  /** Returns the level that each value comes from, and lists secrets separately. */
  explainSources(release: ReleaseParameters, levels: readonly LevelValues[]): ExplainedValues;
  hideSecrets(release: ReleaseParameters, level: LevelValues): VisibleValues;
};

const toLevelWithSecrets = ({
  level,
  entityId,
  values = {},
  secrets,
}: LevelValues): LevelWithSecrets => ({
  level,
  entityId,
  allValues: addSecrets(values, secrets),
});

const toDefaultsLevel = ({ serviceId, defaults }: ReleaseParameters): LevelWithSecrets => ({
  level: 'Service',
  entityId: serviceId,
  allValues: defaults,
});

const withDefaults = (
  release: ReleaseParameters,
  levels: readonly LevelValues[],
): LevelWithSecrets[] => [toDefaultsLevel(release), ...levels.map(toLevelWithSecrets)];

/**
 * For a pointer into a list, returns the pointer of the list, because a level sets a list as a
 * whole.
 */
function findSettingPointer(values: ParameterValues, pointer: string): string {
  let at = '';
  for (const name of parsePointer(pointer)) {
    if (!isObject(getValueAt(values, at))) break;
    at = `${at}${encodePointerStep(name)}`;
  }
  return at;
}

/** @example const evaluator = createConfigurationEvaluator(parameterValidator, {}); evaluator.evaluate(release, levels).values; */
export function createConfigurationEvaluator(
  parameterValidator: Pick<ParameterValidator, 'findFault'>,
  rules: ValueRules,
): ConfigurationEvaluator {
  /**
   * The schema check finds one fault at a time, so each faulty setting is removed before the next.
   */
  function findSchemaFaults(
    { serviceId, release, relaxedSchema }: ReleaseParameters,
    values: ParameterValues,
  ): FieldError[] {
    const fieldErrors: FieldError[] = [];
    let remaining = values;
    while (relaxedSchema !== undefined && fieldErrors.length < reportedFaultsMax) {
      const fault = parameterValidator.findFault(
        relaxedSchema,
        `${serviceId}:${release}:values`,
        remaining,
      );
      if (fault === undefined) break;
      fieldErrors.push(fault);
      const setting = findSettingPointer(remaining, fault.pointer);
      if (setting === '') break;
      remaining = withoutPointers(remaining, new Set([setting]));
    }
    return fieldErrors;
  }

  /** A domain may have the name of a member that every object has, such as `constructor`. */
  const findRuleFaults = (
    { domain }: ReleaseParameters,
    values: ParameterValues,
  ): readonly FieldError[] =>
    (Object.hasOwn(rules, domain) ? rules[domain]?.(values) : undefined) ?? [];

  return {
    findLevelFaults(release, level) {
      const { allValues: values } = toLevelWithSecrets(level);
      const memberFaults = findLevelFaults(release.schema, values, level.level);
      return [...memberFaults, ...findSchemaFaults(release, values)];
    },

    evaluate(release, levels) {
      const allLevels = withDefaults(release, levels);
      const values = mergeLevels(allLevels.map((each) => each.allValues));
      const levelFaults = allLevels.flatMap(({ level, entityId, allValues: values }) =>
        findLevelFaults(release.schema, values, level).map((fault) => ({
          ...fault,
          level,
          entityId,
        })),
      );
      const mergedFaults = [
        ...findSchemaFaults(release, values),
        ...findRuleFaults(release, values),
      ].map((fault) => ({
        ...fault,
        ...findSource(allLevels, findSettingPointer(values, fault.pointer)),
      }));
      return {
        values,
        missing: findMissingMembers(release.schema, values),
        faults: [...levelFaults, ...mergedFaults],
      };
    },

    explainSources(release, levels) {
      const allLevels = withDefaults(release, levels);
      const values = mergeLevels(allLevels.map((each) => each.allValues));
      const secretPointers = new Set(levels.flatMap(({ secrets }) => Object.keys(secrets)));
      for (const [pointer] of findSecrets(release.schema, values)) secretPointers.add(pointer);
      const sources = listLeaves(values).flatMap(([pointer]): ValueSource[] => {
        const source = findSource(allLevels, pointer);
        return source === undefined ? [] : [{ pointer, ...source }];
      });
      const isSecret = ({ pointer }: ValueSource) => secretPointers.has(pointer);
      return {
        values: withoutPointers(values, secretPointers),
        sources: sources.filter((source) => !isSecret(source)),
        secrets: sources.filter(isSecret),
      };
    },

    hideSecrets(release, { values = {}, secrets }) {
      const secretPointers = new Set(Object.keys(secrets));
      for (const [pointer] of findSecrets(release.schema, values)) secretPointers.add(pointer);
      return {
        values: withoutPointers(values, secretPointers),
        secrets: [...secretPointers].sort(),
      };
    },
  };
}
