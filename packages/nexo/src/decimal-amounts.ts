/** Amounts: minor units here, decimal numbers of major units in messages, and text between them. */
import { exponentOf } from '@switchyard/money';
import { NexoError } from './errors.ts';
import { amountDigitsMax } from './limits.ts';

const decimal = /^(-?)(\d{1,15})(?:\.(\d{1,15}))?$/;

/**
 * The decimal text of an amount in major units, with all decimals of the currency. Digits are placed;
 * nothing is multiplied or divided.
 *
 * Source: nexo Sale to POI 3.0, `SimpleAmountType`; ISO 4217 for the decimals.
 *
 * @param minor - an integer in minor units, negative for balances alone
 * @param currency - an alphabetic ISO 4217 code
 * @returns for instance `12.50`
 * @throws NexoError `amount_invalid` or `currency_unknown`
 * @example
 * formatDecimalAmount(1250, 'EUR'); // '12.50'
 * formatDecimalAmount(1250, 'JPY'); // '1250'
 */
export function formatDecimalAmount(minor: number, currency: string): string {
  const exponent = exponent4217(currency);
  if (!Number.isSafeInteger(minor)) throw new NexoError('amount_invalid');
  const digits = Math.abs(minor).toString();
  if (digits.length > amountDigitsMax) throw new NexoError('amount_invalid');
  const sign = minor < 0 ? '-' : '';
  if (exponent === 0) return sign + digits;
  const padded = digits.padStart(exponent + 1, '0');
  return `${sign}${padded.slice(0, -exponent)}.${padded.slice(-exponent)}`;
}

/**
 * The minor units of a decimal text in major units.
 *
 * Source: nexo Sale to POI 3.0, `SimpleAmountType`; ISO 4217 for the decimals.
 *
 * @param text - digits, at most one dot, no exponent; further decimals than the currency has must be zeros
 * @param currency - an alphabetic ISO 4217 code
 * @returns an integer in minor units
 * @throws NexoError `amount_invalid` or `currency_unknown`
 * @example
 * parseDecimalAmount('12.5', 'EUR'); // 1250
 * parseDecimalAmount('12.505', 'EUR'); // throws: the cent is not divided
 */
export function parseDecimalAmount(text: string, currency: string): number {
  const exponent = exponent4217(currency);
  const match = decimal.exec(text);
  if (match === null) throw new NexoError('amount_invalid');
  const [, sign = '', whole = '', fraction = ''] = match;
  const beyond = fraction.slice(exponent);
  if (/[1-9]/.test(beyond)) throw new NexoError('amount_invalid');
  const digits = (whole + fraction.slice(0, exponent).padEnd(exponent, '0')).replace(/^0+/, '');
  if (digits.length > amountDigitsMax) throw new NexoError('amount_invalid');
  const minor = Number(digits === '' ? '0' : digits);
  return sign === '-' && minor > 0 ? -minor : minor;
}

/**
 * The number in a message for an amount in minor units.
 *
 * Source: nexo Sale to POI 3.0, `SimpleAmountType`; ISO 4217 for the decimals.
 *
 * @param minor - an integer in minor units
 * @param currency - an alphabetic ISO 4217 code
 * @returns a number that is written as the decimal text is, but for zeros at its end
 * @throws NexoError `amount_invalid` or `currency_unknown`
 * @example
 * const AmountsReq = { Currency: 'EUR', RequestedAmount: toAmount(1250, 'EUR') }; // 12.5
 */
export function toAmount(minor: number, currency: string): number {
  return Number(formatDecimalAmount(minor, currency));
}

/**
 * The minor units of an amount out of a message, by the text of the number. A reading has refused
 * amounts of more digits than a double holds, so that this text is what was sent.
 *
 * Source: nexo Sale to POI 3.0, `SimpleAmountType`; ISO 4217 for the decimals.
 *
 * @param amount - a number out of a message
 * @param currency - an alphabetic ISO 4217 code
 * @returns an integer in minor units
 * @throws NexoError `amount_invalid` or `currency_unknown`
 * @example
 * toMinorUnits(message.body.PaymentTransaction.AmountsReq.RequestedAmount, 'EUR');
 */
export function toMinorUnits(amount: number, currency: string): number {
  return parseDecimalAmount(String(amount), currency);
}

function exponent4217(currency: string): number {
  try {
    return exponentOf(currency);
  } catch (error) {
    if (error instanceof RangeError) throw new NexoError('currency_unknown');
    throw error;
  }
}
