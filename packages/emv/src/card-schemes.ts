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
  ['507865', '507866', 'Verve', '16 18 19'],
  ['507868', '507877', 'Verve', '16 18 19'],
  ['507880', '507888', 'Verve', '16 18 19'],
  ['507900', '507900', 'Verve', '16 18 19'],
  ['507941', '507941', 'Verve', '16 18 19'],
  ['650002', '650027', 'Verve', '16 18 19'],
  ['401178', '401179', 'Elo', '16'],
  ['431274', '431274', 'Elo', '16'],
  ['438935', '438935', 'Elo', '16'],
  ['451416', '451416', 'Elo', '16'],
  ['457393', '457393', 'Elo', '16'],
  ['457631', '457632', 'Elo', '16'],
  ['504175', '504175', 'Elo', '16'],
  ['506699', '506778', 'Elo', '16'],
  ['509000', '509999', 'Elo', '16'],
  ['627780', '627780', 'Elo', '16'],
  ['636297', '636297', 'Elo', '16'],
  ['636368', '636368', 'Elo', '16'],
  ['650031', '650033', 'Elo', '16'],
  ['650035', '650051', 'Elo', '16'],
  ['650405', '650439', 'Elo', '16'],
  ['650485', '650538', 'Elo', '16'],
  ['650541', '650598', 'Elo', '16'],
  ['650700', '650718', 'Elo', '16'],
  ['650720', '650727', 'Elo', '16'],
  ['650901', '650978', 'Elo', '16'],
  ['651652', '651679', 'Elo', '16'],
  ['655000', '655019', 'Elo', '16'],
  ['655021', '655058', 'Elo', '16'],
  ['637095', '637095', 'Hiper', '16'],
  ['637568', '637568', 'Hiper', '16'],
  ['637599', '637599', 'Hiper', '16'],
  ['637609', '637609', 'Hiper', '16'],
  ['637612', '637612', 'Hiper', '16'],
  ['63737423', '63737423', 'Hiper', '16'],
  ['63743358', '63743358', 'Hiper', '16'],
  ['606282', '606282', 'Hipercard', '16'],
  ['9792', '9792', 'Troy', '16'],
  ['5078', '5078', 'Meeza', '16'],
  ['400861', '400861', 'Mada', '16'],
  ['401757', '401757', 'Mada', '16'],
  ['406136', '406136', 'Mada', '16'],
  ['406996', '406996', 'Mada', '16'],
  ['407197', '407197', 'Mada', '16'],
  ['407395', '407395', 'Mada', '16'],
  ['409201', '409201', 'Mada', '16'],
  ['410621', '410621', 'Mada', '16'],
  ['410685', '410685', 'Mada', '16'],
  ['412565', '412565', 'Mada', '16'],
  ['417633', '417633', 'Mada', '16'],
  ['420132', '420132', 'Mada', '16'],
  ['421141', '421141', 'Mada', '16'],
  ['422817', '422819', 'Mada', '16'],
  ['428331', '428331', 'Mada', '16'],
  ['428671', '428673', 'Mada', '16'],
  ['431361', '431361', 'Mada', '16'],
  ['432328', '432328', 'Mada', '16'],
  ['434107', '434107', 'Mada', '16'],
  ['439954', '439954', 'Mada', '16'],
  ['440533', '440533', 'Mada', '16'],
  ['440647', '440647', 'Mada', '16'],
  ['440795', '440795', 'Mada', '16'],
  ['445564', '445564', 'Mada', '16'],
  ['446393', '446393', 'Mada', '16'],
  ['446404', '446404', 'Mada', '16'],
  ['446672', '446672', 'Mada', '16'],
  ['455036', '455036', 'Mada', '16'],
  ['455708', '455708', 'Mada', '16'],
  ['457865', '457865', 'Mada', '16'],
  ['457997', '457997', 'Mada', '16'],
  ['458456', '458456', 'Mada', '16'],
  ['462220', '462220', 'Mada', '16'],
  ['468540', '468543', 'Mada', '16'],
  ['474491', '474491', 'Mada', '16'],
  ['483010', '483012', 'Mada', '16'],
  ['484783', '484783', 'Mada', '16'],
  ['486094', '486096', 'Mada', '16'],
  ['489317', '489319', 'Mada', '16'],
  ['493428', '493428', 'Mada', '16'],
  ['504300', '504300', 'Mada', '16'],
  ['506968', '506968', 'Mada', '16'],
  ['508160', '508160', 'Mada', '16'],
  ['513213', '513213', 'Mada', '16'],
  ['520058', '520058', 'Mada', '16'],
  ['521076', '521076', 'Mada', '16'],
  ['524130', '524130', 'Mada', '16'],
  ['524514', '524514', 'Mada', '16'],
  ['529415', '529415', 'Mada', '16'],
  ['529741', '529741', 'Mada', '16'],
  ['530060', '530060', 'Mada', '16'],
  ['530906', '530906', 'Mada', '16'],
  ['531095', '531095', 'Mada', '16'],
  ['531196', '531196', 'Mada', '16'],
  ['532013', '532013', 'Mada', '16'],
  ['535825', '535825', 'Mada', '16'],
  ['535989', '535989', 'Mada', '16'],
  ['536023', '536023', 'Mada', '16'],
  ['537767', '537767', 'Mada', '16'],
  ['539931', '539931', 'Mada', '16'],
  ['543085', '543085', 'Mada', '16'],
  ['543357', '543357', 'Mada', '16'],
  ['549760', '549760', 'Mada', '16'],
  ['554180', '554180', 'Mada', '16'],
  ['557606', '557606', 'Mada', '16'],
  ['558848', '558848', 'Mada', '16'],
  ['585265', '585265', 'Mada', '16'],
  ['588845', '588851', 'Mada', '16'],
  ['588982', '588983', 'Mada', '16'],
  ['589005', '589005', 'Mada', '16'],
  ['589206', '589206', 'Mada', '16'],
  ['604906', '604906', 'Mada', '16'],
  ['605141', '605141', 'Mada', '16'],
  ['636120', '636120', 'Mada', '16'],
  ['968201', '968211', 'Mada', '16'],
];

type SchemeRange = {
  digits: number;
  from: number;
  to: number;
  scheme: Scheme;
  lengths: ReadonlySet<number>;
};

/** The ranges of each first digit, the longest prefix first. */
const rangesOf: readonly (readonly SchemeRange[])[] = Array.from({ length: 10 }, (_, first) =>
  rows
    .filter(([from]) => from.startsWith(String(first)))
    .map(([from, to, scheme, lengths]) => ({
      digits: from.length,
      from: Number(from),
      to: Number(to),
      scheme,
      lengths: new Set(lengths.split(' ').map(Number)),
    }))
    .sort((one, other) => other.digits - one.digits),
);

/**
 * The scheme of a card number: the longest prefix of the table that fits in prefix and length.
 *
 * Ranges overlap in truth (60, 62, 65, 81, 35), and many cards carry two schemes, of which the local
 * one is named: enough for a receipt and for a rule of thumb, while an acquirer that routes by scheme
 * has a table of eight-digit prefixes of its own.
 *
 * @param pan - a whole card number, digits alone
 * @returns the scheme, or `Unknown`
 * @example
 * schemeOfPan('6011111111111117'); // 'Discover'
 */
export function schemeOfPan(pan: string): Scheme {
  const ranges = rangesOf[pan.charCodeAt(0) - 48] ?? [];
  let prefixDigits = 0;
  let prefix = 0;
  // Ranges are sorted by digits, so the prefix is computed once per length.
  for (const { digits, from, to, scheme, lengths } of ranges) {
    if (digits !== prefixDigits) {
      prefixDigits = digits;
      prefix = Number(pan.slice(0, digits));
    }
    if (prefix >= from && prefix <= to && lengths.has(pan.length)) return scheme;
  }
  return 'Unknown';
}
