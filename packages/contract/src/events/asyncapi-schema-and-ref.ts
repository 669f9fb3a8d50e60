/** Helpers for all parts of the AsyncAPI document. */
import type { TSchema } from 'typebox';

export type Json = Record<string, unknown>;

/** The standard part of a schema, without the project's own annotations. */
export function publicSchema(schema: TSchema): Json {
  const text = JSON.stringify(schema, (key, value) => (key === 'x-codes' ? undefined : value));
  return JSON.parse(text) as Json;
}

/** A reference to a part of the same document. */
export const ref = (path: string) => ({ $ref: `#/${path}` });
