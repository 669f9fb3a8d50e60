import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as models from '@adyen/api-library/lib/src/typings/terminal/models.js';
import { bodyNameOf, categories, categoryRules, isCategory, messageKinds } from './categories.ts';
import { fieldTypes } from './field-types.ts';
import { structures } from './structures.ts';
import { closedSets, openSets } from './value-sets.ts';

type Rows = Readonly<Record<string, Readonly<Record<string, string>>>>;
const rows: Rows = structures;
const sets: Readonly<Record<string, readonly string[]>> = { ...closedSets, ...openSets };

test('every name in the table is a leaf, a set or a structure, and only one of them', () => {
  const names = [...Object.keys(fieldTypes), ...Object.keys(sets), ...Object.keys(rows)];
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  );
  for (const [name, row] of Object.entries(rows)) {
    for (const [member, written] of Object.entries(row)) {
      assert.match(written, /^\w+[?*+]?$/, `${name}.${member}`);
      assert.ok(names.includes(written.replace(/[?*+]$/, '')), `${name}.${member}: ${written}`);
    }
  }
});

test('every structure and set is used', () => {
  const used = new Set(messageKinds.map(({ body }): string => body));
  used.add('MessageHeader');
  for (const name of used) {
    for (const written of Object.values(rows[name] ?? {})) used.add(written.replace(/[?*+]$/, ''));
  }
  assert.deepEqual(
    Object.keys(rows).filter((name) => !used.has(name)),
    [],
  );
  assert.deepEqual(
    Object.keys(sets).filter((name) => !used.has(name)),
    [],
  );
});

test('there are 27 categories, and 51 kinds of messages', () => {
  assert.equal(Object.keys(categories).length, 27);
  assert.deepEqual(Object.keys(categories).toSorted(), [...closedSets.MessageCategory].toSorted());
  const without = Object.keys(categories).filter(
    (name) => isCategory(name) && categoryRules(name).bodies.Response === undefined,
  );
  assert.deepEqual(without, ['Abort', 'Event', 'InputUpdate']);
  assert.equal(messageKinds.length, 51);
  assert.equal(bodyNameOf('Event', 'Notification'), 'EventNotification');
  assert.equal(bodyNameOf('Abort', 'Response'), undefined);
  for (const name of ['None', 'toString', '', undefined, 1]) assert.equal(isCategory(name), false);
});

test('the repeatable categories are those of a TransactionStatus response', () => {
  const repeated = Object.keys(categories).filter(
    (name) => isCategory(name) && categoryRules(name).repeated === true,
  );
  const bodies = Object.keys(structures.RepeatedResponseMessageBody);
  assert.deepEqual(repeated.map((name) => `${name}Response`).toSorted(), bodies.toSorted());
});

/** Names of structures that the library calls otherwise, or makes two of. */
const renamed: Readonly<Record<string, string>> = {
  LoyaltyAccountID: 'LoyaltyAccountId',
  StoredValueAccountID: 'StoredValueAccountId',
  Point: 'SignaturePoint',
  ConvertedAmount: 'Amount',
  Software: 'SaleSoftware',
  Profile: 'SaleProfile',
  Totals: 'PaymentTotals',
};
/** Structures of the library that are no part of the messages: its own data, and the other protection. */
const foreign =
  /^(?:Abstract|Algorithm|Amount$|ApplicationInfo|AreaSize|AuthenticatedData|CommonField|ContentInformation|DigestedData|Encapsulated|Encrypted|Enveloped|ExternalPlatform|Issuer|LoyaltyTotals|MerchantDevice|NamedKey|NexoDerivedKey|Parameter|POIProfile|POISoftware|Relative|SaleToAcquirerData|SaleToPOI|SecurityKey|SecurityTrailer|Shopper|Signed|Signer|TerminalApi)/;
/** A member that the library declares with the name of its type, where documents say `Instalment`. */
const misnamed = new Set(['PaymentResult.InstalmentType']);

type Model = { getAttributeTypeMap: () => { name: string }[] };
const isModel = (value: unknown): value is Model =>
  typeof value === 'function' && 'getAttributeTypeMap' in value;

// Spec: NEXO-33
test('every member that the public library knows is in the table', () => {
  const missing: string[] = [];
  let members = 0;
  for (const [name, model] of Object.entries(models as Record<string, unknown>)) {
    if (!isModel(model) || foreign.test(name)) continue;
    const ownName =
      Object.entries(renamed).find(([, libraryName]) => libraryName === name)?.[0] ?? name;
    for (const { name: member } of model.getAttributeTypeMap()) {
      members += 1;
      if (misnamed.has(`${name}.${member}`)) continue;
      if (rows[ownName]?.[member] === undefined) missing.push(`${name}.${member}`);
    }
  }
  assert.ok(members > 450, `${members} members`);
  assert.deepEqual(missing, []);
});

/** Sets by the library's names. */
const setNames: Readonly<Record<string, string>> = {
  Device: 'DeviceType',
  LoyaltyUnit: 'LoyaltyUnitType',
  ServiceProfile: 'ServiceProfilesType',
  Color: 'ColorType',
};

const letters = (value: string): string => value.replace(/\W/g, '').toLowerCase();

test('every value that the public library knows is in its set', () => {
  const library = models as unknown as Record<string, Readonly<Record<string, string>> | undefined>;
  let compared = 0;
  for (const [name, values] of Object.entries(sets)) {
    const libraryValues = library[setNames[name] ?? `${name}Type`] ?? library[name];
    assert.ok(libraryValues, name);
    // Its generator made duplicates of some values in another spelling: `PIN` and `Pin`.
    const valueLetters = new Set(values.map(letters));
    const missing = Object.values(libraryValues).filter(
      (value) => !valueLetters.has(letters(value)),
    );
    assert.deepEqual(missing, [], name);
    compared += 1;
  }
  assert.equal(compared, Object.keys(sets).length);
});
