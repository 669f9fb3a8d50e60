/** Currencies: which ones payments are made in, their numeric codes and their exponents. */
import currencies from './currencies.json' with { type: 'json' };

type CurrencyFacts = { readonly numeric: string; readonly exponent: number };

const active: Readonly<Record<string, CurrencyFacts>> = currencies.active;

/** An older transaction can still be in a withdrawn currency; sales in it are refused from `refusedFrom`. */
const withdrawn: Readonly<Record<string, CurrencyFacts & { readonly refusedFrom: string }>> =
  currencies.withdrawn;

/** The active currency comes last, so that it wins where two share a number. */
const factsByAlpha = new Map<string, CurrencyFacts>([
  ...Object.entries(withdrawn),
  ...Object.entries(active),
]);
const alphaByNumeric = new Map(
  [...factsByAlpha].map(([alpha, { numeric }]) => [numeric, alpha] as const),
);

/** The facts of a currency that is or was active. */
function factsOf(alpha: string): CurrencyFacts {
  const facts = factsByAlpha.get(alpha);
  if (facts === undefined) throw new RangeError('Unknown currency code');
  return facts;
}

/**
 * Returns whether payments can be made in a currency.
 *
 * Precious metals (XAU, XAG, XPD, XPT), bond market and settlement units (XBA to XBD, XDR, XSU,
 * XUA), the codes for testing and for no currency (XTS, XXX) and funds codes (BOV, CHE, CHW, CLF,
 * COU, MXV, USN, UYI, UYW) stand in ISO 4217 and are refused: they are not used for payments.
 *
 * Source: ISO 4217, list one, and its amendments up to the one that withdrew BGN.
 *
 * @param alpha - an alphabetic code in upper case
 * @param atMs - the time of the sale in epoch milliseconds; without it, the present list counts
 * @returns true for an active currency of the table
 * @example
 * isActiveCurrency('EUR'); // true
 * isActiveCurrency('XAU'); // false
 */
export function isActiveCurrency(alpha: string, atMs?: number): boolean {
  if (Object.hasOwn(active, alpha)) return true;
  if (atMs === undefined || !Object.hasOwn(withdrawn, alpha)) return false;
  const day = withdrawn[alpha]?.refusedFrom;
  return day !== undefined && atMs < Date.parse(day);
}

/**
 * Every active currency, sorted by its alphabetic code.
 *
 * @returns alphabetic codes
 * @example
 * activeCurrencies().length; // 155
 */
export function activeCurrencies(): string[] {
  return Object.keys(active);
}

/**
 * The exponent of a currency: the number of decimals of its minor unit.
 *
 * The exponent is ISO's, also where a card scheme or an acquirer uses another one; such an acquirer
 * is served by its adapter.
 *
 * @param alpha - an alphabetic code, active or withdrawn
 * @returns 0, 2 or 3
 * @throws RangeError for an unknown code
 * @example
 * exponentOf('JPY'); // 0
 */
export function exponentOf(alpha: string): number {
  return factsOf(alpha).exponent;
}

/**
 * The numeric code of a currency, as data element 49 and tag 5F2A carry it.
 *
 * @param alpha - an alphabetic code, active or withdrawn
 * @returns three digits
 * @throws RangeError for an unknown code
 * @example
 * numericOf('EUR'); // '978'
 */
export function numericOf(alpha: string): string {
  return factsOf(alpha).numeric;
}

/**
 * The alphabetic code of a numeric code; the active one where two share a number.
 *
 * @param numeric - three digits; the four digits of tag 5F2A without their leading zero
 * @returns the alphabetic code, or undefined where payments are not made in that currency
 * @example
 * alphaOf('978'); // 'EUR'
 */
export function alphaOf(numeric: string): string | undefined {
  return alphaByNumeric.get(numeric);
}
