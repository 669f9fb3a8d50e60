import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from './compare-estates.ts';
import { documentOf, estateOf } from './estate-document.ts';
import { estateText } from './estate-file.ts';
import type { Estate, Members } from './estate-model.ts';
import { nameOf } from './estate-model.ts';

const merchant = { name: 'Bread', country: 'FR', mcc: '5462', timeZone: 'Europe/Paris' };

/** As if it came from the server: every thing has an id. */
function present(document: Members): Estate {
  const estate = estateOf(document);
  let count = 0;
  for (const thing of estate.things) {
    count += 1;
    Object.assign(thing, { id: thing.id ?? `id-${count}` });
  }
  return estate;
}

const shown = (wanted: Members, there: Members) =>
  compare(estateOf(wanted), present(there)).changes.map(({ action, thing, members }) =>
    `${action} ${nameOf(thing)} ${members.map(({ member }) => member).join(' ')}`.trim(),
  );

test('what the server would fill in is no difference', () => {
  const bare = { merchants: [{ ...merchant, externalId: 'm1', stores: [{ name: 'S' }] }] };
  const told = { ...merchant, externalId: 'm1', status: 'Enabled', labels: {} };
  const full = { merchants: [{ ...told, stores: [{ name: 'S', status: 'Enabled' }] }] };
  assert.deepEqual(shown(bare, full), []);
  assert.deepEqual(documentOf(estateOf(bare)), documentOf(estateOf(full)));
});

test('created, changed and removed, member by member, below each other', () => {
  const there = {
    merchants: [
      {
        ...merchant,
        externalId: 'm1',
        address: { line1: '1', city: 'Paris' },
        stores: [{ name: 'Old' }, { externalId: 's1', name: 'North' }],
      },
    ],
  };
  const wanted = {
    merchants: [
      {
        ...merchant,
        externalId: 'm1',
        address: { line1: '1', city: 'Lyon' },
        stores: [{ externalId: 's1', name: 'South', logicalDevices: [{ name: 'C1' }] }],
      },
    ],
  };
  assert.deepEqual(shown(wanted, there), [
    'change merchant m1 address.city',
    'change store m1/s1 name',
    'create logicalDevice m1/s1/C1 name',
    'remove store m1/Old',
  ]);
});

test('a list that the file does not have is not spoken of; an empty one is', () => {
  const there = { merchants: [], applications: [{ clientId: 'a', name: 'A' }] };
  assert.deepEqual(shown({ merchants: [] }, there), []);
  assert.deepEqual(shown({ merchants: [], applications: [] }, there), ['remove application a']);
});

test('a thing without external id is found by its id, then by its name; twins are counted', () => {
  const there = {
    merchants: [
      { ...merchant, id: 'x' },
      { ...merchant, mcc: '5411' },
    ],
  };
  const wanted = { merchants: [{ ...merchant, name: 'Cake', id: 'x' }, merchant] };
  assert.deepEqual(shown(wanted, there), [
    'change merchant Cake name',
    'change merchant Bread mcc',
  ]);
});

test('references are compared by what they mean, whatever it is called now', () => {
  const terminal = { serialNumber: '1', make: 'A', model: 'B', family: 'axium' };
  const there = {
    merchants: [{ ...merchant, id: 'x' }],
    physicalDevices: [{ ...terminal, merchant: 'Bread' }],
  };
  const renamed = {
    merchants: [{ ...merchant, name: 'Cake', id: 'x' }],
    physicalDevices: [{ ...terminal, merchant: 'Cake' }],
  };
  assert.deepEqual(shown(renamed, there), ['change merchant Cake name']);
});

test('a file about one merchant leaves the others alone', () => {
  const there = {
    merchants: [
      { ...merchant, externalId: 'm1', stores: [{ name: 'S1' }] },
      { ...merchant, externalId: 'm2', stores: [{ name: 'S2' }] },
    ],
    users: [{ username: 'ann', email: 'a@b.c', merchant: 'm2' }],
  };
  const wanted = { only: ['m1'], users: [], merchants: [{ ...merchant, externalId: 'm1' }] };
  assert.deepEqual(shown(wanted, there), ['remove store m1/S1']);
});

test('the same estate gives the same bytes, in whatever order it is told', () => {
  const one = {
    merchants: [
      { ...merchant, externalId: 'b' },
      { ...merchant, externalId: 'a' },
    ],
  };
  const other = {
    merchants: [
      { externalId: 'a', timeZone: 'Europe/Paris', mcc: '5462', country: 'FR', name: 'Bread' },
      { externalId: 'b', ...merchant },
    ],
  };
  for (const isJson of [true, false]) {
    assert.equal(estateText(estateOf(one), isJson), estateText(estateOf(other), isJson));
  }
});
