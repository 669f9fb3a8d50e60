// Refuses values that a level may not set.
import { isDeepStrictEqual } from 'node:util';
import { throwProblem } from '@switchyard/contract';
import { reportedFaultsMax } from '../parameters/level-rules.ts';
import { parametersMaxBytes, throwFieldProblems } from '../parameters/parameter-validator.ts';
import type { ValuesAndSecrets } from '../parameters/split-secrets.ts';
import type { LevelReference, ParameterValues, ValueFault } from '../parameters/types.ts';
import type { EffectiveConfiguration } from './effective-configuration.ts';

/** Certificates and keys of schemes are larger than the parameters of an activation. */
export const configurationMaxBytes = 4 * parametersMaxBytes;

export function requireSizeWithinLimit(values: ParameterValues): void {
  if (Buffer.byteLength(JSON.stringify(values)) <= configurationMaxBytes) return;
  const detail = `is longer than ${configurationMaxBytes} bytes`;
  throwFieldProblems([{ pointer: '/values', code: 'field_invalid', detail }]);
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
