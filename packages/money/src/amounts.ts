/** Arithmetic and texts of amounts, in integers alone. */
import { exponentOf } from './currencies.ts';
import { amountMax, amountMin } from './limits.ts';

/**
 * Returns whether a value is an amount that a payment can have.
 *
 * @param value - any value
 * @returns true for an integer from {@link amountMin} to {@link amountMax}
 * @example
 * isPaymentAmount(1050); // true
 * isPaymentAmount(10.5); // false
 */
export function isPaymentAmount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= amountMin && Number(value) <= amountMax;
}

/**
 * The sum of amounts. It is a bigint: ten thousand of the largest amounts pass the integers that a
 * number holds exactly.
 *
 * @param amounts - amounts in minor units of one currency, as numbers or bigints
 * @returns the sum in minor units
 * @throws RangeError for a number that is not a safe integer
 * @example
 * sumAmounts([1050, 950n]); // 2000n
 */
export function sumAmounts(amounts: Iterable<number | bigint>): bigint {
  let sum = 0n;
  for (const amount of amounts) {
    if (typeof amount === 'number' && !Number.isSafeInteger(amount)) {
      throw new RangeError('An amount is an integer in minor units');
    }
    sum += BigInt(amount);
  }
  return sum;
}

/**
 * The text of an amount for receipts and logs: decimals after the currency's exponent, a dot, no
 * grouping, and the alphabetic code.
 *
 * @param minor - the amount in minor units; negative ones get a leading minus
 * @param currency - an alphabetic ISO 4217 code
 * @returns for instance `10.50 EUR`
 * @throws RangeError for an unknown currency or a number that is not a safe integer
 * @example
 * formatAmount(1050, 'EUR'); // '10.50 EUR'
 * formatAmount(1050, 'JPY'); // '1050 JPY'
 * formatAmount(1050, 'KWD'); // '1.050 KWD'
 */
export function formatAmount(minor: number | bigint, currency: string): string {
  const exponent = exponentOf(currency);
  const amount = sumAmounts([minor]);
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(exponent + 1, '0');
  if (exponent === 0) return `${sign}${digits} ${currency}`;
  const whole = digits.slice(0, -exponent);
  return `${sign}${whole}.${digits.slice(-exponent)} ${currency}`;
}
