import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { ProblemError, type ProcessRequest } from '@switchyard/contract';
import { checkTimeLimits } from './check-sale-terms.ts';
import { validateOperationId, validateSaleRequest } from './validate-sale-request.ts';

const request = (members: Partial<ProcessRequest> = {}): ProcessRequest => ({
  clientTransactionId: 'till-7:000123',
  amount: 1050,
  currency: 'EUR',
  entryMode: 'Keyed',
  instrument: { token: 'any' },
  ...members,
});

test('a UUID is not detected as a card number', () => {
  for (let round = 0; round < 5000; round += 1) {
    const id = randomUUID();
    validateSaleRequest(
      request({ clientTransactionId: id, order: { orderId: id }, metadata: { basket: id } }),
    );
    validateOperationId(id);
  }
  validateSaleRequest(request({ clientTransactionId: '63432678-5937-4187-8eb1-3296fd195bd2' }));
});

test('a card number in free text is refused and not echoed', () => {
  const pan = '4111111111111111';
  const requestsWithCardNumbers: Partial<ProcessRequest>[] = [
    { clientTransactionId: pan },
    { clientTransactionId: `${randomUUID()}:${pan}`.slice(0, 64) },
    { order: { orderId: pan } },
    { order: { orderDescription: `paid with 4111 1111 1111 1111 for ${randomUUID()}` } },
    { metadata: { note: '4111-1111-1111-1111' } },
    { metadata: { [`k${pan}`]: 'x' } },
  ];
  for (const changes of requestsWithCardNumbers) {
    assert.throws(
      () => validateSaleRequest(request(changes)),
      (error) => {
        assert.ok(error instanceof ProblemError);
        const isId = 'clientTransactionId' in changes;
        assert.equal(error.code, isId ? 'client_id_invalid' : 'field_invalid');
        assert.doesNotMatch(JSON.stringify({ ...error, text: error.message }), /4111/);
        return true;
      },
    );
  }
});

test('a card is valid until the end of its expiry month, a request until notAfter', () => {
  const at = Date.parse('2026-12-31T23:59:59.500Z');
  const codeOf = (members: Partial<ProcessRequest>, expiry: string, now = at) => {
    try {
      return checkTimeLimits(request(members), { expiry }, now);
    } catch (error) {
      return (error as ProblemError).code;
    }
  };
  assert.equal(codeOf({}, '2612'), undefined);
  // It is still December in Baker Island for twelve hours.
  assert.equal(codeOf({}, '2612', at + 500), undefined);
  assert.equal(codeOf({}, '2612', at + 12 * 3_600_000 + 500), 'card_expired_input');
  assert.equal(codeOf({}, '9901'), undefined);
  assert.equal(codeOf({ notAfter: '2026-12-31T23:59:59.500Z' }, '3012'), undefined);
  assert.equal(codeOf({ notAfter: '2026-12-31T23:59:59.499Z' }, '3012'), 'too_late');
  assert.equal(codeOf({ notAfter: '2026-12-31T23:59:60Z' }, '3012'), 'too_late');
  assert.equal(codeOf({ notAfter: '2027-01-01T01:00:00+02:00' }, '3012'), 'too_late');
});

test('currency validity is checked at the time of the sale', () => {
  const lastDay = Date.parse('2025-12-31T23:59:59.999Z');
  const codeOf = (currency: string, now: number) => {
    const sale = request({ currency });
    try {
      validateSaleRequest(sale);
      return checkTimeLimits(sale, { expiry: '9912' }, now);
    } catch (error) {
      return (error as ProblemError).code;
    }
  };
  assert.equal(codeOf('BGN', lastDay), undefined);
  assert.equal(codeOf('BGN', lastDay + 1), 'currency_unknown');
  for (const now of [lastDay, lastDay + 1]) {
    assert.equal(codeOf('EUR', now), undefined);
    assert.equal(codeOf('XAU', now), 'currency_unknown');
  }
});
