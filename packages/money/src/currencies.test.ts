import assert from 'node:assert/strict';
import { test } from 'node:test';
import { data } from 'currency-codes';
import {
  activeCurrencies,
  alphaOf,
  exponentOf,
  isActiveCurrency,
  numericOf,
} from './currencies.ts';

/** Codes of ISO 4217 that payments are not made in. */
const notForPayments = new Set(
  'BOV CHE CHW CLF COU MXV USN UYI UYW XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(
    ' ',
  ),
);

/** ANG became XCG, Bulgaria took the euro, and CUC has been out of circulation since 2021. */
const withdrawnSince = new Set(['ANG', 'BGN', 'CUC']);
const addedSince = new Set(['XCG']);

test('the table equals the published list but for the differences named here', () => {
  assert.ok(data.length > 170);
  const expected = data
    .filter((row) => !notForPayments.has(row.code) && !withdrawnSince.has(row.code))
    .map((row) => [row.code, row.number, row.digits] as const);
  const ours = activeCurrencies()
    .filter((code) => !addedSince.has(code))
    .map((code) => [code, numericOf(code), exponentOf(code)] as const);
  const byCode = (left: readonly [string, ...unknown[]], right: readonly [string, ...unknown[]]) =>
    left[0].localeCompare(right[0]);
  assert.deepEqual(ours.toSorted(byCode), expected.toSorted(byCode));
});

// Spec: CARDF-1 LIM-1
test('exponents are those of ISO, also where card schemes differ', () => {
  const exponents = { EUR: 2, JPY: 0, KWD: 3, ISK: 0, CLP: 0, HUF: 2, TWD: 2, IDR: 2, CVE: 2 };
  for (const [code, exponent] of Object.entries(exponents)) {
    assert.equal(exponentOf(code), exponent, code);
  }
});

test('metals, funds codes, test codes and inherited names are no currencies to pay in', () => {
  for (const code of [...notForPayments, 'ZZZ', 'eur', '', 'toString', '__proto__', 'EUR ']) {
    assert.equal(isActiveCurrency(code), false, code);
    assert.throws(() => exponentOf(code), RangeError);
    assert.throws(() => numericOf(code), RangeError);
  }
});

// Spec: MONEY-3
test('a withdrawn currency has its exponent and codes, and is inactive after its last day', () => {
  assert.equal(isActiveCurrency('BGN'), false);
  assert.equal(isActiveCurrency('BGN', Date.parse('2025-12-31T23:59:59.999Z')), true);
  assert.equal(isActiveCurrency('BGN', Date.parse('2026-01-01')), false);
  assert.equal(exponentOf('BGN'), 2);
  assert.equal(alphaOf('532'), 'XCG');
  assert.equal(numericOf('ANG'), '532');
});

test('numeric and alphabetic codes lead to each other', () => {
  for (const code of activeCurrencies()) assert.equal(alphaOf(numericOf(code)), code);
  assert.equal(alphaOf('000'), undefined);
  assert.equal(alphaOf('959'), undefined);
});
