/** Amounts as people type them, as integers in minor units; nothing is rounded. */
import { amountMax, exponentOf } from '@switchyard/money';

/** The signs with which a locale writes numbers. */
function signsOf(locale: string): { readonly decimal: string; readonly group: string } {
  const parts = new Intl.NumberFormat(locale).formatToParts(12345.6);
  const sign = (type: string) => parts.find((part) => part.type === type)?.value;
  return { decimal: sign('decimal') ?? '.', group: sign('group') ?? ',' };
}

/**
 * Undefined for what is no amount above zero. The sign of the locale parts the decimals, and so does
 * the other one where it can mean nothing else.
 */
export function parseAmount(text: string, currency: string, locale: string): number | undefined {
  const exponent = exponentOf(currency);
  const { decimal, group } = signsOf(locale);
  const compact = text.trim().replaceAll(/[\s\u00a0\u202f'’]/g, '');
  const groups = new RegExp(`^\\d{1,3}(?:\\${group}\\d{3})+(?:\\${decimal}\\d*)?$`);
  const plain = groups.test(compact) ? compact.replaceAll(group, '') : compact;
  const match = /^(\d+)(?:[.,](\d*))?$/.exec(plain);
  if (match === null) return undefined;
  const [, whole = '', decimals = ''] = match;
  if (decimals.length > exponent || whole.length > 13) return undefined;
  const minor = Number(whole + decimals.padEnd(exponent, '0'));
  return minor >= 1 && minor <= amountMax ? minor : undefined;
}

/** As it stands in a field: without the currency, and without groups. */
export function writeAmount(minor: number, currency: string, locale: string): string {
  const exponent = exponentOf(currency);
  const digits = String(minor).padStart(exponent + 1, '0');
  if (exponent === 0) return digits;
  return `${digits.slice(0, -exponent)}${signsOf(locale).decimal}${digits.slice(-exponent)}`;
}
