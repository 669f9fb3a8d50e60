// Splits the submitted values of a level into values and secrets, and refuses forbidden ones.
import { isDeepStrictEqual } from 'node:util';
import { throwProblem } from '@switchyard/contract';
import { parametersLimitBytes as activationLimitBytes, refuseFields } from '../parameters.ts';
import type { Effective } from './effective.ts';
import { isObject, valueAt, without } from './merge.ts';
import { misfitsMax, secretsIn } from './own-rules.ts';
import type { LevelRef, LevelValues, Misfit, Secrets, Values } from './types.ts';

/** Certificates and keys of schemes are larger than the parameters of an activation. */
export const configurationLimitBytes = 4 * activationLimitBytes;
const secretsMax = 100;

export type Own = Pick<LevelValues, 'values' | 'secrets'>;

export function demandSize(values: Values): void {
  if (Buffer.byteLength(JSON.stringify(values)) <= configurationLimitBytes) return;
  const detail = `is longer than ${configurationLimitBytes} bytes`;
  refuseFields([{ pointer: '/values', code: 'field_invalid', detail }]);
}

const parentOf = (pointer: string) => pointer.slice(0, pointer.lastIndexOf('/'));

/**
 * A client cannot send back a secret that it never sees. An omitted secret therefore stays while
 * the client sends its parent object, and `null` removes it.
 */
export function splitSecrets(schema: Values | undefined, given: Values, kept: Secrets): Own {
  const found = secretsIn(schema, given);
  // A value of another type stays in the values, and the schema refuses it.
  const told = found.filter(([, value]) => value === null || typeof value === 'string');
  const values = without(given, new Set(told.map(([pointer]) => pointer)));
  // A sent value replaces a stored secret if the current schema no longer marks it as secret.
  const stay = Object.entries(kept).filter(
    ([pointer]) =>
      isObject(valueAt(values, parentOf(pointer))) && valueAt(values, pointer) === undefined,
  );
  const secrets = new Map(stay);
  for (const [pointer, value] of told) {
    if (typeof value === 'string') secrets.set(pointer, value);
    else secrets.delete(pointer);
  }
  if (secrets.size > secretsMax) {
    const detail = `holds more than ${secretsMax} secrets`;
    refuseFields([{ pointer: '/values', code: 'field_invalid', detail }]);
  }
  return { values, secrets: Object.fromEntries(secrets) };
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
