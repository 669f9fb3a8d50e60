// Defines the allowed part of JSON Schema for parameters, which is cheap to check for any value.

export const schemaLimitBytes = 32_768;
const depthMax = 8;
const partsMax = 300;
const wordsMax = 100;
const countMax = 10_000;
const uniqueItemsMax = 100;
const namedMax = 200;
const patternLimitChars = 128;
/** A pattern applies only to short texts. */
export const patternedLengthMax = 512;
/** Two variable quantifiers take quadratic time at worst; each further one raises the exponent. */
const variableQuantifiersMax = 2;

export const formats = ['date', 'date-time', 'email', 'uuid', 'ipv4', 'ipv6', 'uri'] as const;
const types = ['object', 'array', 'string', 'integer', 'number', 'boolean'];
const levels = ['Organization', 'Merchant', 'Store', 'LogicalDevice'];
const dialect = 'https://json-schema.org/draft/2020-12/schema';

/** Names the lowest level that may override a parameter; the schema check itself ignores it. */
export const annotations = ['x-lowest-level'] as const;

export type SchemaFault = { readonly pointer: string; readonly detail: string };

type Part = Readonly<Record<string, unknown>>;

const memberName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
/** Every object has `constructor` and similar members, so these names are not allowed. */
const isMemberName = (name: string) => memberName.test(name) && !(name in {});

/**
 * An anchored pattern without groups and alternatives: characters and classes, each with a count.
 * The characters that mark a count are never literal, so a pattern has only one reading.
 */
const row =
  /^\^(?:(?:\[\^?(?:[A-Za-z0-9 _.:@#/,+*=-]|\\[dws.\-[\]\\/])+\]|\\[dws.\-/+]|[A-Za-z0-9 _:@#/,=-])(?:\{\d{1,3}(?:,\d{0,3})?\}|[?*+])?)+\$$/;
const variableQuantifier = /(?<!\\)(?:[?*+]|\{\d+,\d*\})/g;
const classes = /\[(?:[^\]\\]|\\.)*\]/g;

export function isHarmlessPattern(pattern: string): boolean {
  if (pattern.length > patternLimitChars || !row.test(pattern)) return false;
  const outside = pattern.replace(classes, 'c');
  return (outside.match(variableQuantifier) ?? []).length <= variableQuantifiersMax;
}

const isText = (limit: number) => (value: unknown) =>
  typeof value === 'string' && value.length <= limit;
const isCount = (value: unknown) =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= countMax;
const isNumber = (value: unknown) => typeof value === 'number';
const isBoolean = (value: unknown) => typeof value === 'boolean';
const isAnything = () => true;
const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Checks by keyword. Other keywords are not allowed, such as references and schema combinations.
 */
const keywords: Readonly<Record<string, (value: unknown) => boolean>> = {
  $schema: (value) => value === dialect,
  type: (value) => types.includes(String(value)) && typeof value === 'string',
  title: isText(100),
  description: isText(500),
  default: isAnything,
  examples: Array.isArray,
  const: isAnything,
  enum: (value) => Array.isArray(value) && value.length > 0 && value.length <= wordsMax,
  properties: (value) => isPart(value) && Object.keys(value).every(isMemberName),
  required: (value) => Array.isArray(value) && value.every((name) => isMemberName(String(name))),
  additionalProperties: (value) => isBoolean(value) || isPart(value),
  propertyNames: isPart,
  maxProperties: isCount,
  items: isPart,
  minItems: isCount,
  maxItems: isCount,
  uniqueItems: isBoolean,
  minLength: isCount,
  maxLength: isCount,
  pattern: (value) => typeof value === 'string' && isHarmlessPattern(value),
  format: (value) => formats.some((format) => format === value),
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => typeof value === 'number' && value > 0,
  writeOnly: (value) => value === true,
  'x-lowest-level': (value) => levels.includes(String(value)),
};

const knows = (keyword: string) => Object.hasOwn(keywords, keyword);

function ownFault(part: Part): SchemaFault | undefined {
  for (const [keyword, value] of Object.entries(part)) {
    // The error does not repeat an unknown keyword, because its text may be anything.
    if (!knows(keyword)) return { pointer: '', detail: 'holds a keyword that is not allowed' };
    if (keywords[keyword]?.(value) !== true) {
      return { pointer: `/${keyword}`, detail: 'has a value that is not allowed' };
    }
  }
  if (part['type'] === undefined) return { pointer: '', detail: 'must name its type' };
  if (part['pattern'] !== undefined && !(Number(part['maxLength']) <= patternedLengthMax)) {
    const detail = `needs a maxLength of at most ${patternedLengthMax} beside it`;
    return { pointer: '/pattern', detail };
  }
  if (part['uniqueItems'] === true && !(Number(part['maxItems']) <= uniqueItemsMax)) {
    const detail = `needs maxItems of at most ${uniqueItemsMax} beside it`;
    return { pointer: '/uniqueItems', detail };
  }
  return mapFault(part);
}

/** A map has members of one schema, under names that match a pattern. */
function mapFault(part: Part): SchemaFault | undefined {
  const { additionalProperties, propertyNames, maxProperties } = part;
  if (!isPart(additionalProperties) && propertyNames === undefined) return undefined;
  const names = isPart(propertyNames) ? propertyNames : {};
  if (names['type'] !== 'string' || names['pattern'] === undefined) {
    const detail = 'needs a pattern of text beside a schema of additionalProperties';
    return { pointer: '/propertyNames', detail };
  }
  if (!(Number(maxProperties) <= namedMax)) {
    const detail = `needs maxProperties of at most ${namedMax} beside it`;
    return { pointer: '/propertyNames', detail };
  }
  return undefined;
}

function partsBelow(part: Part): [string, Part][] {
  const properties = Object.entries((part['properties'] ?? {}) as Part).map(
    ([name, below]): [string, unknown] => [`/properties/${name}`, below],
  );
  const { additionalProperties: others } = part;
  const single = [
    ...['items', 'propertyNames'].filter((name) => part[name] !== undefined),
    ...(isPart(others) ? ['additionalProperties'] : []),
  ].map((name): [string, unknown] => [`/${name}`, part[name]]);
  return [...properties, ...single].map(([pointer, below]) => [
    pointer,
    // A part that is no object becomes an empty one, which fails because it names no type.
    isPart(below) ? below : {},
  ]);
}

/** A name after `properties` is a member name, not a keyword. */
const isInList = (pointer: string) =>
  pointer.replaceAll(/\/properties\/[^/]+/g, '').includes('/items');

/**
 * A secret must be a text outside lists: a client could not keep one list item that it never sees.
 */
function secretFault(part: Part, pointer: string): SchemaFault | undefined {
  if (part['writeOnly'] !== true) return undefined;
  if (part['type'] === 'string' && !isInList(pointer)) return undefined;
  return { pointer: `${pointer}/writeOnly`, detail: 'is for texts outside lists' };
}

/** Returns the first fault of a schema, with a pointer into the schema. */
export function faultOfSchema(schema: Part): SchemaFault | undefined {
  if (Buffer.byteLength(JSON.stringify(schema)) > schemaLimitBytes) {
    return { pointer: '', detail: `is longer than ${schemaLimitBytes} bytes` };
  }
  if (schema['type'] !== 'object') return { pointer: '/type', detail: 'must be object at the top' };
  let count = 0;
  let layer: [string, Part][] = [['', schema]];
  for (let depth = 0; layer.length > 0; depth += 1) {
    if (depth >= depthMax) return { pointer: '', detail: `nests deeper than ${depthMax} levels` };
    count += layer.length;
    if (count > partsMax) return { pointer: '', detail: `has more than ${partsMax} parts` };
    for (const [pointer, part] of layer) {
      const fault = ownFault(part);
      if (fault !== undefined) return { ...fault, pointer: `${pointer}${fault.pointer}` };
      const secret = secretFault(part, pointer);
      if (secret !== undefined) return secret;
    }
    layer = layer.flatMap(([pointer, part]) =>
      partsBelow(part).map(([step, below]): [string, Part] => [`${pointer}${step}`, below]),
    );
  }
  return undefined;
}
