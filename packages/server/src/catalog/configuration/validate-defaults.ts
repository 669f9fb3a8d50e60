// Checks the defaults that a provider declares with the schema of its parameters.
import type { ServiceInput } from '@switchyard/contract';
import { findSecrets } from '../parameters/level-rules.ts';
import { type ParameterValidator, throwFieldProblems } from '../parameters/parameter-validator.ts';
import type { ValueRules } from '../parameters/types.ts';
import { createConfigurationEvaluator } from './effective-configuration.ts';
import { toReleaseParameters } from './release-cache.ts';
import { configurationMaxBytes } from './validate-level-values.ts';

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
    if (Buffer.byteLength(JSON.stringify(defaults)) > configurationMaxBytes) {
      const detail = `is longer than ${configurationMaxBytes} bytes`;
      throwFieldProblems([{ pointer: '/defaults', code: 'field_invalid', detail }]);
    }
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
