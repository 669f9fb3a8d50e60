// Defines the allowed part of JSON Schema for parameters, which is cheap to check for any value.
import { isObject } from '@switchyard/contract';

export const schemaLimitBytes = 32_768;
const schemaDepthMax = 8;
const subschemasMax = 300;
const enumValuesMax = 100;
const countKeywordMax = 10_000;
const uniqueItemsMax = 100;
const mapEntriesMax = 200;
const patternLimitChars = 128;
/** A pattern applies only to short texts. */
export const patternTextLengthMax = 512;
/** Two variable quantifiers take quadratic time at worst; each further one raises the exponent. */
const variableQuantifiersMax = 2;

export const allowedFormats = [
  'date',
  'date-time',
  'email',
  'uuid',
  'ipv4',
  'ipv6',
  'uri',
] as const;
const allowedTypes = ['object', 'array', 'string', 'integer', 'number', 'boolean'];
const levelNames = ['Organization', 'Merchant', 'Store', 'LogicalDevice'];
const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** Names the lowest level that may override a parameter; the schema check itself ignores it. */
export const annotationKeywords = ['x-lowest-level'] as const;

export type SchemaFault = { readonly pointer: string; readonly detail: string };

type Subschema = Readonly<Record<string, unknown>>;

const memberName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Every object has `constructor` and similar members, so these names are not allowed. */
const isMemberName = (name: string) => memberName.test(name) && !(name in {});

/**
 * An anchored pattern without groups and alternatives: characters and classes, each with a count.
 * The characters that mark a count are never literal, so a pattern has only one reading.
 */
const patternGrammar =
  /^\^(?:(?:\[\^?(?:[A-Za-z0-9 _.:@#/,+*=-]|\\[dws.\-[\]\\/])+\]|\\[dws.\-/+]|[A-Za-z0-9 _:@#/,=-])(?:\{\d{1,3}(?:,\d{0,3})?\}|[?*+])?)+\$$/;
const variableQuantifier = /(?<!\\)(?:[?*+]|\{\d+,\d*\})/g;
const characterClass = /\[(?:[^\]\\]|\\.)*\]/g;

export function isSafePattern(pattern: string): boolean {
  if (pattern.length > patternLimitChars || !patternGrammar.test(pattern)) return false;
  const outside = pattern.replace(characterClass, 'c');
  return (outside.match(variableQuantifier) ?? []).length <= variableQuantifiersMax;
}

const isTextUpTo = (limit: number) => (value: unknown) =>
  typeof value === 'string' && value.length <= limit;
const isCount = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= countKeywordMax;
const isNumber = (value: unknown) => typeof value === 'number';
const isBoolean = (value: unknown) => typeof value === 'boolean';
const isAnything = () => true;

/**
 * Checks by keyword. Other keywords are not allowed, such as references and schema combinations.
 */
const keywords: Readonly<Record<string, (value: unknown) => boolean>> = {
  $schema: (value) => value === dialect,
  type: (value) => allowedTypes.includes(String(value)) && typeof value === 'string',
  title: isTextUpTo(100),
  description: isTextUpTo(500),
  default: isAnything,
  examples: Array.isArray,
  const: isAnything,
  enum: (value) => Array.isArray(value) && value.length > 0 && value.length <= enumValuesMax,
  properties: (value) => isObject(value) && Object.keys(value).every(isMemberName),
  required: (value) => Array.isArray(value) && value.every((name) => isMemberName(String(name))),
  additionalProperties: (value) => isBoolean(value) || isObject(value),
  propertyNames: isObject,
  maxProperties: isCount,
  items: isObject,
  minItems: isCount,
  maxItems: isCount,
  uniqueItems: isBoolean,
  minLength: isCount,
  maxLength: isCount,
  pattern: (value) => typeof value === 'string' && isSafePattern(value),
  format: (value) => allowedFormats.some((format) => format === value),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => typeof value === 'number' && value > 0,
  writeOnly: (value) => value === true,
  'x-lowest-level': (value) => levelNames.includes(String(value)),
};

const isKnownKeyword = (keyword: string) => Object.hasOwn(keywords, keyword);

function findSubschemaFault(subschema: Subschema): SchemaFault | undefined {
  for (const [keyword, value] of Object.entries(subschema)) {
    // The error does not repeat an unknown keyword, because its text may be anything.
    if (!isKnownKeyword(keyword))
      return { pointer: '', detail: 'contains a keyword that is not allowed' };
    if (keywords[keyword]?.(value) !== true) {
      return { pointer: `/${keyword}`, detail: 'has a value that is not allowed' };
    }
  }
  if (subschema['type'] === undefined) return { pointer: '', detail: 'must have a type' };
  if (
    subschema['pattern'] !== undefined &&
    !(Number(subschema['maxLength']) <= patternTextLengthMax)
  ) {
    const detail = `needs a maxLength of at most ${patternTextLengthMax} in the same schema`;
    return { pointer: '/pattern', detail };
  }
  if (subschema['uniqueItems'] === true && !(Number(subschema['maxItems']) <= uniqueItemsMax)) {
    const detail = `needs maxItems of at most ${uniqueItemsMax} in the same schema`;
    return { pointer: '/uniqueItems', detail };
  }
  return findMapFault(subschema);
}

/** A map has members of one schema, under names that match a pattern. */
function findMapFault(subschema: Subschema): SchemaFault | undefined {
  const { additionalProperties, propertyNames, maxProperties } = subschema;
  if (!isObject(additionalProperties) && propertyNames === undefined) return undefined;
  const names = isObject(propertyNames) ? propertyNames : {};
  if (names['type'] !== 'string' || names['pattern'] === undefined) {
    const detail = 'must be a string schema with a pattern if additionalProperties is a schema';
    return { pointer: '/propertyNames', detail };
  }
  if (!(Number(maxProperties) <= mapEntriesMax)) {
    const detail = `needs maxProperties of at most ${mapEntriesMax} in the same schema`;
    return { pointer: '/propertyNames', detail };
  }
  return undefined;
}

function listSubschemas(subschema: Subschema): [string, Subschema][] {
  const properties = Object.entries((subschema['properties'] ?? {}) as Subschema).map(
    ([name, below]): [string, unknown] => [`/properties/${name}`, below],
  );
  const { additionalProperties: others } = subschema;
  const single = [
    ...['items', 'propertyNames'].filter((name) => subschema[name] !== undefined),
    ...(isObject(others) ? ['additionalProperties'] : []),
  ].map((name): [string, unknown] => [`/${name}`, subschema[name]]);
  return [...properties, ...single].map(([pointer, below]) => [
    pointer,
    // A part that is no object becomes an empty one, which fails because it names no type.
    isObject(below) ? below : {},
  ]);
}

/** A name after `properties` is a member name, not a keyword. */
const isInList = (pointer: string) =>
  pointer.replaceAll(/\/properties\/[^/]+/g, '').includes('/items');

/**
 * A secret must be a text outside lists: a client could not keep one list item that it never sees.
 */
function findSecretFault(subschema: Subschema, pointer: string): SchemaFault | undefined {
  if (subschema['writeOnly'] !== true) return undefined;
  if (subschema['type'] === 'string' && !isInList(pointer)) return undefined;
  return { pointer: `${pointer}/writeOnly`, detail: 'is allowed only for strings outside arrays' };
}

/** Returns the first fault of a schema, with a pointer into the schema. */
export function findSchemaFault(schema: Subschema): SchemaFault | undefined {
  if (Buffer.byteLength(JSON.stringify(schema)) > schemaLimitBytes) {
    return { pointer: '', detail: `is longer than ${schemaLimitBytes} bytes` };
  }
  if (schema['type'] !== 'object')
    return { pointer: '/type', detail: 'must be object at the top level' };
  let count = 0;
  let layer: [string, Subschema][] = [['', schema]];
  for (let depth = 0; layer.length > 0; depth += 1) {
    if (depth >= schemaDepthMax)
      return { pointer: '', detail: `nests deeper than ${schemaDepthMax} levels` };
    count += layer.length;
    if (count > subschemasMax)
      return { pointer: '', detail: `has more than ${subschemasMax} parts` };
    for (const [pointer, subschema] of layer) {
      const fault = findSubschemaFault(subschema);
      if (fault !== undefined) return { ...fault, pointer: `${pointer}${fault.pointer}` };
      const secretFault = findSecretFault(subschema, pointer);
      if (secretFault !== undefined) return secretFault;
    }
    layer = layer.flatMap(([pointer, subschema]) =>
      listSubschemas(subschema).map(([step, below]): [string, Subschema] => [
        `${pointer}${step}`,
        below,
      ]),
    );
  }
  return undefined;
}
