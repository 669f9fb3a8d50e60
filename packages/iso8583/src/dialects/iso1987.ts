// The dialects of ISO 8583:1987 that are spoken here.
import type { DialectTable, FieldFormat } from '../dialect-table.ts';
import { fixed, sameForFields, variable } from './field-formats.ts';

// Track 3, track 1 and the additional data are wider than the standard's letters: the public
// sample messages put free text there.
const fields: { readonly [field: number]: FieldFormat } = {
  2: variable('LL', 'n', 19, 'Primary account number'),
  3: fixed('n', 6, 'Processing code'),
  4: fixed('n', 12, 'Amount, transaction'),
  5: fixed('n', 12, 'Amount, settlement'),
  6: fixed('n', 12, 'Amount, cardholder billing'),
  7: fixed('n', 10, 'Transmission date and time'),
  8: fixed('n', 8, 'Amount, cardholder billing fee'),
  9: fixed('n', 8, 'Conversion rate, settlement'),
  10: fixed('n', 8, 'Conversion rate, cardholder billing'),
  11: fixed('n', 6, 'System trace audit number'),
  12: fixed('n', 6, 'Time, local transaction'),
  13: fixed('n', 4, 'Date, local transaction'),
  14: fixed('n', 4, 'Date, expiration'),
  15: fixed('n', 4, 'Date, settlement'),
  16: fixed('n', 4, 'Date, conversion'),
  17: fixed('n', 4, 'Date, capture'),
  18: fixed('n', 4, "Merchant's type"),
  19: fixed('n', 3, 'Acquiring institution country code'),
  20: fixed('n', 3, 'Primary account number extended, country code'),
  21: fixed('n', 3, 'Forwarding institution country code'),
  22: fixed('n', 3, 'Point of service entry mode'),
  23: fixed('n', 3, 'Card sequence number'),
  24: fixed('n', 3, 'Network international identifier'),
  25: fixed('n', 2, 'Point of service condition code'),
  26: fixed('n', 2, 'Point of service PIN capture code'),
  27: fixed('n', 1, 'Authorization identification response length'),
  28: fixed('x+n', 9, 'Amount, transaction fee'),
  29: fixed('x+n', 9, 'Amount, settlement fee'),
  30: fixed('x+n', 9, 'Amount, transaction processing fee'),
  31: fixed('x+n', 9, 'Amount, settlement processing fee'),
  32: variable('LL', 'n', 11, 'Acquiring institution identification code'),
  33: variable('LL', 'n', 11, 'Forwarding institution identification code'),
  34: variable('LL', 'ans', 28, 'Primary account number, extended'),
  35: variable('LL', 'z', 37, 'Track 2 data'),
  36: variable('LLL', 'ans', 104, 'Track 3 data'),
  37: fixed('an', 12, 'Retrieval reference number'),
  38: fixed('an', 6, 'Authorization identification response'),
  39: fixed('an', 2, 'Response code'),
  40: fixed('an', 3, 'Service restriction code'),
  41: fixed('ans', 8, 'Card acceptor terminal identification'),
  42: fixed('ans', 15, 'Card acceptor identification code'),
  43: fixed('ans', 40, 'Card acceptor name and location'),
  44: variable('LL', 'ans', 25, 'Additional response data'),
  45: variable('LL', 'ans', 76, 'Track 1 data'),
  46: variable('LLL', 'ans', 999, 'Additional data, ISO'),
  47: variable('LLL', 'ans', 999, 'Additional data, national'),
  48: variable('LLL', 'ans', 999, 'Additional data, private'),
  49: fixed('an', 3, 'Currency code, transaction'),
  50: fixed('an', 3, 'Currency code, settlement'),
  51: fixed('an', 3, 'Currency code, cardholder billing'),
  52: fixed('b', 8, 'Personal identification number data'),
  53: fixed('n', 16, 'Security related control information'),
  54: variable('LLL', 'ans', 120, 'Additional amounts'),
  ...sameForFields(55, 56, variable('LLL', 'ans', 999, 'Reserved, ISO')),
  ...sameForFields(57, 59, variable('LLL', 'ans', 999, 'Reserved, national')),
  ...sameForFields(60, 63, variable('LLL', 'ans', 999, 'Reserved, private')),
  64: fixed('b', 8, 'Message authentication code'),
  66: fixed('n', 1, 'Settlement code'),
  67: fixed('n', 2, 'Extended payment code'),
  68: fixed('n', 3, 'Receiving institution country code'),
  69: fixed('n', 3, 'Settlement institution country code'),
  70: fixed('n', 3, 'Network management information code'),
  71: fixed('n', 4, 'Message number'),
  72: fixed('n', 4, 'Message number, last'),
  73: fixed('n', 6, 'Date, action'),
  74: fixed('n', 10, 'Credits, number'),
  75: fixed('n', 10, 'Credits, reversal number'),
  76: fixed('n', 10, 'Debits, number'),
  77: fixed('n', 10, 'Debits, reversal number'),
  78: fixed('n', 10, 'Transfer, number'),
  79: fixed('n', 10, 'Transfer, reversal number'),
  80: fixed('n', 10, 'Inquiries, number'),
  81: fixed('n', 10, 'Authorizations, number'),
  82: fixed('n', 12, 'Credits, processing fee amount'),
  83: fixed('n', 12, 'Credits, transaction fee amount'),
  84: fixed('n', 12, 'Debits, processing fee amount'),
  85: fixed('n', 12, 'Debits, transaction fee amount'),
  86: fixed('n', 16, 'Credits, amount'),
  87: fixed('n', 16, 'Credits, reversal amount'),
  88: fixed('n', 16, 'Debits, amount'),
  89: fixed('n', 16, 'Debits, reversal amount'),
  90: fixed('n', 42, 'Original data elements'),
  91: fixed('an', 1, 'File update code'),
  92: fixed('an', 2, 'File security code'),
  93: fixed('an', 5, 'Response indicator'),
  94: fixed('an', 7, 'Service indicator'),
  95: fixed('an', 42, 'Replacement amounts'),
  96: fixed('b', 8, 'Message security code'),
  97: fixed('x+n', 17, 'Amount, net settlement'),
  98: fixed('ans', 25, 'Payee'),
  99: variable('LL', 'n', 11, 'Settlement institution identification code'),
  100: variable('LL', 'n', 11, 'Receiving institution identification code'),
  101: variable('LL', 'ans', 17, 'File name'),
  102: variable('LL', 'ans', 28, 'Account identification 1'),
  103: variable('LL', 'ans', 28, 'Account identification 2'),
  104: variable('LLL', 'ans', 100, 'Transaction description'),
  ...sameForFields(105, 111, variable('LLL', 'ans', 999, 'Reserved, ISO')),
  ...sameForFields(112, 119, variable('LLL', 'ans', 999, 'Reserved, national')),
  ...sameForFields(120, 127, variable('LLL', 'ans', 999, 'Reserved, private')),
  128: fixed('b', 8, 'Message authentication code 2'),
};

/**
 * ISO 8583:1987 in characters: message type, lengths and digits in ASCII, bitmap and binary
 * fields as hex text. DE55 is text, as in the days before EMV.
 *
 * @example
 * ```ts
 * const dialect = compileDialect(iso1987Ascii);
 * ```
 */
export const iso1987Ascii: DialectTable = {
  name: 'ISO 8583:1987 ASCII',
  mti: 'ascii',
  bitmap: 'hex',
  bitmapSize: 'grows',
  text: 'ascii',
  numerics: 'ascii',
  lengths: 'ascii',
  binaries: 'hex',
  fields,
};

/**
 * ISO 8583:1987 packed: message type, digits and lengths in BCD, bitmap and binary fields as
 * bytes; odd fixed numbers have a leading 0, odd variable ones and track 2 a trailing 0; DE28 to
 * 31 are a sign character and BCD; DE49 to 51 and DE55 are text.
 *
 * @example
 * ```ts
 * const dialect = compileDialect(iso1987Binary);
 * ```
 */
export const iso1987Binary: DialectTable = {
  name: 'ISO 8583:1987 binary',
  mti: 'bcd',
  bitmap: 'binary',
  bitmapSize: 'grows',
  text: 'ascii',
  numerics: 'bcd',
  lengths: 'bcd',
  binaries: 'raw',
  fields,
};

/**
 * {@link iso1987Binary} with chip data: DE55 is BER-TLV in bytes, at most 255 of them
 * (EMV Book 4, 12.1).
 *
 * @example
 * ```ts
 * const dialect = compileDialect(iso1987BinaryEmv);
 * ```
 */
export const iso1987BinaryEmv: DialectTable = {
  ...iso1987Binary,
  name: 'ISO 8583:1987 binary with chip data',
  fields: {
    ...fields,
    55: variable('LLL', 'tlv', 255, 'Integrated circuit card system related data'),
  },
};
