// Readers and writers of the length indicator in front of a variable value.
import { fromLatin1, toLatin1 } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type { Charset, LengthEncoding } from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';

export type LengthCodec = {
  /** The highest length that the indicator can carry. */
  max: number;
  wireBytes: number;
  read(cursor: Cursor): number;
  write(cursor: Cursor, length: number): void;
};

const ZERO = 0x30;

function textLength(field: number, digits: number, charset: Charset): LengthCodec {
  const inward = toLatin1[charset];
  const outward = fromLatin1[charset];
  return {
    max: 10 ** digits - 1,
    wireBytes: digits,
    read(cursor) {
      let length = 0;
      for (let at = readBytes(cursor, digits, field); at < cursor.offset; at++) {
        const digit = (inward[cursor.bytes[at] as number] as number) - ZERO;
        if (digit < 0 || digit > 9) throw new Iso8583Error('length_invalid', field, at);
        length = length * 10 + digit;
      }
      return length;
    },
    write(cursor, length) {
      let rest = length;
      for (let at = cursor.offset + digits - 1; at >= cursor.offset; at--) {
        cursor.bytes[at] = outward[ZERO + (rest % 10)] as number;
        rest = Math.trunc(rest / 10);
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

function binaryLength(field: number, digits: number): LengthCodec {
  const wireBytes = (digits + 1) >> 1;
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

/** `digits` is the number of Ls: binary indicators take a byte for two of them. */
export function lengthCodec(field: number, digits: number, encoding: LengthEncoding): LengthCodec {
  if (encoding === 'bcd') return bcdLength(field, digits);
  if (encoding === 'binary') return binaryLength(field, digits);
  return textLength(field, digits, encoding);
}
