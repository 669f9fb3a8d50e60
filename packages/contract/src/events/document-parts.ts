/** What every part of the AsyncAPI document is made of. */
import type { TSchema } from 'typebox';

export type Json = Record<string, unknown>;

/** Of a schema what everybody understands: without the marks of ours. */
export function publicSchema(schema: TSchema): Json {
  const text = JSON.stringify(schema, (key, value) => (key === 'x-codes' ? undefined : value));
  return JSON.parse(text) as Json;
}

/** To a part of the same document. */
export const ref = (path: string) => ({ $ref: `#/${path}` });
