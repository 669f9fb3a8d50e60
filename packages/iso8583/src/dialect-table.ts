// The vocabulary in which a dialect of ISO 8583 is written down as data.

/**
 * The content class of a value (ISO 8583:1987, clause 4, attribute notation).
 *
 * - `n` digits · `an` letters, digits, space · `ans` printable characters
 * - `z` track 2: digits and the separator (`=`; `D` in BCD)
 * - `x+n` an amount with its sign character (`C`, `D`, or `0` where the host sends none) in front
 * - `b` bytes, as upper-case hex in a message · `tlv` the same, known to hold BER-TLV (DE55)
 */
export type Content = 'n' | 'an' | 'ans' | 'z' | 'x+n' | 'b' | 'tlv';

/** `fixed`, or the number of digits of the length indicator in front of a variable value. */
export type FieldSize = 'fixed' | 'LL' | 'LLL' | 'LLLL' | 'LLLLLL';

/** How characters stand on the wire; EBCDIC is code page 037. */
export type Charset = 'ascii' | 'ebcdic';

/** The encoding of a value: as characters, packed decimal, plain bytes, or hex text. */
export type ValueEncoding = Charset | 'bcd' | 'raw' | 'hex';

/** The encoding of a length indicator. */
export type LengthEncoding = Charset | 'bcd' | 'binary';

/** One data element of a dialect. */
export type FieldFormat = {
  /** The standard's name, for people. */
  readonly name: string;
  readonly content: Content;
  readonly size: FieldSize;
  /** Digits or characters (for `x+n` the sign counts as one), bytes for `b` and `tlv`. */
  readonly max: number;
  /** Overrides what the table says for this kind of content. */
  readonly encoding?: ValueEncoding;
  /** Overrides the table's length encoding. */
  readonly lengthEncoding?: LengthEncoding;
  /** The alignment of an odd number of BCD digits; default `right` when fixed, `left` when variable. */
  readonly justify?: 'left' | 'right';
  /** The filler nibble of an odd number of BCD digits; default `0`. */
  readonly pad?: '0' | 'F';
};

/**
 * A dialect as data. Lengths count digits for BCD values and bytes for binary ones, never the
 * bytes on the wire.
 */
export type DialectTable = {
  readonly name: string;
  /** `none` serves sub-messages that have a bitmap but no message type. */
  readonly mti: Charset | 'bcd' | 'none';
  /** Eight raw bytes, or sixteen hex characters, per bitmap. */
  readonly bitmap: 'binary' | 'hex';
  /** `grows`: the second bitmap is there when bit 1 says so. `fixed16`: it always is. */
  readonly bitmapSize: 'grows' | 'fixed16';
  /** Characters of `an` and `ans` values, of signs, and of hex text. */
  readonly text: Charset;
  /** Digits of `n`, `z` and `x+n` values. */
  readonly numerics: Charset | 'bcd';
  readonly lengths: LengthEncoding;
  /** `b` and `tlv` values. */
  readonly binaries: 'raw' | 'hex';
  /** The data elements 2 to 128 (65, the third bitmap, is not supported). */
  readonly fields: { readonly [field: number]: FieldFormat };
};
