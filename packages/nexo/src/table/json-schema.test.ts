// Whole run: many requests with generated values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { anyMessageOf, wireOf } from '../../test/random-messages.ts';
import { readWith } from '../messages/read-message.ts';
import { messageKinds } from './categories.ts';
import { schemaOf } from './json-schema.ts';

const ajv = new Ajv2020({ allowUnionTypes: true, strict: true, strictRequired: false });
const validators = new Map<string, ValidateFunction>();

/** Ajv's own reading of the schema of one kind of message. */
function validatorOf({ category, type }: (typeof messageKinds)[number]): ValidateFunction {
  const key = `${category} ${type}`;
  const schema = schemaOf(category, type);
  assert.ok(schema, key);
  const validate = validators.get(key) ?? ajv.compile(schema);
  validators.set(key, validate);
  return validate;
}

type Path = (string | number)[];

/** Every place in a value. */
function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key])),
  ];
}

/** The value with another one at a place, or without it. */
function changed(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
    ? [...(value as unknown[])]
    : { ...(value as object) };
  const parent = copy as Record<string, unknown>;
  if (rest.length === 0 && to === undefined) delete parent[key];
  else parent[key] = changed(parent[key], rest, to);
  return Array.isArray(copy) ? copy.filter(() => true) : copy;
}

const others = fc.constantFrom<unknown>(undefined, null, '', 'x', 0, -1, 1.5, true, [], {}, [1], {
  a: 1,
});

test('the schemas allow any message of the table', () => {
  fc.assert(
    fc.property(
      fc
        .constantFrom(...messageKinds)
        .chain((kind) => fc.tuple(fc.constant(kind), anyMessageOf(kind))),
      ([kind, message]) => {
        const validate = validatorOf(kind);
        assert.ok(
          validate(JSON.parse(JSON.stringify(wireOf(message)))),
          JSON.stringify(validate.errors),
        );
      },
    ),
    { numRuns: 100 },
  );
});

// Spec: NEXO-34
test('schema and validator judge alike, wherever a message is changed', () => {
  const kinds = messageKinds.filter(({ category }) =>
    ['Payment', 'Display', 'Event', 'TransactionStatus', 'Login', 'StoredValue'].includes(category),
  );
  const counts = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds).chain((kind) => fc.tuple(fc.constant(kind), anyMessageOf(kind))),
      fc.nat(),
      others,
      ([kind, message], at, other) => {
        const wire: unknown = JSON.parse(JSON.stringify(wireOf(message)));
        const paths = placesIn(wire);
        const path = paths[at % paths.length] ?? [];
        const text = JSON.stringify(changed(wire, path, other)) ?? 'null';
        const validate = validatorOf(kind);
        const valid = validate(JSON.parse(text));
        counts[valid ? 'valid' : 'invalid'] += 1;
        // Rules between members and the version of the protocol are not in the schema.
        const reading = readWith(text, false);
        const faults = 'faults' in reading ? reading.faults : [];
        const structureFaults = faults.filter(
          ({ problem }) => !/^needs|^has \w+ with|exactly/.test(problem),
        );
        const versioned = structureFaults.filter(
          ({ pointer }) => !pointer.endsWith('/ProtocolVersion'),
        );
        assert.equal(
          versioned.length === 0,
          valid || structureFaults.length > versioned.length,
          `${path.join('/')} ${text}`,
        );
      },
    ),
    { numRuns: 300 },
  );
  assert.ok(counts.valid > 20 && counts.invalid > 50, JSON.stringify(counts));
});

test('there is a schema for each kind of message and for no other', () => {
  assert.equal(schemaOf('Abort', 'Response'), undefined);
  assert.equal(schemaOf('Event', 'Request'), undefined);
  for (const { category, type } of messageKinds) {
    const text = JSON.stringify(schemaOf(category, type));
    for (const [, name = ''] of text.matchAll(/#\/\$defs\/(\w+)/g)) {
      assert.ok(text.includes(`"${name}":{"type":`), `${category} ${type}: ${name}`);
    }
  }
});
