/** Limits of amounts. */

/**
 * The smallest amount of a payment, in minor units. Zero is for an account verification alone.
 *
 * @example
 * if (amount < amountMin) throw new RangeError('amount is below one minor unit');
 */
export const amountMin = 1;

/**
 * The largest amount of a payment, in minor units: the twelve digits of data element 4.
 *
 * Source: ISO 8583:1987, data element 4, `n 12`.
 *
 * @example
 * if (amount > amountMax) throw new RangeError('amount is above twelve digits');
 */
export const amountMax = 999_999_999_999;
