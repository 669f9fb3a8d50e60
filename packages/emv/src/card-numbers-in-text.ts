/** Finds card numbers in the free text of a request, which is stored and shown as it came; pure. */

import { schemeOfPan } from './card-schemes.ts';
import { isValidPan, panDigitsMax } from './pan.ts';

/** Whole numbers of thirteen digits are left alone: see `isCardNumber`. */
const cardDigitsMin = 14;

// One UUID in three hundred has thirteen digits and more in a row that would pass for a card.
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const uuids = new RegExp(uuid, 'gi');
const groupedDigits = /\d(?:[\s\p{Cf}._:/-]?\d)+/gu;
const dashedDigits = /\d(?:-?\d)+/g;
/** Those signs of `groupedDigits` that are ASCII. */
const signs: ReadonlySet<number> = new Set(Buffer.from(' \t\n\v\f\r._:/-'));

/**
 * Whether a text contains a card number, also in groups and in other scripts.
 *
 * @param text - free text of another party, such as the description of an order
 * @returns true where it contains a card number of 14 digits or more
 * @example
 * if (holdsCardNumber(order.orderDescription)) rejectOrder(order);
 */
export function holdsCardNumber(text: string): boolean {
  if (!hasLongRun(text)) return false;
  const plain = text.normalize('NFKC').replace(uuids, 'uuid');
  return [groupedDigits, dashedDigits].some((runs) =>
    [...plain.matchAll(runs)].some(([run]) => isCardNumber(run.replace(/\D/g, ''))),
  );
}

/**
 * Whether the text has as many digits in sequence as a card number, with at most one character
 * between two digits. Every sale runs this check; it costs a twentieth of the search. Non-ASCII
 * text may contain digits of other scripts.
 */
function hasLongRun(text: string): boolean {
  let digits = 0;
  let isBehindSign = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) return true;
    if (code >= 0x30 && code <= 0x39) {
      digits += 1;
      if (digits === cardDigitsMin) return true;
      isBehindSign = false;
    } else if (!isBehindSign && signs.has(code)) {
      isBehindSign = true;
    } else {
      digits = 0;
    }
  }
  return false;
}

// Whole numbers alone, and none of thirteen digits: times, counters and product codes are long
// numbers too, and one in ten of them would pass for a part of a card.
function isCardNumber(digits: string): boolean {
  return digits.length >= cardDigitsMin && schemeOfPan(digits) !== 'Unknown' && isValidPan(digits);
}

/** Groups of digits with up to three signs between two of them, whichever signs; UUIDs as they are. */
const looseRuns = new RegExp(
  String.raw`${uuid}|\d+(?:[^\p{L}\p{N}]{1,3}(?!(?<![0-9a-f])${uuid})\d+)*`,
  'giu',
);
const foreignDigitsMin = 13;

type Group = { readonly digits: string; readonly start: number };

/** The neighbouring groups from one on that are a card number together, as digits; 0 where there are none. */
function cardLengthAt(groups: readonly Group[], first: number): number {
  let digits = '';
  for (const group of groups.slice(first)) {
    digits += group.digits;
    if (digits.length > panDigitsMax) return 0;
    const isCard = digits.length >= foreignDigitsMin && schemeOfPan(digits) !== 'Unknown';
    if (isCard && isValidPan(digits)) return digits.length;
  }
  return 0;
}

/** Each digit of a card number but the first six and the last four. */
function hiddenIn(run: string): string {
  const groups = [...run.matchAll(/\d+/g)].map((match) => ({
    digits: match[0],
    start: match.index,
  }));
  const signs = run.split('');
  for (let first = 0; first < groups.length; first += 1) {
    const length = cardLengthAt(groups, first);
    for (let digitCount = 0; digitCount < length; first += 1) {
      const { digits, start } = groups[first] ?? { digits: '', start: 0 };
      for (let at = 0; at < digits.length; at += 1, digitCount += 1) {
        if (digitCount >= 6 && digitCount < length - 4) signs[start + at] = 'x';
      }
      if (digitCount >= length) break;
    }
  }
  return signs.join('');
}

/**
 * Hides card numbers in external text, also in groups with any characters between the digits.
 * Unlike `holdsCardNumber` it may hide too much, because the text is only stored and never used as
 * a key.
 *
 * @param text - such as a provider's reason, or its name for a payment
 * @returns the text with `x` for the inner digits of each card number
 * @example
 * hideCardNumbers('P-4111.1111.1111.1111'); // 'P-4111.11xx.xxxx.1111'
 */
export function hideCardNumbers(text: string): string {
  return text
    .normalize('NFKC')
    .replace(looseRuns, (run) => (/[a-f]/i.test(run) ? run : hiddenIn(run)));
}
