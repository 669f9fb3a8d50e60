import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressChecks, addressVerificationOf } from './address-verification.ts';

test('the letters of the schemes, and nothing checked for every other text', () => {
  const resultText = (raw: string | undefined) => {
    const { street, postal } = addressVerificationOf(raw);
    return `${street} ${postal}`;
  };
  for (const raw of 'YXDMF') assert.equal(resultText(raw), 'Matched Matched', raw);
  for (const raw of 'ZW') assert.equal(resultText(raw), 'NotMatched Matched', raw);
  assert.equal(resultText('A'), 'Matched NotMatched');
  assert.equal(resultText('B'), 'Matched NotChecked');
  assert.equal(resultText('P'), 'NotChecked Matched');
  assert.equal(resultText('N'), 'NotMatched NotMatched');
  for (const raw of [...'UGIRSEC', '', ' ', 'y', '__proto__', 'constructor', undefined]) {
    assert.equal(resultText(raw), 'NotChecked NotChecked', raw);
  }
  assert.equal(addressVerificationOf('A').raw, 'A');
  assert.ok(!('raw' in addressVerificationOf(undefined)));
  assert.equal(addressChecks.length, 3);
});
