/** Card numbers: check digit, masking, and finding them in text. */
import { passesLuhn } from '@switchyard/contract';
import { schemeOfPan } from './card-schemes.ts';

/**
 * The shortest card number, in digits.
 *
 * Source: ISO/IEC 7812-1.
 *
 * @example
 * if (pan.length < panDigitsMin) reject();
 */
export const panDigitsMin = 12;

/**
 * The longest card number, in digits.
 *
 * Source: ISO/IEC 7812-1.
 *
 * @example
 * if (pan.length > panDigitsMax) reject();
 */
export const panDigitsMax = 19;

/**
 * Returns whether a text is a card number: 12 to 19 digits with the right check digit.
 *
 * @param pan - the text
 * @returns true for a card number
 * @example
 * isValidPan('5555555555554444'); // true
 */
export function isValidPan(pan: string): boolean {
  return pan.length >= panDigitsMin && pan.length <= panDigitsMax && passesLuhn(pan);
}

/**
 * A card number for display: the first six and the last four digits. Of a number with less than 14
 * digits fewer of the first ones are shown, so that at least four are always hidden.
 *
 * Source: PCI DSS 3.4.1 and the PCI SSC's FAQ 1091 on truncation.
 *
 * @param pan - digits alone
 * @returns the number with `*` for each hidden digit; all of it hidden when it has under 8 digits
 * @example
 * maskPan('4111111111111111'); // '411111******1111'
 */
export function maskPan(pan: string): string {
  const hiddenMin = 4;
  if (pan.length < 2 * hiddenMin) return '*'.repeat(pan.length);
  const last = 4;
  const first = Math.min(6, pan.length - last - hiddenMin);
  const hidden = pan.length - first - last;
  return pan.slice(0, first) + '*'.repeat(hidden) + pan.slice(pan.length - last);
}

/**
 * The position of a card number in a text.
 *
 * @example
 * const [span] = findPans('card 4111 1111 1111 1111'); // { start: 5, end: 24 }
 */
export type TextSpan = { readonly start: number; readonly end: number };

/** Rows of digits, alone or with one space or dash between two of them. */
const digitRuns = /\d(?:[ -]?\d){11,}/g;

/** The length of the card number that begins at a digit of a run, or 0. */
function panLengthAt(digits: string, start: number): number {
  const longest = Math.min(panDigitsMax, digits.length - start);
  for (let length = longest; length >= 13; length -= 1) {
    const candidate = digits.slice(start, start + length);
    if (schemeOfPan(candidate) !== 'Unknown' && passesLuhn(candidate)) return length;
  }
  return 0;
}

/** A whole run that passes the check digit counts for every scheme, except times of day. */
function isWholePan(digits: string): boolean {
  if (digits.length < 13 || digits.length > panDigitsMax || !passesLuhn(digits)) return false;
  // Epoch milliseconds, microseconds and nanoseconds begin with 1; so do cards of 15 digits alone.
  if (digits.startsWith('1')) return digits.length === 15;
  return !digits.startsWith('0');
}

/**
 * Finds card numbers in a text: 13 to 19 digits, also in groups, also inside a longer row of
 * digits, that pass the check digit and begin like a card of a known scheme.
 *
 * It finds too much rather than too little: one number in ten that looks like a card passes.
 *
 * @param text - any text
 * @returns the places, in order, not overlapping
 * @example
 * findPans('order 12, card 5105-1051-0510-5100').length; // 1
 */
export function findPans(text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  for (const match of text.matchAll(digitRuns)) {
    const digitIndexes: number[] = [];
    for (let index = 0; index < match[0].length; index += 1) {
      const code = match[0].charCodeAt(index);
      if (code >= 48 && code <= 57) digitIndexes.push(match.index + index);
    }
    const digits = digitIndexes.map((index) => text[index]).join('');
    const step = (start: number) =>
      start === 0 && isWholePan(digits) ? digits.length : panLengthAt(digits, start);
    for (let start = 0; start < digits.length; ) {
      const length = step(start);
      const first = digitIndexes[start];
      const last = digitIndexes[start + length - 1];
      if (length > 0 && first !== undefined && last !== undefined) {
        spans.push({ start: first, end: last + 1 });
      }
      start += Math.max(1, length);
    }
  }
  return spans;
}

/**
 * Returns whether a text contains a card number.
 *
 * @param text - any text
 * @returns true where {@link findPans} finds one
 * @example
 * looksLikePan('paid with 4012 8888 8888 1881'); // true
 */
export function looksLikePan(text: string): boolean {
  return findPans(text).length > 0;
}

/**
 * A text with every card number replaced by its masked form.
 *
 * @param text - any text
 * @returns the text without card numbers
 * @example
 * redactPans('pan=4111111111111111'); // 'pan=411111******1111'
 */
export function redactPans(text: string): string {
  let redacted = '';
  let done = 0;
  const spans = findPans(text);
  if (spans.length === 0) return text;
  for (const { start, end } of spans) {
    redacted += text.slice(done, start) + maskPan(text.slice(start, end).replace(/\D/g, ''));
    done = end;
  }
  // The rest of a run may form another card number with the following digits.
  return redactPans(redacted + text.slice(done));
}
