// Builds an example of a schema from the examples of its members.
import type { JsonObject } from './named-schemas.ts';

type Example = { readonly value: unknown };

/** Undefined when a required member has no example. */
export function exampleOf(schema: unknown): Example | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  const {
    examples,
    const: constant,
    enum: enumValues,
    default: fallback,
    anyOf,
  } = schema as JsonObject;
  if (Array.isArray(examples) && examples.length > 0) return { value: examples[0] };
  if (constant !== undefined) return { value: constant };
  if (Array.isArray(enumValues)) return { value: enumValues[0] };
  if (fallback !== undefined) return { value: fallback };
  if (Array.isArray(anyOf)) return anyOf.map(exampleOf).find((example) => example !== undefined);
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
    case 'string':
      return exampleOfText(schema);
    default:
      return undefined;
  }
}

const exampleByFormat: Readonly<Record<string, string>> = {
  uuid: '019823f0-5d2c-7a31-9a53-0c6f1f2e9b11',
  'date-time': '2026-03-01T12:30:00.000Z',
  date: '2026-03-01',
  email: 'ann@example.com',
  uri: 'https://example.com/',
};

const plainText = 'text';

/** Undefined when the string needs a special format and declares no example. */
function exampleOfText({ format, pattern, maxLength, minLength }: JsonObject): Example | undefined {
  if (format !== undefined) {
    const value = exampleByFormat[String(format)];
    return value === undefined ? undefined : { value };
  }
  const least = Number(minLength ?? 0);
  const most = Number(maxLength ?? plainText.length);
  const fits = least <= plainText.length && most >= plainText.length;
  const isPlain = pattern === undefined || new RegExp(String(pattern), 'u').test(plainText);
  return fits && isPlain ? { value: plainText } : undefined;
}

/** The required members, and as many others as `minProperties` demands. */
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
