// Refuses values that a level may not set, and defaults that a provider may not declare.
import { isDeepStrictEqual } from 'node:util';
import { type ServiceInput, throwProblem } from '@switchyard/contract';
import { findSecrets, reportedFaultsMax } from '../parameters/level-rules.ts';
import {
  type ParameterValidator,
  parametersMaxBytes,
  throwFieldProblems,
} from '../parameters/parameter-validator.ts';
import type { ValuesAndSecrets } from '../parameters/split-secrets.ts';
import type {
  LevelReference,
  ParameterValues,
  ValueFault,
  ValueRules,
} from '../parameters/types.ts';
import {
  createConfigurationEvaluator,
  type EffectiveConfiguration,
} from './effective-configuration.ts';
import { toReleaseParameters } from './release-cache.ts';

/** Certificates and keys of schemes are larger than the parameters of an activation. */
const configurationMaxBytes = 4 * parametersMaxBytes;

export function requireSizeWithinLimit(pointer: string, values: ParameterValues): void {
  if (Buffer.byteLength(JSON.stringify(values)) <= configurationMaxBytes) return;
  const detail = `is longer than ${configurationMaxBytes} bytes`;
  throwFieldProblems([{ pointer, code: 'field_invalid', detail }]);
}

export const isSameContent = (one: ValuesAndSecrets, other: ValuesAndSecrets): boolean =>
  isDeepStrictEqual([one.values, one.secrets], [other.values, other.secrets]);

const faultKey = ({ pointer, code, detail }: ValueFault) => JSON.stringify([pointer, code, detail]);

/**
 * Refuses the faults that this change causes, but not those that existed at other levels before. A
 * missing member is refused only at a device, because a lower level may still set it.
 */
export function requireNoNewFaults(
  { level, entityId }: LevelReference,
  levelFaults: readonly ValueFault[],
  before: EffectiveConfiguration,
  after: EffectiveConfiguration,
): void {
  const knownFaults = new Set(before.faults.map(faultKey));
  const faults = after.faults.filter(
    (fault) =>
      (fault.level === level && fault.entityId === entityId) || !knownFaults.has(faultKey(fault)),
  );
  const missingFaults =
    level === 'LogicalDevice'
      ? after.missing.map(
          (pointer) => ({ pointer, code: 'field_required', detail: 'is set at no level' }) as const,
        )
      : [];
  const allFaults = [...levelFaults, ...faults, ...missingFaults];
  if (allFaults.length === 0) return;
  const byPointer = new Map(allFaults.map((each) => [each.pointer, each]));
  throwFieldProblems(
    [...byPointer.values()]
      .slice(0, reportedFaultsMax)
      .map(({ pointer, code, detail }) => ({ pointer: `/values${pointer}`, code, detail })),
  );
}

export function throwVersionNotFound(): never {
  return throwProblem('resource_not_found', 'The configuration has no version with this number.');
}

/** A draft has no name yet, so its compiled schema is not cached. */
const draftRelease = { serviceId: '', release: 0 };

/** @example const requireValidDefaults = createDefaultsValidator(parameterValidator, rules); requireValidDefaults(input); */
export function createDefaultsValidator(parameterValidator: ParameterValidator, rules: ValueRules) {
  const { findFault } = parameterValidator;
  const evaluator = createConfigurationEvaluator(
    { findFault: (schema, _name, values) => findFault(schema, undefined, values) },
    rules,
  );
  return (input: ServiceInput): void => {
    const { defaults } = input;
    if (defaults === undefined) return;
    requireSizeWithinLimit('/defaults', defaults);
    const release = toReleaseParameters(draftRelease, input);
    // A missing member is no fault, because a lower level may set it.
    const faults = evaluator.evaluate(release, []).faults;
    const secrets = findSecrets(release.schema, defaults).map(([pointer]) => ({
      pointer,
      code: 'field_invalid',
      detail: 'is a secret, and every organisation can read defaults',
    }));
    const allFaults = [...faults, ...secrets].map(({ pointer, code, detail }) => ({
      pointer: `/defaults${pointer}`,
      code,
      detail,
    }));
    if (allFaults.length > 0) throwFieldProblems(allFaults);
  };
}
