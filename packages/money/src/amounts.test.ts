import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAmount, isPaymentAmount, sumAmounts } from './amounts.ts';
import { activeCurrencies, exponentOf } from './currencies.ts';
import { amountMax } from './limits.ts';

test('texts of amounts follow the exponent', () => {
  assert.equal(formatAmount(5, 'EUR'), '0.05 EUR');
  assert.equal(formatAmount(0, 'EUR'), '0.00 EUR');
  assert.equal(formatAmount(-1050, 'EUR'), '-10.50 EUR');
  assert.equal(formatAmount(1050, 'JPY'), '1050 JPY');
  assert.equal(formatAmount(7, 'KWD'), '0.007 KWD');
  assert.equal(formatAmount(amountMax, 'EUR'), '9999999999.99 EUR');
});

test('the text of any amount leads back to it', () => {
  const amount = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
  fc.assert(
    fc.property(amount, fc.constantFrom(...activeCurrencies()), (minor, currency) => {
      const [number = '', code] = formatAmount(minor, currency).split(' ');
      assert.equal(code, currency);
      assert.equal((number.split('.')[1] ?? '').length, exponentOf(currency));
      assert.equal(BigInt(number.replace('.', '')), minor);
    }),
  );
});

// Spec: MONEY-5
test('sums are exact beyond the integers of a number', () => {
  const amounts = fc.array(fc.integer({ min: 0, max: amountMax }));
  fc.assert(
    fc.property(amounts, (list) => {
      const sum = list.reduce((total, amount) => total + BigInt(amount), 0n);
      assert.equal(sumAmounts(list), sum);
    }),
  );
  assert.equal(sumAmounts(Array(20_000).fill(amountMax)), 19_999_999_999_980_000n);
});

test('the functions refuse an amount that is not a safe integer', () => {
  for (const value of [1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => sumAmounts([value]), RangeError);
    assert.throws(() => formatAmount(value, 'EUR'), RangeError);
  }
  assert.equal(isPaymentAmount(0), false);
  assert.equal(isPaymentAmount(amountMax), true);
  assert.equal(isPaymentAmount(amountMax + 1), false);
  assert.equal(isPaymentAmount('5'), false);
});
