// Compiles one line of a dialect table into the reader and writer of that field.
import { fromLatin1, permittedCodes, toLatin1 } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type {
  Charset,
  DialectTable,
  FieldFormat,
  LengthEncoding,
  ValueEncoding,
} from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';
import {
  bcdCodec,
  hexTextCodec,
  rawCodec,
  signedCodec,
  textCodec,
  type ValueCodec,
} from './value-codec.ts';

export type FieldCodec = {
  read(cursor: Cursor): string;
  write(cursor: Cursor, value: string): void;
  /** The most bytes that the field can take on the wire. */
  wireBytesMax: number;
  /** `an` or `ans`. */
  isText: boolean;
};

function encodingOf(format: FieldFormat, table: DialectTable): ValueEncoding {
  if (format.encoding !== undefined) return format.encoding;
  if (format.content === 'b' || format.content === 'tlv') return table.binaries;
  if (format.content === 'an' || format.content === 'ans') return table.text;
  return table.numerics;
}

function valueCodec(field: number, format: FieldFormat, table: DialectTable): ValueCodec {
  const { content } = format;
  const encoding = encodingOf(format, table);
  if (content === 'b' || content === 'tlv') {
    if (encoding === 'raw') return rawCodec(field);
    if (encoding === 'hex') return hexTextCodec(field, table.text);
    throw new Iso8583Error('table_invalid', field);
  }
  if (encoding === 'bcd' && (content === 'n' || content === 'z' || content === 'x+n')) {
    const justify = format.justify ?? (format.size === 'fixed' ? 'right' : 'left');
    const layout = { justify, pad: format.pad ?? '0', separator: content === 'z' } as const;
    const digits = bcdCodec(field, layout);
    return content === 'x+n' ? signedCodec(field, table.text, digits) : digits;
  }
  if (encoding !== 'ascii' && encoding !== 'ebcdic') throw new Iso8583Error('table_invalid', field);
  const text = textCodec(field, permittedCodes[content], encoding);
  return content === 'x+n' ? signedCodec(field, encoding, text) : text;
}

function fixedField(field: number, length: number, value: ValueCodec, isText: boolean): FieldCodec {
  return {
    isText,
    wireBytesMax: value.wireBytes(length),
    read: (cursor) => value.read(cursor, length),
    write(cursor, text) {
      if (value.units(text) !== length) {
        throw new Iso8583Error('length_mismatch', field, cursor.offset);
      }
      value.write(cursor, text);
    },
  };
}

/** Throws `table_invalid` when the format cannot be served. */
export function compileField(field: number, format: FieldFormat, table: DialectTable): FieldCodec {
  const { size, max } = format;
  if (!Number.isInteger(max) || max < 1) throw new Iso8583Error('table_invalid', field);
  const value = valueCodec(field, format, table);
  const isText = format.content === 'an' || format.content === 'ans';
  if (size === 'fixed') return fixedField(field, max, value, isText);

  const prefix = lengthCodec(field, size.length, format.lengthEncoding ?? table.lengths);
  if (max > prefix.max) throw new Iso8583Error('table_invalid', field);
  return {
    isText,
    wireBytesMax: prefix.wireBytes + value.wireBytes(max),
    read(cursor) {
      const start = cursor.offset;
      const length = prefix.read(cursor);
      if (length > max) throw new Iso8583Error('length_exceeded', field, start);
      return value.read(cursor, length);
    },
    write(cursor, text) {
      const length = value.units(text);
      if (length > max) throw new Iso8583Error('length_exceeded', field, cursor.offset);
      // NaN: a binary value with half a byte
      if (!(length >= 0)) throw new Iso8583Error('content_invalid', field, cursor.offset);
      prefix.write(cursor, length);
      value.write(cursor, text);
    },
  };
}

type LengthCodec = {
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
function lengthCodec(field: number, digits: number, encoding: LengthEncoding): LengthCodec {
  if (encoding === 'bcd') return bcdLength(field, digits);
  if (encoding === 'binary') return binaryLength(field, digits);
  return textLength(field, digits, encoding);
}
