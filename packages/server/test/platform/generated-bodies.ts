// Generates request bodies from the schemas of the contract, and damages them.
import fc from 'fast-check';
import { plainAmount } from '../support/amounts-without-host-faults.ts';

type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
};

const listMax = 4;
const textMax = 80;

function texts(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'uuid') return fc.uuid();
  if (schema.format === 'date-time') {
    return fc
      .date({ noInvalidDate: true, max: new Date('9999-01-01') })
      .map((d) => d.toISOString());
  }
  const { minLength = 0, maxLength = textMax } = schema;
  if (schema.pattern !== undefined) {
    return fc
      .stringMatching(new RegExp(schema.pattern), { size: 'small' })
      .filter((text) => text.length >= minLength && text.length <= maxLength);
  }
  return fc.string({ minLength, maxLength: Math.min(maxLength, textMax), unit: 'grapheme' });
}

function objects(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.properties === undefined) {
    const [value] = Object.values(schema.patternProperties ?? {});
    const max = Math.min(schema.maxProperties ?? listMax, listMax);
    const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/);
    return fc.dictionary(name, value === undefined ? fc.string() : validBodies(value), {
      maxKeys: max,
    });
  }
  const members = Object.fromEntries(
    Object.entries(schema.properties).map(([name, member]) => [name, validBodies(member)]),
  );
  const { required = [] } = schema;
  if (schema.maxProperties === 1) {
    const one = Object.entries(members).map(([name, member]) => fc.record({ [name]: member }));
    return fc.oneof(...one);
  }
  return fc.record(members, { requiredKeys: required });
}

/** Generates values that a schema of the contract accepts. */
export function validBodies(schemaObject: object): fc.Arbitrary<unknown> {
  const schema = schemaObject as Schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 99 }).map(plainAmount);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(validBodies(schema.items ?? {}), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? listMax, listMax),
      });
    case 'object':
      return objects(schema);
    default:
      return texts(schema);
  }
}

type Spoil = { at: number; how: (holder: Record<string, unknown>, name: string) => void };

const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1, 2 ** 53, -(2 ** 53), 1e21, 0.5, '', [], {}),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('x'.repeat(65), 'x'.repeat(5000), '\u0000', '\ud800', '‮', '𝟙𝟚𝟛', "' OR 1=1"),
  fc.constantFrom('__proto__', 'constructor', 'toString', '2026-13-01T00:00:00Z', 'NaN', '-0'),
  fc.jsonValue({ maxDepth: 6 }),
  fc
    .integer({ min: 28, max: 40 })
    .map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))),
  fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 30 }),
);

const spoils: fc.Arbitrary<Spoil['how']> = fc.oneof(
  fc.constant((holder: Record<string, unknown>, name: string) => {
    delete holder[name];
  }),
  junk.map((value) => (holder: Record<string, unknown>, name: string) => {
    holder[name] = value;
  }),
  fc
    .constantFrom(`${'n'.repeat(70)}`, 'amuont', 'Amount', 'amount ', '')
    .map((other) => (holder: Record<string, unknown>, name: string) => {
      holder[other] = holder[name];
      delete holder[name];
    }),
  junk.map((value) => (holder: Record<string, unknown>) => {
    holder['more'] = value;
  }),
);

/** Every member and item of a value. */
function memberLocations(value: unknown, locations: [Record<string, unknown>, string][] = []) {
  if (typeof value !== 'object' || value === null) return locations;
  for (const name of Object.keys(value)) {
    const holder = value as Record<string, unknown>;
    locations.push([holder, name]);
    memberLocations(holder[name], locations);
  }
  return locations;
}

/** Generates valid values with up to three faults. */
export function mutatedBodies(schema: object): fc.Arbitrary<unknown> {
  const faults = fc.array(fc.record<Spoil>({ at: fc.nat(1000), how: spoils }), { maxLength: 3 });
  return fc.tuple(validBodies(schema), faults).map(([value, list]) => {
    const copy = structuredClone(value);
    for (const { at, how } of list) {
      const all = memberLocations(copy);
      const location = all[at % Math.max(1, all.length)];
      if (location !== undefined) how(...location);
    }
    return copy;
  });
}

/** Generates JSON text with lost, changed or added bytes. */
export function garbledBodies(schema: object): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.nat(2000),
    byte: fc.integer({ min: 0, max: 255 }),
    keeps: fc.constantFrom(0, 1),
  });
  const changes = fc.array(change, { minLength: 1, maxLength: 5 });
  return fc.tuple(validBodies(schema), changes).map(([value, list]) => {
    let bytes = Buffer.from(JSON.stringify(value));
    for (const { at, byte, keeps } of list) {
      const location = at % (bytes.length + 1);
      const rest = bytes.subarray(location + keeps);
      bytes = Buffer.concat([bytes.subarray(0, location), Buffer.from([byte]), rest]);
    }
    return bytes;
  });
}
