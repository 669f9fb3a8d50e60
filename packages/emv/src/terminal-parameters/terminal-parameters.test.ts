import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  caKeyCheckSum,
  terminalParameterDefaults,
  terminalParameterFaults,
  testCaKeys,
  testCaKeyValues,
} from '../index.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests reach into values of many shapes
type Values = Record<string, any>;

/** Values at their pointers in place of those of the defaults. */
function values(changes: Readonly<Record<string, unknown>> = {}): Values {
  const whole = { ...terminalParameterDefaults, caKeys: testCaKeyValues() };
  const made: Values = JSON.parse(JSON.stringify(whole));
  for (const [pointer, value] of Object.entries({ '/terminal/countryCode': '250', ...changes })) {
    const names = pointer.split('/').slice(1);
    const last = names.pop() ?? '';
    const parent = names.reduce((at: Values, name) => at[name], made);
    parent[last] = value;
  }
  return made;
}

const pointersOf = (parameters: Values, allowsTestKeys = true) =>
  terminalParameterFaults(parameters, { allowsTestKeys }).map(({ pointer }) => pointer);

for (const key of testCaKeys) {
  test(`the ${key.set} key ${key.rid}-${key.index} has its published check sum`, () => {
    assert.equal(caKeyCheckSum(key), key.sha1);
  });
}

test('six schemes have test keys, each key once, and of a length that cards use', () => {
  assert.equal(new Set(testCaKeys.map(({ rid }) => rid)).size, 6);
  assert.equal(new Set(testCaKeys.map(({ rid, index }) => rid + index)).size, testCaKeys.length);
  const lengths = new Set(testCaKeys.map(({ modulus }) => modulus.length * 4));
  assert.deepEqual([...lengths].sort(), [1024, 1152, 1408, 1984]);
});

test('the defaults with the test keys have no fault', () => {
  assert.deepEqual(pointersOf(values()), []);
});

test('production takes no test key, under any name', () => {
  const { caKeys, ...others } = values();
  assert.equal(pointersOf({ ...others, caKeys }, false).length, testCaKeys.length);
  const moved = { 'A000000003-08': caKeys['A000000003-92'] };
  assert.ok(pointersOf({ caKeys: moved }, false).includes('/caKeys/A000000003-08/modulus'));
  assert.deepEqual(pointersOf(others, false), []);
});

const visa = '/applications/A0000000031010';
const key = '/caKeys/A000000003-92';
const { caKeys: known } = values();
const { modulus } = known['A000000003-92'];
const rule = {
  name: 'CB and Visa',
  binFrom: '497000',
  binTo: '497999',
  isCardholderChoice: true,
  applications: ['A0000000421010', 'A0000000031010'],
};
const [zeroth, first] = ['/coBrandRules/0', '/coBrandRules/1'];
const inside = { ...rule, binFrom: '49750000', binTo: '49750099' };
const strange = { ...rule, applications: ['A0000000031010', 'A0000009999'] };
const decided = { ...rule, isCardholderChoice: false };

const cases: readonly [string, Readonly<Record<string, unknown>>, readonly string[]][] = [
  ['a wrong digit', { [`${key}/modulus`]: `B${modulus.slice(1)}` }, [`${key}/sha1`]],
  [
    'a key under another index',
    { '/caKeys': { 'A000000003-93': known['A000000003-92'] } },
    ['/caKeys/A000000003-93/sha1'],
  ],
  ['a declared length', { [`${key}/keyLengthBits`]: 1984 }, [`${key}/keyLengthBits`]],
  [
    'an even modulus',
    { [`${key}/modulus`]: modulus.replace(/.$/, '2') },
    [`${key}/modulus`, `${key}/sha1`],
  ],
  ['the 30th of February', { [`${key}/expiresOn`]: '2031-02-30' }, [`${key}/expiresOn`]],
  ['half a byte of an AID', { '/applications': { A00000000: {} } }, ['/applications/A00000000']],
  ['half a byte of a DDOL', { [`${visa}/defaultDdol`]: '9F370' }, [`${visa}/defaultDdol`]],
  [
    'a floor above the limit',
    { [`${visa}/contactless/floorLimitMinor`]: 500_001 },
    [`${visa}/contactless/floorLimitMinor`],
  ],
  [
    'a threshold above the floor',
    { [`${visa}/contact/randomSelectionThresholdMinor`]: 1 },
    [`${visa}/contact/randomSelectionThresholdMinor`],
  ],
  ['the same priority twice', { [`${visa}/priority`]: 1 }, [`${visa}/priority`]],
  [
    'no method of the terminal',
    { '/terminal/terminalCapabilities': '607000', [`${visa}/cvmMethods`]: ['OfflinePlaintextPin'] },
    [`${visa}/cvmMethods`],
  ],
  [
    'a range that runs backwards',
    { '/coBrandRules': [{ ...rule, binTo: '496999' }] },
    [`${zeroth}/binTo`],
  ],
  ['two rules for one card', { '/coBrandRules': [rule, inside] }, [`${first}/binFrom`]],
  ['an unknown application', { '/coBrandRules': [strange] }, [`${zeroth}/applications/1`]],
  [
    'the choice refused in the EEA',
    { '/coBrandRules': [decided] },
    [`${zeroth}/isCardholderChoice`],
  ],
];

for (const [what, changes, pointers] of cases) {
  test(`the validation reports a fault: ${what}`, () => {
    assert.deepEqual(pointersOf(values(changes)).sort(), [...pointers].sort());
  });
}

test('outside the EEA the merchant may decide', () => {
  const parameters = values({ '/coBrandRules': [decided], '/terminal/countryCode': '840' });
  assert.deepEqual(pointersOf(parameters), []);
});

test('a disabled application does not affect others', () => {
  const disabled = {
    [`${visa}/priority`]: 1,
    [`${visa}/cvmMethods`]: [],
    [`${visa}/isEnabled`]: false,
  };
  assert.deepEqual(pointersOf(values(disabled)), []);
});

test('values of any other shape are for the schema to refuse', () => {
  for (const odd of [null, 1, 'x', [], [null], { A1: null }, { A1: [] }, true]) {
    const members = ['terminal', 'applications', 'caKeys', 'coBrandRules'];
    const parameters = Object.fromEntries(members.map((name) => [name, odd]));
    assert.ok(Array.isArray(pointersOf(parameters)), JSON.stringify(odd));
  }
});
