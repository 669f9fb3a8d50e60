// A message as one line for a log, without anything of the card.
import type { Message } from './message.ts';

const PAN_FIELD = 2;

// Other fields may contain card data.
const PRINTED_FIELDS = new Set([
  3, 4, 5, 6, 7, 11, 12, 13, 15, 18, 22, 23, 24, 25, 32, 33, 37, 38, 39, 41, 42, 43, 49, 50, 51, 70,
  90, 95,
]);

/**
 * Masks a card number: the first six and the last four digits stay, and nothing of a number that
 * is too short to hide anything (PCI DSS 4.0, 3.4.1).
 *
 * @param pan digits of a card number
 * @example
 * ```ts
 * maskPan('5413' + '330089010012'); // '541333******0012'
 * ```
 */
export function maskPan(pan: string): string {
  if (pan.length < 13) return '*'.repeat(pan.length);
  return `${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`;
}

/**
 * Masks the value of a field that may contain card data: the card number as {@link maskPan} does, others as their
 * length.
 *
 * @param field the number of the data element
 * @param value as in a decoded message
 * @example
 * ```ts
 * maskField(52, '0123456789ABCDEF'); // '<16>'
 * ```
 */
export function maskField(field: number, value: string): string {
  if (field === PAN_FIELD) return maskPan(value);
  return PRINTED_FIELDS.has(field) ? value : `<${value.length}>`;
}

/**
 * Describes a message in one line that is safe to log: the card number masked, tracks, PIN data,
 * chip data and everything private replaced by its length.
 *
 * @param message a decoded message
 * @returns for example `0200 2=541333******0012 4=000000001234 35=<37> 55=<120>`
 * @example
 * ```ts
 * log.debug(describeMessage(dialect.decode(bytes)));
 * ```
 */
export function describeMessage(message: Message): string {
  const parts = [message.mti];
  for (const [key, value] of Object.entries(message.fields)) {
    if (value !== undefined) parts.push(`${key}=${maskField(Number(key), value)}`);
  }
  return parts.join(' ');
}
