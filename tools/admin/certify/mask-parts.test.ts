import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskFieldValue, maskParts } from './mask-parts.ts';

const number = '4111111111111111';
const secrets = { cardNumbers: [number], securityCodes: ['123'] };
const encode = (digits: string, half: string) => digits.replaceAll(/\d/g, `${half}$&`);

test('a field that contains a card number in any encoding is masked as a whole', () => {
  for (const digits of [number, encode(number, '3'), encode(number, 'F')]) {
    const value = `AB${digits}CD`;
    assert.equal(maskFieldValue(63, value, secrets), '*'.repeat(value.length));
    const [part] = maskParts(
      [{ offset: 0, bytes: value, field: 60, name: 'Private', value: 'text' }],
      secrets,
      undefined,
    );
    assert.deepEqual([part?.value, part?.bytes], ['****', '*'.repeat(value.length)]);
  }
  assert.equal(maskFieldValue(2, number, secrets), '411111******1111');
});

test('tracks, PIN blocks and new keys are masked as a whole, security codes only in private fields', () => {
  for (const field of [35, 45, 52])
    assert.equal(maskFieldValue(field, '0'.repeat(16), secrets), '*'.repeat(16));
  for (const digits of ['123', encode('123', '3'), encode('123', 'F')])
    assert.equal(maskFieldValue(126, `92${digits}`, secrets), `92${'*'.repeat(digits.length)}`);
  assert.equal(maskFieldValue(4, '000000012300', secrets), '000000012300');
  const key = { offset: 0, bytes: 'AB', field: 53, name: 'Key', value: 'AB' };
  assert.equal(maskParts([key], secrets, 53)[0]?.value, '**');
  assert.equal(maskParts([key], secrets, undefined)[0]?.value, 'AB');
});

test('bytes that cannot be read are masked, because they can contain card data', () => {
  const [part] = maskParts(
    [{ offset: 4, bytes: 'C0FFEE', name: 'Not readable', value: 'bitmap_invalid' }],
    secrets,
    undefined,
  );
  assert.deepEqual([part?.bytes, part?.value], ['******', 'bitmap_invalid']);
});
