import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareEstates } from './compare-estates.ts';
import { parseEstateDocument, toDocument } from './convert-estate-document.ts';
import { formatEstate } from './estate-file.ts';
import type { Estate, Members } from './estate-model.ts';
import { resourceLabel } from './estate-model.ts';

const merchant = { name: 'Bread', country: 'FR', mcc: '5462', timeZone: 'Europe/Paris' };

/** The estate as the server returns it: every resource has an id. */
function present(document: Members): Estate {
  const estate = parseEstateDocument(document);
  let count = 0;
  for (const resource of estate.resources) {
    count += 1;
    Object.assign(resource, { id: resource.id ?? `id-${count}` });
  }
  return estate;
}

const changesBetween = (desired: Members, existing: Members) =>
  compareEstates(parseEstateDocument(desired), present(existing)).changes.map(
    ({ action, resource, members }) =>
      `${action} ${resourceLabel(resource)} ${members.map(({ member }) => member).join(' ')}`.trim(),
  );

test('defaults of the server are not a difference', () => {
  const minimal = { merchants: [{ ...merchant, externalId: 'm1', stores: [{ name: 'S' }] }] };
  const response = { ...merchant, externalId: 'm1', status: 'Enabled', labels: {} };
  const full = { merchants: [{ ...response, stores: [{ name: 'S', status: 'Enabled' }] }] };
  assert.deepEqual(changesBetween(minimal, full), []);
  assert.deepEqual(toDocument(parseEstateDocument(minimal)), toDocument(parseEstateDocument(full)));
});

test('changes are listed member by member in a tree of resources', () => {
  const existing = {
    merchants: [
      {
        ...merchant,
        externalId: 'm1',
        address: { line1: '1', city: 'Paris' },
        stores: [{ name: 'Old' }, { externalId: 's1', name: 'North' }],
      },
    ],
  };
  const desired = {
    merchants: [
      {
        ...merchant,
        externalId: 'm1',
        address: { line1: '1', city: 'Lyon' },
        stores: [{ externalId: 's1', name: 'South', logicalDevices: [{ name: 'C1' }] }],
      },
    ],
  };
  assert.deepEqual(changesBetween(desired, existing), [
    'change merchant m1 address.city',
    'change store m1/s1 name',
    'create logicalDevice m1/s1/C1 name',
    'remove store m1/Old',
  ]);
});

test('a missing list is not compared; an empty list removes its resources', () => {
  const existing = { merchants: [], applications: [{ clientId: 'a', name: 'A' }] };
  assert.deepEqual(changesBetween({ merchants: [] }, existing), []);
  assert.deepEqual(changesBetween({ merchants: [], applications: [] }, existing), [
    'remove application a',
  ]);
});

test('a resource without external id is matched by id, then by name; duplicates are numbered', () => {
  const existing = {
    merchants: [
      { ...merchant, id: 'x' },
      { ...merchant, mcc: '5411' },
    ],
  };
  const desired = { merchants: [{ ...merchant, name: 'Cake', id: 'x' }, merchant] };
  assert.deepEqual(changesBetween(desired, existing), [
    'change merchant Cake name',
    'change merchant Bread mcc',
  ]);
});

test('references to a renamed resource are not a difference', () => {
  const terminal = { serialNumber: '1', make: 'A', model: 'B', family: 'axium' };
  const existing = {
    merchants: [{ ...merchant, id: 'x' }],
    physicalDevices: [{ ...terminal, merchant: 'Bread' }],
  };
  const renamed = {
    merchants: [{ ...merchant, name: 'Cake', id: 'x' }],
    physicalDevices: [{ ...terminal, merchant: 'Cake' }],
  };
  assert.deepEqual(changesBetween(renamed, existing), ['change merchant Cake name']);
});

test('a file of one merchant does not change the others', () => {
  const existing = {
    merchants: [
      { ...merchant, externalId: 'm1', stores: [{ name: 'S1' }] },
      { ...merchant, externalId: 'm2', stores: [{ name: 'S2' }] },
    ],
    users: [{ username: 'ann', email: 'a@b.c', merchant: 'm2' }],
  };
  const desired = { only: ['m1'], users: [], merchants: [{ ...merchant, externalId: 'm1' }] };
  assert.deepEqual(changesBetween(desired, existing), ['remove store m1/S1']);
});

test('the same estate gives the same bytes in any order', () => {
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
    assert.equal(
      formatEstate(parseEstateDocument(one), isJson),
      formatEstate(parseEstateDocument(other), isJson),
    );
  }
});
