/** Converts between typed amounts and integers in minor units, without rounding. */
import { amountMax, exponentOf } from '@switchyard/money';

/** The decimal and group separators of a locale. */
function numberSigns(locale: string): { readonly decimal: string; readonly group: string } {
  const parts = new Intl.NumberFormat(locale).formatToParts(12345.6);
  const sign = (type: string) => parts.find((part) => part.type === type)?.value;
  return { decimal: sign('decimal') ?? '.', group: sign('group') ?? ',' };
}

/**
 * Returns undefined if the text is not an amount above zero. It accepts the decimal separator of
 * the locale, and the other separator if the meaning is clear.
 */
export function parseAmount(text: string, currency: string, locale: string): number | undefined {
  const exponent = exponentOf(currency);
  const { decimal, group } = numberSigns(locale);
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

/** The text for an input: without currency and without group separators. */
export function formatAmountInput(minor: number, currency: string, locale: string): string {
  const exponent = exponentOf(currency);
  const digits = String(minor).padStart(exponent + 1, '0');
  if (exponent === 0) return digits;
  return `${digits.slice(0, -exponent)}${numberSigns(locale).decimal}${digits.slice(-exponent)}`;
}
