// Compiles one line of a dialect table into the reader and writer of that field.
import { permittedCodes } from './characters.ts';
import type { Cursor } from './cursor.ts';
import type { DialectTable, FieldFormat, ValueEncoding } from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';
import { lengthCodec } from './length-codec.ts';
import type { ValueCodec } from './value-codec.ts';
import { bcdCodec, hexTextCodec, rawCodec, signedCodec, textCodec } from './value-codec.ts';

export type FieldCodec = {
  read(cursor: Cursor): string;
  write(cursor: Cursor, value: string): void;
  /** The most bytes that the field can take on the wire. */
  wireBytesMax: number;
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

function fixedField(field: number, length: number, value: ValueCodec): FieldCodec {
  return {
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
  if (size === 'fixed') return fixedField(field, max, value);

  const prefix = lengthCodec(field, size.length, format.lengthEncoding ?? table.lengths);
  if (max > prefix.max) throw new Iso8583Error('table_invalid', field);
  return {
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
