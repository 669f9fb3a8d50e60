// The members of a dialect table: encodings of a message, and formats of fields and their parts.

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
export type FieldSize = 'fixed' | 'L' | 'LL' | 'LLL' | 'LLLL' | 'LLLLL' | 'LLLLLL';

/** A character set: ASCII, or EBCDIC in code page 037 (`ebcdic`), 1047 or 500. */
export type Charset = 'ascii' | 'ebcdic' | 'ebcdic1047' | 'ebcdic500';

/** Bytes as hexadecimal characters: in the character set of the table's text, in ASCII or in EBCDIC. */
export type HexEncoding = 'hex' | 'hexAscii' | 'hexEbcdic';

/**
 * The encoding of a value: as characters, packed decimal, plain bytes, or hex text. `zoned` is an amount in EBCDIC
 * whose last digit has the sign in its first half: C or D, and F without a sign.
 */
export type ValueEncoding = Charset | 'bcd' | 'raw' | 'zoned' | HexEncoding;

/**
 * The encoding of a length indicator. `binary` has its highest byte first, `littleEndian` last; `hex` is hexadecimal
 * characters.
 */
export type LengthEncoding = Charset | 'bcd' | 'binary' | 'littleEndian' | HexEncoding;

/** The side and the character with which a shorter value is filled up. */
export type Fill = 'leftZeros' | 'leftBlanks' | 'rightZeros' | 'rightBlanks';

/** The encodings that the fields of a table have in common. */
export type Encodings = {
  /** Characters of `an` and `ans` values, of signs, and of hex text. */
  readonly text: Charset;
  /** Digits of `n`, `z` and `x+n` values. */
  readonly numerics: Charset | 'bcd';
  readonly lengths: LengthEncoding;
  /** `b` and `tlv` values. */
  readonly binaries: 'raw' | HexEncoding;
};

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
  /** Bytes of a `binary` or `littleEndian` length: 1 to 4; default half as many as the size has Ls. */
  readonly lengthBytes?: number;
  /**
   * What the length counts in place of digits, characters, or bytes of `b` and `tlv`: the bytes or half bytes on the
   * wire. A filler nibble `0` of an odd BCD number then becomes part of the value that is read.
   */
  readonly lengthCounts?: 'bytes' | 'nibbles';
  /** The length also counts its own bytes. */
  readonly lengthInclusive?: boolean;
  /** The alignment of an odd number of BCD digits; default `right` when fixed, `left` when variable. */
  readonly justify?: 'left' | 'right';
  /** The filler nibble of an odd number of BCD digits; default `0`. */
  readonly pad?: '0' | 'F';
  /** The sign of a BCD amount: a character, or one half byte; default a character of the table's text. */
  readonly signEncoding?: Charset | 'nibble';
  /**
   * Shorter values are filled up to `max`. A variable field with a fill always has `max` on the wire, and its length
   * counts the value alone.
   */
  readonly fill?: Fill;
  /** The fill is removed when a fixed value is read. */
  readonly trim?: boolean;
  /** The structure inside the value; the message has the value as one text. */
  readonly subFields?: SubFieldFormat;
};

/** A part of a value, by the identifier that programs use. */
export type PartFormat = FieldFormat & { readonly id: string };

/** The value behind a tag and a length. */
export type TaggedPartFormat = Pick<
  FieldFormat,
  'name' | 'content' | 'max' | 'encoding' | 'justify' | 'pad' | 'signEncoding' | 'subFields'
>;

/** Parts one behind the other, in the order of the list; parts at the end can be absent. */
export type PositionsFormat = {
  readonly type: 'Positions';
  readonly parts: readonly PartFormat[];
};

/** Parts that each have a tag and a length. */
export type TagsFormat = {
  readonly type: 'Tags';
  /** Characters or digits of a tag; bytes of a `binary` one, whose identifier is in hexadecimal digits. */
  readonly tagSize: number;
  readonly tagEncoding?: Charset | 'bcd' | 'binary';
  /** Digits of the length. */
  readonly lengthSize: number;
  readonly lengthEncoding?: LengthEncoding;
  readonly lengthBytes?: number;
  readonly lengthCounts?: 'bytes' | 'nibbles';
  /** `tagFirst` (default), or the length in front of the tag. */
  readonly order?: 'tagFirst' | 'lengthFirst';
  /** The length also counts the tag. */
  readonly lengthCountsTag?: boolean;
  /** A part without a tag in front of the others. */
  readonly lead?: PartFormat;
  /** The parts by tag. Other tags have text, or bytes in a field of bytes. */
  readonly parts?: { readonly [tag: string]: TaggedPartFormat };
};

/** BER-TLV data objects (ISO/IEC 8825-1) by tag in hexadecimal digits; the parts of templates stay together. */
export type BerTlvFormat = {
  readonly type: 'BerTlv';
  /** Names by tag, for people. */
  readonly names?: { readonly [tag: string]: string };
};

/** Parts that a bitmap announces. */
export type BitmapFormat = {
  readonly type: 'Bitmap';
  readonly bitmap: 'binary' | HexEncoding;
  /** Bytes of the bitmap; a hexadecimal one has two characters for each. */
  readonly bitmapBytes: number;
  /** The first bit announces a second bitmap of the same size. */
  readonly grows?: boolean;
  /** A part in front of the bitmap. */
  readonly lead?: PartFormat;
  readonly parts: { readonly [bit: number]: FieldFormat };
};

/** Texts with a separator between them. */
export type SeparatedFormat = {
  readonly type: 'Separated';
  readonly separator: string;
  /** Another separator follows the last part. */
  readonly endsWithSeparator?: boolean;
  readonly parts: readonly { readonly id: string; readonly name: string }[];
};

/**
 * Tokens of BASE24: a header with the number of tokens and the length, both counting the header, then each token with
 * two characters of identifier and its length.
 */
export type TokensFormat = {
  readonly type: 'Tokens';
  /** Names by identifier, for people. */
  readonly names?: { readonly [id: string]: string };
  /** Tokens with a fixed length, which blanks fill up, or with parts, by identifier. */
  readonly parts?: {
    readonly [id: string]: {
      readonly name: string;
      readonly length?: number;
      readonly subFields?: SubFieldFormat;
    };
  };
};

/** The structure of a value that consists of parts. */
export type SubFieldFormat = (
  | PositionsFormat
  | TagsFormat
  | BerTlvFormat
  | BitmapFormat
  | SeparatedFormat
  | TokensFormat
) & {
  /** Encodings of the parts; by default characters in ASCII, with bytes as they are in a field of bytes. */
  readonly encodings?: Partial<Encodings>;
};

/**
 * A dialect as data. Lengths count digits for BCD values and bytes for binary ones, never the
 * bytes on the wire, unless `lengthCounts` of a field says so.
 */
export type DialectTable = Encodings & {
  readonly name: string;
  /** `none`: for sub-messages that have a bitmap and no message type. */
  readonly mti: Charset | 'bcd' | 'none';
  /** Eight raw bytes, or sixteen hex characters, per bitmap. */
  readonly bitmap: 'binary' | HexEncoding;
  /** `grows`: the second bitmap is there when bit 1 says so. `fixed16`: it always is. */
  readonly bitmapSize: 'grows' | 'fixed16';
  /**
   * Where the third bitmap is, which bit 65 announces: behind the second one, or between the fields 64 and 66. Without
   * it there are no fields above 128.
   */
  readonly thirdBitmap?: 'afterSecond' | 'field65';
  /** The data elements 2 to 128, or to 192 with a third bitmap; 65 is the third bitmap. */
  readonly fields: { readonly [field: number]: FieldFormat };
};
