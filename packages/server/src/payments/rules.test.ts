import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { type ProcessRequest, Refusal } from '@switchyard/contract';
import { checkFields } from './rules.ts';

const request = (members: Partial<ProcessRequest> = {}): ProcessRequest => ({
  clientTransactionId: 'till-7:000123',
  amount: 1050,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { token: 'any' },
  ...members,
});

test('no UUID passes for a card number', () => {
  for (let round = 0; round < 5000; round += 1) {
    const id = randomUUID();
    checkFields(
      request({ clientTransactionId: id, order: { orderId: id }, metadata: { basket: id } }),
      0,
    );
  }
  checkFields(request({ clientTransactionId: '63432678-5937-4187-8eb1-3296fd195bd2' }), 0);
});

test('a card number is refused wherever text is kept, and not repeated', () => {
  const pan = '4111111111111111';
  const places: Partial<ProcessRequest>[] = [
    { clientTransactionId: pan },
    { clientTransactionId: `${randomUUID()}:${pan}`.slice(0, 64) },
    { order: { orderId: pan } },
    { order: { orderDescription: `paid with 4111 1111 1111 1111 for ${randomUUID()}` } },
    { metadata: { note: '4111-1111-1111-1111' } },
    { metadata: { [`k${pan}`]: 'x' } },
  ];
  for (const place of places) {
    assert.throws(
      () => checkFields(request(place), 0),
      (error) => {
        assert.ok(error instanceof Refusal);
        assert.equal(error.code, 'field_invalid');
        assert.doesNotMatch(JSON.stringify({ ...error, text: error.message }), /4111/);
        return true;
      },
    );
  }
});
