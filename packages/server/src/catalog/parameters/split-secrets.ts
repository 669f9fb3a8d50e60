// Splits submitted values into values and secrets.
import { secretsIn } from './level-rules.ts';
import { isObject, valueAt, without } from './merge-levels.ts';
import { refuseFields } from './parameter-validator.ts';
import type { LevelValues, Secrets, Values } from './types.ts';

const secretsMax = 100;

export type Own = Pick<LevelValues, 'values' | 'secrets'>;

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
