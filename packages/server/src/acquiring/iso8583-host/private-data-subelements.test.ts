import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeSubelement, readSubelement } from './payment-messages.ts';

test('reads each of several subelements', () => {
  const field =
    encodeSubelement('82', 'SW1A2AA  10') +
    encodeSubelement('92', '737') +
    encodeSubelement('83', 'Y');
  assert.equal(field, '8211SW1A2AA  1092037378301Y');
  assert.equal(readSubelement(field, '92'), '737');
  assert.equal(readSubelement(field, '83'), 'Y');
  assert.equal(readSubelement(field, '84'), undefined);
  assert.equal(encodeSubelement('92', undefined), '');
});

test('a malformed field contains no subelement, and no read passes its end', () => {
  for (const field of ['', '8', '83', '8301', '83XXY', '8399Y', '83-1Y', '83 1Y8301Y']) {
    assert.equal(readSubelement(field, '83'), undefined, field);
  }
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (field) => {
      const found = readSubelement(field, '83');
      const written = encodeSubelement('83', found);
      assert.ok(field.includes(written), field);
    }),
  );
});
