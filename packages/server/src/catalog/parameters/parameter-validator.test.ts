import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { findSchemaFault, isSafePattern } from './parameter-schema-rules.ts';
import { createParameterValidator, type ParameterSchema } from './parameter-validator.ts';

const parameters = createParameterValidator();

function codeOf(work: () => void): [string, string | undefined] | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return [error.code, error.errors?.[0]?.pointer];
  }
}

const object = (properties: Record<string, unknown>, more: object = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
});

test('the validator accepts a schema of the supported subset, and checks values against it', () => {
  const schema = object(
    {
      account: { type: 'string', pattern: '^[A-Z]{2}-[0-9]{1,6}$', maxLength: 9 },
      floor: { type: 'integer', minimum: 0, maximum: 5000, 'x-lowest-level': 'Merchant' },
      aids: {
        type: 'array',
        maxItems: 20,
        uniqueItems: true,
        items: { type: 'string', pattern: '^[0-9A-F]{10,32}$', maxLength: 32 },
      },
    },
    { required: ['account'] },
  );
  parameters.requireValidSchema('/parameterSchema', schema);
  const check = (values: Record<string, unknown>) =>
    codeOf(() => parameters.requireValidValues('/parameters', schema, 'a:1', values));
  assert.equal(check({ account: 'NG-1', floor: 0, aids: ['A0000000031010'] }), undefined);
  assert.deepEqual(check({}), ['field_required', '/parameters/account']);
  assert.deepEqual(check({ account: 'ng-1' }), ['field_invalid', '/parameters/account']);
  assert.deepEqual(check({ account: 'NG-1', floor: 'x' }), ['field_invalid', '/parameters/floor']);
  assert.deepEqual(check({ account: 'NG-1', other: 1 }), ['field_unknown', '/parameters']);
  const twice = { account: 'NG-1', aids: ['A0000000031010', 'A0000000031010'] };
  assert.deepEqual(check(twice), ['field_invalid', '/parameters/aids']);
});

const names = { type: 'string', pattern: '^[0-9A-F]{10,32}$', maxLength: 32 };

test('a map has members of one form, under names of a pattern', () => {
  const limits = object({ floor: { type: 'integer', minimum: 0 } });
  const map = { additionalProperties: limits, propertyNames: names, maxProperties: 2 };
  const schema = object({ applications: { type: 'object', ...map } });
  parameters.requireValidSchema('/parameterSchema', schema);
  const check = (applications: object) =>
    codeOf(() => parameters.requireValidValues('/parameters', schema, 'm:1', { applications }));
  const pointer = '/parameters/applications';
  assert.equal(check({ A0000000031010: { floor: 1 }, A0000000041010: {} }), undefined);
  const wrong = check({ A0000000031010: { floor: -1 } });
  assert.deepEqual(wrong, ['field_invalid', `${pointer}/A0000000031010/floor`]);
  assert.deepEqual(check({ a0: {} }), ['field_invalid', pointer]);
  assert.deepEqual(check(JSON.parse('{"__proto__":{}}')), ['field_invalid', pointer]);
  const three = { A000000003: {}, A000000004: {}, A000000005: {} };
  assert.deepEqual(check(three), ['field_invalid', pointer]);
});

test('without a schema there are no parameters', () => {
  const check = (values: object) =>
    codeOf(() => parameters.requireValidValues('/parameters', undefined, 'b:1', { ...values }));
  assert.equal(check({}), undefined);
  assert.deepEqual(check({ account: 'x' }), ['field_unknown', '/parameters']);
});

const text = { type: 'string' };
const nested = (depth: number): ParameterSchema =>
  depth === 0 ? object({ leaf: text }) : object({ next: nested(depth - 1) });
const wide = Object.fromEntries(Array.from({ length: 301 }, (_, at) => [`m${at}`, text]));

for (const [what, schema] of Object.entries({
  'a remote reference': object({ a: { $ref: 'https://elsewhere.example/schema' } }),
  'a reference to itself': object({ a: { $ref: '#' } }),
  'an identifier': object({ a: text }, { $id: 'https://elsewhere.example/' }),
  'a combination': object({ a: { type: 'string', anyOf: [text, text] } }),
  'a negation': object({}, { not: {} }),
  'patterns of names': object({}, { patternProperties: { '^(a+)+$': text } }),
  'a nested quantifier': object({ a: { ...text, maxLength: 64, pattern: '^(a+)+$' } }),
  'a pattern for any length': object({ a: { ...text, pattern: '^[a-z]$' } }),
  'many optional letters': object({ a: { ...text, maxLength: 64, pattern: '^a?a?a?a?aaaa$' } }),
  'a class that ends before it begins': object({
    a: { ...text, maxLength: 64, pattern: '^[z-a]$' },
  }),
  'unique items of any number': object({ a: { type: 'array', uniqueItems: true, items: text } }),
  'a list at the top': { type: 'array', items: text },
  'no type': object({ a: {} }),
  'several types': object({ a: { type: ['string', 'object'] } }),
  'a part that is no object': object({ a: true }),
  'a member of every object': object({ constructor: text }),
  'a length of a number': object({ a: { type: 'integer', maxLength: 3 } }),
  'another dialect': object({}, { $schema: 'http://json-schema.org/draft-04/schema#' }),
  'a map with names of any form': object({}, { additionalProperties: text, maxProperties: 9 }),
  'a map with patternless names': object({}, { propertyNames: text, maxProperties: 9 }),
  'a map of any size': object({}, { additionalProperties: text, propertyNames: names }),
  'a map of anything': object(
    {},
    { additionalProperties: {}, propertyNames: names, maxProperties: 9 },
  ),
  'too many levels': nested(9),
  'too many parts': object(wide),
  'too many bytes': object({ a: { ...text, default: 'x'.repeat(33_000) } }),
})) {
  test(`a schema is refused for ${what}`, () => {
    const [code] = codeOf(() => parameters.requireValidSchema('/parameterSchema', schema)) ?? [];
    assert.equal(code, 'field_invalid');
  });
}

test('the pointer leads into the schema', () => {
  const schema = object({ a: object({ b: { type: 'string', format: 'regex' } }) });
  assert.equal(findSchemaFault(schema)?.pointer, '/properties/a/properties/b/format');
});

// Spec: PROV-35
test('patterns that are allowed take no time for any text', () => {
  for (const pattern of ['^[a-z]*[a-z]*$', '^\\w+\\.\\w+$', '^[0-9A-F]{10,32}$', '^[+*]{3}-\\+$']) {
    assert.equal(isSafePattern(pattern), true, pattern);
    // The fastest of five runs counts, because other load on the machine also takes time.
    const tookMs = Array.from({ length: 5 }, () => {
      const began = performance.now();
      new RegExp(pattern, 'u').test(`${'a'.repeat(511)}!`);
      return performance.now() - began;
    });
    assert.ok(Math.min(...tookMs) < 100, pattern);
  }
  for (const pattern of ['a', '^a', '^(a)$', '^a|b$', '^a+b+c+$', '^.*$', '^(?=a)a$', '^\\1$']) {
    assert.equal(isSafePattern(pattern), false, pattern);
  }
});
