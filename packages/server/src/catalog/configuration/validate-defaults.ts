// Checks the defaults that a provider declares with the schema of its parameters.
import type { ServiceInput } from '@switchyard/contract';
import { secretsIn } from '../parameters/level-rules.ts';
import { type Parameters, refuseFields } from '../parameters/parameter-validator.ts';
import type { ValueRules } from '../parameters/types.ts';
import { createJudge } from './effective-configuration.ts';
import { releaseOf } from './release-cache.ts';
import { configurationLimitBytes } from './validate-level-values.ts';

/** A draft has no name yet, so its compiled schema is not cached. */
const draft = { serviceId: '', release: 0 };

/** @example const demandDefaults = createDefaultsCheck(parameters, rules); demandDefaults(input); */
export function createDefaultsCheck(parameters: Parameters, rules: ValueRules) {
  const { faultIn } = parameters;
  const judge = createJudge(
    { faultIn: (schema, _name, values) => faultIn(schema, undefined, values) },
    rules,
  );
  return (input: ServiceInput): void => {
    const { defaults } = input;
    if (defaults === undefined) return;
    if (Buffer.byteLength(JSON.stringify(defaults)) > configurationLimitBytes) {
      const detail = `is longer than ${configurationLimitBytes} bytes`;
      refuseFields([{ pointer: '/defaults', code: 'field_invalid', detail }]);
    }
    const release = releaseOf(draft, input);
    // A missing member is no fault, because a lower level may set it.
    const faults = judge.effective(release, []).misfits;
    const secrets = secretsIn(release.schema, defaults).map(([pointer]) => ({
      pointer,
      code: 'field_invalid',
      detail: 'is a secret, and defaults are everybody’s to read',
    }));
    const all = [...faults, ...secrets].map(({ pointer, code, detail }) => ({
      pointer: `/defaults${pointer}`,
      code,
      detail,
    }));
    if (all.length > 0) refuseFields(all);
  };
}
