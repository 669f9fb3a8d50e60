// Tests that settlement identifiers can be encoded and decoded, and that other texts are refused.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { decodeSettlementId, encodeSettlementId } from './settlement-id.ts';

const key = () => ({
  day: '2026-03-01',
  acquirerLinkId: randomUUID(),
  merchantId: randomUUID(),
  currency: 'EUR',
});

describe('the name of a settlement', () => {
  test('leads back to its key', () => {
    for (const day of ['1970-01-01', '2026-12-31', '9999-12-31']) {
      const one = { ...key(), day };
      assert.deepEqual(decodeSettlementId(encodeSettlementId(one)), one);
    }
  });

  test('is refused if it is malformed or contains invalid values', () => {
    const id = encodeSettlementId(key());
    for (const text of ['', 'x', `${id}A`, id.slice(1), id.replace(/.$/, '*'), 'A'.repeat(51)]) {
      assert.equal(decodeSettlementId(text), undefined, text);
    }
    assert.equal(decodeSettlementId(encodeSettlementId({ ...key(), currency: "E'R" })), undefined);
    // A day that fits into three bytes, but has a year of more than four digits.
    const late = Date.parse('+047000-01-01') / 86_400_000;
    const bytes = Buffer.from(id, 'base64url');
    bytes.writeUIntBE(late, 0, 3);
    assert.equal(decodeSettlementId(bytes.toString('base64url')), undefined);
  });
});
