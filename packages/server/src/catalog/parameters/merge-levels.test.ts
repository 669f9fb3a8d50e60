import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findLevelFaults, relaxSchema } from './level-rules.ts';
import {
  addSecrets,
  findSource,
  getValueAt,
  listLeaves,
  mergeLevels,
  parsePointer,
  withoutPointers,
} from './merge-levels.ts';
import { splitSecrets } from './split-secrets.ts';
import type { ConfigurationLevel, ParameterValues } from './types.ts';

const names = fc.constantFrom(
  'a',
  'b',
  'c',
  'x/y',
  'x~1',
  '',
  'constructor',
  '__proto__',
  'toString',
);
const { values } = fc.letrec<{ value: unknown; values: ParameterValues }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(1, 'text', true, null, [], [{ a: 1 }]),
    tie('values'),
  ),
  values: fc
    .uniqueArray(fc.tuple(names, tie('value')), { maxLength: 4, selector: ([name]) => name })
    .map((entries) => Object.fromEntries(entries) as ParameterValues),
}));

const order: ConfigurationLevel[] = [
  'Service',
  'Organization',
  'Merchant',
  'Store',
  'LogicalDevice',
];

/** A second implementation of the merge: it adds leaf by leaf, and removes conflicting leaves. */
function modelOf(levels: readonly ParameterValues[]): Map<string, [unknown, string]> {
  const model = new Map<string, [unknown, string]>();
  for (const [at, level] of levels.entries()) {
    for (const [pointer, leaf] of listLeaves(level)) {
      const isEmptyObject = typeof leaf === 'object' && JSON.stringify(leaf) === '{}';
      const isFilled = [...model.keys()].some((other) => other.startsWith(`${pointer}/`));
      for (const other of [...model.keys()]) {
        const isBelow = other.startsWith(`${pointer}/`) && !isEmptyObject;
        if (isBelow || pointer.startsWith(`${other}/`)) model.delete(other);
      }
      if (!isEmptyObject || !isFilled) model.set(pointer, [leaf, String(order[at])]);
    }
  }
  return model;
}

// Spec: PROV-42
test('merged values and their source levels agree with a reference model', () => {
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 5 }), (levels) => {
      const lines = levels.map((allValues, at) => ({
        level: order[at] ?? 'Service',
        entityId: String(at),
        allValues,
      }));
      const merged = mergeLevels(levels);
      const valuesByPointer = new Map(
        listLeaves(merged).map(([pointer, leaf]) => [
          pointer,
          [leaf, findSource(lines, pointer)?.level],
        ]),
      );
      const sorted = (map: Map<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
      assert.deepEqual(sorted(valuesByPointer), sorted(modelOf(levels)));
      assert.equal(Object.getPrototypeOf({}), Object.prototype);
      assert.equal(({} as Record<string, unknown>)['a'], undefined);
    }),
  );
});

test('a level that is merged again changes nothing, and nothing that went in is changed', () => {
  fc.assert(
    fc.property(values, values, values, (one, two, three) => {
      const before = JSON.stringify([one, two, three]);
      const atOnce = mergeLevels([one, two, three]);
      assert.deepEqual(mergeLevels([mergeLevels([one, two]), three]), atOnce);
      assert.deepEqual(mergeLevels([atOnce, three]), atOnce);
      assert.deepEqual(mergeLevels([one, one]), one);
      assert.equal(JSON.stringify([one, two, three]), before);
    }),
  );
});

test('every leaf is found at its pointer, and is gone without it', () => {
  fc.assert(
    fc.property(values, (whole) => {
      for (const [pointer, leaf] of listLeaves(whole)) {
        assert.deepEqual(getValueAt(whole, pointer), leaf);
        const rest = withoutPointers(whole, new Set([pointer]));
        assert.equal(getValueAt(rest, pointer), undefined);
        assert.deepEqual(getValueAt(addSecrets(rest, { [pointer]: 'kept' }), pointer), 'kept');
        assert.ok(parsePointer(pointer).length > 0);
      }
    }),
  );
});

const text = { type: 'string', maxLength: 20 };
const schema = {
  type: 'object',
  properties: {
    footer: text,
    acquirer: {
      type: 'object',
      'x-lowest-level': 'Merchant',
      properties: { number: text, key: { ...text, writeOnly: true } },
      required: ['number'],
    },
    hosts: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: { port: { type: 'integer' }, token: { ...text, writeOnly: true } },
      },
    },
    open: { type: 'object' },
  },
  required: ['footer'],
};

const faults = (values: ParameterValues, level: ConfigurationLevel) =>
  findLevelFaults(schema, values, level).map(({ pointer, code }) => `${pointer} ${code}`);

test('members are known by the schema, and some belong further up', () => {
  assert.deepEqual(faults({ footer: 'x', open: { any: { thing: 1 } } }, 'LogicalDevice'), []);
  assert.deepEqual(faults({ acquirer: { number: '1' } }, 'Merchant'), []);
  assert.deepEqual(faults({ acquirer: {} }, 'Store'), ['/acquirer field_invalid']);
  assert.deepEqual(faults({ fotter: 'x' }, 'Store'), ['/fotter field_unknown']);
  const [fault] = findLevelFaults(schema, { fotter: 'x' }, 'Store');
  assert.equal(fault?.detail, 'is not a known field; perhaps you mean footer');
  assert.deepEqual(faults({ constructor: 1, hosts: { a: { toString: 1 } } }, 'Store'), [
    '/constructor field_unknown',
    '/hosts/a/toString field_unknown',
  ]);
  assert.deepEqual(Object.keys(relaxSchema(schema)), ['type', 'properties']);
});

test('a secret that is left out stays with its object, null takes it away', () => {
  const storedSecrets = { '/acquirer/key': 'k1', '/hosts/a/token': 't1', '/hosts/b/token': 't2' };
  const split = splitSecrets(schema, { acquirer: {}, hosts: { a: { port: 1 } } }, storedSecrets);
  assert.deepEqual(split.secrets, { '/acquirer/key': 'k1', '/hosts/a/token': 't1' });
  const changed = splitSecrets(schema, { acquirer: { number: '1', key: 'k2' } }, storedSecrets);
  assert.deepEqual(changed, {
    values: { acquirer: { number: '1' } },
    secrets: { '/acquirer/key': 'k2' },
  });
  const removed = splitSecrets(schema, { acquirer: { key: null } }, storedSecrets);
  assert.deepEqual(removed, { values: { acquirer: {} }, secrets: {} });
  // The current schema may no longer mark the member as secret.
  const open = { type: 'object', properties: { key: text } };
  const withoutSecrets = splitSecrets(open, { key: 'new' }, { '/key': 'old' });
  assert.deepEqual(withoutSecrets, { values: { key: 'new' }, secrets: {} });
  // The schema refuses a secret that is no text, so the split leaves it in place.
  const odd = splitSecrets(schema, { acquirer: { key: { a: 1 } } }, {});
  assert.deepEqual(odd.values, { acquirer: { key: { a: 1 } } });
});
