// Puts an example together from those that the members of a schema give.
import type { JsonObject } from './openapi-schemas.ts';

type Example = { readonly value: unknown };

/** Nothing where a member that has to be there gives no example. */
export function exampleOf(schema: unknown): Example | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const { examples, const: constant, enum: words, default: fallback, anyOf } = schema as JsonObject;
  if (Array.isArray(examples) && examples.length > 0) return { value: examples[0] };
  if (constant !== undefined) return { value: constant };
  if (Array.isArray(words)) return { value: words[0] };
  if (fallback !== undefined) return { value: fallback };
  if (Array.isArray(anyOf)) return anyOf.map(exampleOf).find((found) => found !== undefined);
  return exampleOfType(schema as JsonObject);
}

function exampleOfType(schema: JsonObject): Example | undefined {
  switch (schema['type']) {
    case 'boolean':
      return { value: true };
    case 'null':
      return { value: null };
    case 'integer':
      return { value: schema['minimum'] ?? 1 };
    case 'array': {
      const item = exampleOf(schema['items']);
      return item === undefined ? undefined : { value: [item.value] };
    }
    case 'object':
      return exampleOfObject(schema);
    default:
      return undefined;
  }
}

/** The members that are required, and of the others as many as have to be there. */
function exampleOfObject(schema: JsonObject): Example | undefined {
  const properties = Object.entries((schema['properties'] ?? {}) as JsonObject);
  const required = new Set(schema['required'] as string[] | undefined);
  const least = Number(schema['minProperties'] ?? 0);
  const value: JsonObject = {};
  for (const [name, property] of properties) {
    if (!required.has(name) && Object.keys(value).length >= least) continue;
    const example = exampleOf(property);
    if (example !== undefined) value[name] = example.value;
    else if (required.has(name)) return undefined;
  }
  return Object.keys(value).length < least ? undefined : { value };
}
