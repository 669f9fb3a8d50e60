/** Card schemes by the first digits of a card number. */

/**
 * The schemes of the table; `Unknown` for every other number.
 *
 * @example
 * const scheme: Scheme = 'Visa';
 */
export type Scheme =
  | 'Visa'
  | 'Mastercard'
  | 'Amex'
  | 'Discover'
  | 'Diners'
  | 'Jcb'
  | 'UnionPay'
  | 'Maestro'
  | 'Dankort'
  | 'RuPay'
  | 'Mir'
  | 'Verve'
  | 'Elo'
  | 'Hiper'
  | 'Hipercard'
  | 'Troy'
  | 'Bancontact'
  | 'Meeza'
  | 'Mada'
  | 'Unknown';

/** One row: prefixes from `from` to `to`, both of the same length, and the lengths of the numbers. */
type SchemeRow = readonly [from: string, to: string, scheme: Scheme, lengths: string];

const rows: readonly SchemeRow[] = [
  ['4', '4', 'Visa', '13 16 19'],
  ['51', '55', 'Mastercard', '16'],
  ['2221', '2720', 'Mastercard', '16'],
  ['34', '34', 'Amex', '15'],
  ['37', '37', 'Amex', '15'],
  ['6011', '6011', 'Discover', '16 17 18 19'],
  ['644', '649', 'Discover', '16 17 18 19'],
  ['65', '65', 'Discover', '16 17 18 19'],
  ['300', '305', 'Diners', '14 15 16 17 18 19'],
  ['3095', '3095', 'Diners', '14 15 16 17 18 19'],
  ['36', '36', 'Diners', '14 15 16 17 18 19'],
  ['38', '39', 'Diners', '14 15 16 17 18 19'],
  ['3528', '3589', 'Jcb', '16 17 18 19'],
  ['62', '62', 'UnionPay', '16 17 18 19'],
  ['81', '81', 'UnionPay', '16 17 18 19'],
  ['50', '50', 'Maestro', '12 13 14 15 16 17 18 19'],
  ['56', '58', 'Maestro', '12 13 14 15 16 17 18 19'],
  ['6304', '6304', 'Maestro', '12 13 14 15 16 17 18 19'],
  ['6390', '6390', 'Maestro', '12 13 14 15 16 17 18 19'],
  ['67', '67', 'Maestro', '12 13 14 15 16 17 18 19'],
  ['6703', '6703', 'Bancontact', '16 17'],
  ['5019', '5019', 'Dankort', '16'],
  ['508', '508', 'RuPay', '16'],
  ['60', '60', 'RuPay', '16'],
  ['82', '82', 'RuPay', '16'],
  ['353', '353', 'RuPay', '16'],
  ['356', '356', 'RuPay', '16'],
  ['6521', '6522', 'RuPay', '16'],
  ['2200', '2204', 'Mir', '16 17 18 19'],
  ['506099', '506198', 'Verve', '16 18 19'],
  ['650002', '650027', 'Verve', '16 18 19'],
  ['506699', '506778', 'Elo', '16'],
  ['509000', '509999', 'Elo', '16'],
  ['636297', '636297', 'Elo', '16'],
  ['636368', '636368', 'Elo', '16'],
  ['650031', '650033', 'Elo', '16'],
  ['650035', '650051', 'Elo', '16'],
  ['650405', '650439', 'Elo', '16'],
  ['637095', '637095', 'Hiper', '16'],
  ['637568', '637568', 'Hiper', '16'],
  ['637599', '637599', 'Hiper', '16'],
  ['637609', '637609', 'Hiper', '16'],
  ['637612', '637612', 'Hiper', '16'],
  ['606282', '606282', 'Hipercard', '16'],
  ['9792', '9792', 'Troy', '16'],
  ['5078', '5078', 'Meeza', '16'],
  ['588845', '588851', 'Mada', '16'],
  ['968201', '968211', 'Mada', '16'],
];

const prefixDigitsMax = 6;

type SchemeRange = { from: number; to: number; scheme: Scheme; lengths: ReadonlySet<number> };

/** The ranges by the length of their prefix, so that the longest prefix is asked first. */
const rangesByDigits: readonly (readonly SchemeRange[])[] = Array.from(
  { length: prefixDigitsMax + 1 },
  (_, digits) =>
    rows
      .filter(([from]) => from.length === digits)
      .map(([from, to, scheme, lengths]) => ({
        from: Number(from),
        to: Number(to),
        scheme,
        lengths: new Set(lengths.split(' ').map(Number)),
      })),
);

/**
 * The scheme of a card number: the longest prefix of the table that fits in prefix and length.
 *
 * Ranges overlap in truth (60, 62, 65, 35), so this names a card on a receipt and no more: routing
 * needs the acquirer's own table of eight-digit prefixes.
 *
 * @param pan - a whole card number, digits alone
 * @returns the scheme, or `Unknown`
 * @example
 * schemeOf('6011111111111117'); // 'Discover'
 */
export function schemeOf(pan: string): Scheme {
  for (let digits = prefixDigitsMax; digits > 0; digits -= 1) {
    const prefix = Number(pan.slice(0, digits));
    const range = rangesByDigits[digits]?.find(
      ({ from, to, lengths }) => prefix >= from && prefix <= to && lengths.has(pan.length),
    );
    if (range !== undefined) return range.scheme;
  }
  return 'Unknown';
}
