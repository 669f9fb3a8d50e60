// Splits submitted values into values and secrets.
import { isObject } from '@switchyard/contract';
import { findSecrets } from './level-rules.ts';
import { getValueAt, withoutPointers } from './merge-levels.ts';
import { throwFieldProblems } from './parameter-validator.ts';
import type { LevelValues, ParameterValues, SecretsByPointer } from './types.ts';

const secretsMax = 100;

export type ValuesAndSecrets = Pick<LevelValues, 'values' | 'secrets'>;

const parentPointer = (pointer: string) => pointer.slice(0, pointer.lastIndexOf('/'));

/**
 * A client cannot send back a secret that it never sees. An omitted secret therefore stays while
 * the client sends its parent object, and `null` removes it.
 */
export function splitSecrets(
  schema: ParameterValues | undefined,
  sentValues: ParameterValues,
  storedSecrets: SecretsByPointer,
): ValuesAndSecrets {
  const foundSecrets = findSecrets(schema, sentValues);
  // A value of another type stays in the values, and the schema refuses it.
  const sentSecrets = foundSecrets.filter(
    ([, value]) => value === null || typeof value === 'string',
  );
  const values = withoutPointers(sentValues, new Set(sentSecrets.map(([pointer]) => pointer)));
  // A sent value replaces a stored secret if the current schema no longer marks it as secret.
  const unchangedSecrets = Object.entries(storedSecrets).filter(
    ([pointer]) =>
      isObject(getValueAt(values, parentPointer(pointer))) &&
      getValueAt(values, pointer) === undefined,
  );
  const secrets = new Map(unchangedSecrets);
  for (const [pointer, value] of sentSecrets) {
    if (typeof value === 'string') secrets.set(pointer, value);
    else secrets.delete(pointer);
  }
  if (secrets.size > secretsMax) {
    const detail = `contains more than ${secretsMax} secrets`;
    throwFieldProblems([{ pointer: '/values', code: 'field_invalid', detail }]);
  }
  return { values, secrets: Object.fromEntries(secrets) };
}
