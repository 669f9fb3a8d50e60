// Refuses values that a level may not set.
import { isDeepStrictEqual } from 'node:util';
import { throwProblem } from '@switchyard/contract';
import { misfitsMax } from '../parameters/level-rules.ts';
import {
  parametersLimitBytes as activationLimitBytes,
  refuseFields,
} from '../parameters/parameter-validator.ts';
import type { Own } from '../parameters/split-secrets.ts';
import type { LevelRef, Misfit, Values } from '../parameters/types.ts';
import type { Effective } from './effective-configuration.ts';

/** Certificates and keys of schemes are larger than the parameters of an activation. */
export const configurationLimitBytes = 4 * activationLimitBytes;

export function demandSize(values: Values): void {
  if (Buffer.byteLength(JSON.stringify(values)) <= configurationLimitBytes) return;
  const detail = `is longer than ${configurationLimitBytes} bytes`;
  refuseFields([{ pointer: '/values', code: 'field_invalid', detail }]);
}

export const isSame = (one: Own, other: Own): boolean =>
  isDeepStrictEqual([one.values, one.secrets], [other.values, other.secrets]);

const markOf = ({ pointer, code, detail }: Misfit) => JSON.stringify([pointer, code, detail]);

/**
 * Refuses the faults that this change causes, but not those that existed at other levels before. A
 * missing member is refused only at a device, because a lower level may still set it.
 */
export function demandFit(
  { level, entityId }: LevelRef,
  own: readonly Misfit[],
  before: Effective,
  after: Effective,
): void {
  const known = new Set(before.misfits.map(markOf));
  const faults = after.misfits.filter(
    (misfit) =>
      (misfit.level === level && misfit.entityId === entityId) || !known.has(markOf(misfit)),
  );
  const wanting =
    level === 'LogicalDevice'
      ? after.missing.map(
          (pointer) => ({ pointer, code: 'field_required', detail: 'is set at no level' }) as const,
        )
      : [];
  const all = [...own, ...faults, ...wanting];
  if (all.length === 0) return;
  const byPointer = new Map(all.map((each) => [each.pointer, each]));
  refuseFields(
    [...byPointer.values()]
      .slice(0, misfitsMax)
      .map(({ pointer, code, detail }) => ({ pointer: `/values${pointer}`, code, detail })),
  );
}

export function refuseVersion(): never {
  return throwProblem('resource_not_found', 'The configuration has no version of this number.');
}
