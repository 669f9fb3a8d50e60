// The length indicators in front of variable values.
import { fromLatin1, hexCharset, toLatin1 } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type { Charset, LengthEncoding } from './dialect-table.ts';
import { Iso8583Error, tableError } from './errors.ts';

export type LengthCodec = {
  /** The highest length that the indicator can state. */
  max: number;
  wireBytes: number;
  read(cursor: Cursor): number;
  write(cursor: Cursor, length: number): void;
};

/** The encoding of a length. */
export type LengthLayout = {
  /** The number of Ls: binary and BCD indicators take a byte for two of them. */
  digits: number;
  encoding: LengthEncoding;
  /** Characters of hexadecimal digits. */
  text: Charset;
  /** Bytes of a binary length in place of half the digits. */
  bytes: number | undefined;
  inclusive: boolean;
};

const DIGITS = '0123456789ABCDEF';
const NO_DIGIT = 255;

/** The value of each wire byte that is a digit. */
function digitValues(radix: 10 | 16, charset: Charset): Uint8Array {
  return toLatin1[charset].map((code) => {
    const digit = DIGITS.indexOf(String.fromCharCode(code).toUpperCase());
    return digit >= 0 && digit < radix ? digit : NO_DIGIT;
  });
}

function textLength(field: number, digits: number, radix: 10 | 16, charset: Charset): LengthCodec {
  const inward = digitValues(radix, charset);
  const outward = Uint8Array.from(DIGITS, (digit) => {
    return fromLatin1[charset][digit.charCodeAt(0)] as number;
  });
  return {
    max: radix ** digits - 1,
    wireBytes: digits,
    read(cursor) {
      let length = 0;
      for (let at = readBytes(cursor, digits, field); at < cursor.offset; at++) {
        const digit = inward[cursor.bytes[at] as number] as number;
        if (digit === NO_DIGIT) throw new Iso8583Error('length_invalid', field, at);
        length = length * radix + digit;
      }
      return length;
    },
    write(cursor, length) {
      let rest = length;
      for (let at = cursor.offset + digits - 1; at >= cursor.offset; at--) {
        cursor.bytes[at] = outward[rest % radix] as number;
        rest = Math.trunc(rest / radix);
      }
      cursor.offset += digits;
    },
  };
}

function bcdLength(field: number, digits: number): LengthCodec {
  const wireBytes = (digits + 1) >> 1;
  return {
    max: 10 ** digits - 1,
    wireBytes,
    read(cursor) {
      let length = 0;
      for (let at = readBytes(cursor, wireBytes, field); at < cursor.offset; at++) {
        const byte = cursor.bytes[at] as number;
        if (byte >> 4 > 9 || (byte & 0xf) > 9) throw new Iso8583Error('length_invalid', field, at);
        length = length * 100 + (byte >> 4) * 10 + (byte & 0xf);
      }
      return length;
    },
    write(cursor, length) {
      let rest = length;
      for (let at = cursor.offset + wireBytes - 1; at >= cursor.offset; at--) {
        const pair = rest % 100;
        cursor.bytes[at] = (Math.trunc(pair / 10) << 4) | (pair % 10);
        rest = Math.trunc(rest / 100);
      }
      cursor.offset += wireBytes;
    },
  };
}

function binaryLength(field: number, wireBytes: number): LengthCodec {
  return {
    max: 256 ** wireBytes - 1,
    wireBytes,
    read(cursor) {
      return cursor.bytes.readUIntBE(readBytes(cursor, wireBytes, field), wireBytes);
    },
    write(cursor, length) {
      cursor.offset = cursor.bytes.writeUIntBE(length, cursor.offset, wireBytes);
    },
  };
}

function littleEndianLength(field: number, wireBytes: number): LengthCodec {
  return {
    max: 256 ** wireBytes - 1,
    wireBytes,
    read(cursor) {
      return cursor.bytes.readUIntLE(readBytes(cursor, wireBytes, field), wireBytes);
    },
    write(cursor, length) {
      cursor.offset = cursor.bytes.writeUIntLE(length, cursor.offset, wireBytes);
    },
  };
}

/** A length that counts its own bytes. */
function inclusiveLength(field: number, { max, wireBytes, read, write }: LengthCodec): LengthCodec {
  return {
    max: max - wireBytes,
    wireBytes,
    read(cursor) {
      const start = cursor.offset;
      const length = read(cursor) - wireBytes;
      if (length < 0) throw new Iso8583Error('length_invalid', field, start);
      return length;
    },
    write: (cursor, length) => write(cursor, length + wireBytes),
  };
}

function plainLength(field: number, { digits, encoding, text, bytes }: LengthLayout): LengthCodec {
  const isBinary = encoding === 'binary' || encoding === 'littleEndian';
  if (bytes !== undefined && (!isBinary || !Number.isInteger(bytes) || bytes < 1 || bytes > 4)) {
    throw tableError(
      field,
      'must have lengthBytes from 1 to 4, and only with the lengthEncoding binary or littleEndian',
    );
  }
  const wireBytes = bytes ?? (digits + 1) >> 1;
  switch (encoding) {
    case 'bcd':
      return bcdLength(field, digits);
    case 'binary':
      return binaryLength(field, wireBytes);
    case 'littleEndian':
      return littleEndianLength(field, wireBytes);
    case 'hex':
    case 'hexAscii':
    case 'hexEbcdic':
      return textLength(field, digits, 16, hexCharset(encoding, text));
    default:
      return textLength(field, digits, 10, encoding);
  }
}

/** @throws Iso8583Error `table_invalid` for bytes of a length that is not binary, or not 1 to 4 */
export function lengthCodec(field: number, layout: LengthLayout): LengthCodec {
  const codec = plainLength(field, layout);
  return layout.inclusive ? inclusiveLength(field, codec) : codec;
}
