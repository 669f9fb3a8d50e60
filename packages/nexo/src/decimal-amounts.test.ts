import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeCurrencies, amountMax, exponentOf } from '@switchyard/money';
import fc from 'fast-check';
import {
  formatDecimalAmount,
  parseDecimalAmount,
  toAmount,
  toMinorUnits,
} from './decimal-amounts.ts';
import { NexoError } from './errors.ts';

const refuses = (code: string) => (error: unknown) =>
  error instanceof NexoError && error.code === code;

test('digits are placed after the exponent of the currency', () => {
  assert.equal(formatDecimalAmount(1250, 'EUR'), '12.50');
  assert.equal(formatDecimalAmount(5, 'EUR'), '0.05');
  assert.equal(formatDecimalAmount(0, 'EUR'), '0.00');
  assert.equal(formatDecimalAmount(1250, 'JPY'), '1250');
  assert.equal(formatDecimalAmount(1, 'KWD'), '0.001');
  assert.equal(formatDecimalAmount(-7, 'EUR'), '-0.07');
  assert.equal(formatDecimalAmount(amountMax, 'EUR'), '9999999999.99');
});

test('texts are read by their digits', () => {
  assert.equal(parseDecimalAmount('10.99', 'EUR'), 1099);
  assert.equal(parseDecimalAmount('10.9', 'EUR'), 1090);
  assert.equal(parseDecimalAmount('10', 'EUR'), 1000);
  assert.equal(parseDecimalAmount('010.990000', 'EUR'), 1099);
  assert.equal(parseDecimalAmount('1250', 'JPY'), 1250);
  assert.equal(parseDecimalAmount('1250.00', 'JPY'), 1250);
  assert.equal(parseDecimalAmount('0.001', 'KWD'), 1);
  assert.equal(parseDecimalAmount('-0.00', 'EUR'), 0);
  assert.ok(Object.is(parseDecimalAmount('-0', 'EUR'), 0));
});

test('numbers that a product would get wrong are right', () => {
  // 1.005, 4.35, 1.1, 8.2 and 0.29 times 100 are not whole in doubles.
  for (const [amount, minor] of [
    [4.35, 435],
    [1.1, 110],
    [8.2, 820],
    [0.29, 29],
    [1001.13, 100113],
    [9999999999.99, amountMax],
  ] as const) {
    assert.equal(toMinorUnits(amount, 'EUR'), minor);
    assert.equal(toAmount(minor, 'EUR'), amount);
    assert.equal(JSON.stringify(toAmount(minor, 'EUR')), String(amount));
  }
  assert.equal(toMinorUnits(1.005, 'KWD'), 1005);
});

test('an amount that is invalid for the currency is rejected', () => {
  for (const text of ['12.505', '0.001', '', '.5', '5.', '1e2', ' 1', '+1', '1,50', 'NaN', '--1']) {
    assert.throws(() => parseDecimalAmount(text, 'EUR'), refuses('amount_invalid'), text);
  }
  assert.throws(() => parseDecimalAmount('12.5', 'JPY'), refuses('amount_invalid'));
  assert.throws(() => parseDecimalAmount('10000000000000.00', 'EUR'), refuses('amount_invalid'));
  for (const minor of [1.5, Number.NaN, 2 ** 53, 10 ** 15, Number.POSITIVE_INFINITY]) {
    assert.throws(
      () => formatDecimalAmount(minor, 'EUR'),
      refuses('amount_invalid'),
      String(minor),
    );
  }
  for (const amount of [1e21, 1e-7, 0.001, Number.NaN]) {
    assert.throws(() => toMinorUnits(amount, 'EUR'), refuses('amount_invalid'), String(amount));
  }
  for (const currency of ['XXX', 'eur', '', 'toString', '__proto__']) {
    assert.throws(() => toAmount(1, currency), refuses('currency_unknown'), currency);
  }
});

// Spec: NEXO-36
test('amounts in every currency stay the same after conversion to text, number and JSON', () => {
  const minor = fc.integer({ min: -(10 ** 15) + 1, max: 10 ** 15 - 1 });
  fc.assert(
    fc.property(minor, fc.constantFrom(...activeCurrencies()), (amount, currency) => {
      const text = formatDecimalAmount(amount, currency);
      assert.equal((text.split('.')[1] ?? '').length, exponentOf(currency));
      assert.equal(parseDecimalAmount(text, currency), amount);
      const onWire = JSON.stringify({ amount: toAmount(amount, currency) });
      assert.equal(
        toMinorUnits((JSON.parse(onWire) as { amount: number }).amount, currency),
        amount,
      );
    }),
    { numRuns: 300 },
  );
});
