// Parts that a bitmap announces.
import { hexCharset } from '../characters.ts';
import type { Cursor } from '../cursor.ts';
import type { BitmapFormat } from '../dialect-table.ts';
import { Iso8583Error, tableError } from '../errors.ts';
import { compileField, type FieldCodec } from '../field-codec.ts';
import { hexTextCodec, rawCodec } from '../value-codec.ts';
import {
  createCursor,
  createPartWriter,
  type Parts,
  type PartsCodec,
  type PartsContext,
  requireParts,
} from './part-reader.ts';

const BITMAP_BYTES_MAX = 24;
const BITS_PER_BYTE = 8;
const FIRST_BIT = 0x80;

/** @throws Iso8583Error `table_invalid` for a part without a bit */
export function compileBitmap(format: BitmapFormat, context: PartsContext): PartsCodec {
  const { field, encodings } = context;
  const { bitmapBytes, grows = false, lead } = format;
  const isSize = Number.isInteger(bitmapBytes) && bitmapBytes >= 1;
  if (!isSize || bitmapBytes > BITMAP_BYTES_MAX) {
    throw tableError(field, `must have bitmapBytes from 1 to ${BITMAP_BYTES_MAX} in subFields`);
  }
  const bitmap =
    format.bitmap === 'binary'
      ? rawCodec(field)
      : hexTextCodec(field, hexCharset(format.bitmap, encodings.text));
  const bitMax = bitmapBytes * BITS_PER_BYTE * (grows ? 2 : 1);
  const codecs: (FieldCodec | undefined)[] = [];
  for (const [key, part] of Object.entries(format.parts)) {
    const bit = Number(key);
    const isBit = Number.isInteger(bit) && bit >= (grows ? 2 : 1) && bit <= bitMax;
    if (!isBit) {
      throw tableError(field, `must have parts up to bit ${bitMax} in subFields, and has ${key}`);
    }
    codecs[bit] = compileField(field, part, encodings);
  }
  const leadCodec = lead === undefined ? undefined : compileField(field, lead, encodings);
  const ids = new Set([...Object.keys(format.parts), ...(lead === undefined ? [] : [lead.id])]);
  const writers = [...Object.values(codecs), leadCodec].filter((codec) => codec !== undefined);
  const writePart = createPartWriter(writers);

  function writeBitmap(bits: readonly number[]): Buffer {
    const hasSecond = bits.some((bit) => bit > bitmapBytes * BITS_PER_BYTE);
    const map = Buffer.alloc(bitmapBytes * (hasSecond ? 2 : 1));
    if (hasSecond) map[0] = FIRST_BIT;
    for (const bit of bits) {
      const at = (bit - 1) >> 3;
      map[at] = (map[at] as number) | (FIRST_BIT >> ((bit - 1) % BITS_PER_BYTE));
    }
    const bytes = Buffer.alloc(bitmap.wireBytes(map.length));
    bitmap.write(createCursor(bytes), map.toString('hex'));
    return bytes;
  }

  function readBits(cursor: Cursor): number[] {
    let digits = bitmap.read(cursor, bitmapBytes);
    const isSecond = grows && (Number.parseInt(digits.slice(0, 2), 16) & FIRST_BIT) !== 0;
    if (isSecond) digits += bitmap.read(cursor, bitmapBytes);
    const bits: number[] = [];
    for (const [at, byte] of Buffer.from(digits, 'hex').entries()) {
      for (let bit = 0; bit < BITS_PER_BYTE; bit++) {
        if ((byte & (FIRST_BIT >> bit)) !== 0) bits.push(at * BITS_PER_BYTE + bit + 1);
      }
    }
    return isSecond ? bits.slice(1) : bits;
  }

  return {
    encode(parts) {
      requireParts(field, parts, ids);
      const bits = Object.keys(format.parts)
        .filter((key) => parts[key] !== undefined)
        .map(Number)
        .toSorted((a, b) => a - b);
      const written = bits.map((bit) => writePart(codecs[bit] as FieldCodec, parts[bit] ?? ''));
      const leadBytes =
        lead === undefined || leadCodec === undefined
          ? []
          : [writePart(leadCodec, parts[lead.id] ?? '')];
      return Buffer.concat([...leadBytes, writeBitmap(bits), ...written]);
    },
    decode(bytes) {
      const cursor = createCursor(bytes);
      const parts: Parts = {};
      if (lead !== undefined && leadCodec !== undefined) parts[lead.id] = leadCodec.read(cursor);
      for (const bit of readBits(cursor)) {
        const codec = codecs[bit];
        if (codec === undefined) throw new Iso8583Error('field_unknown', field, cursor.offset);
        parts[bit] = codec.read(cursor);
      }
      if (cursor.offset < cursor.end) {
        throw new Iso8583Error('trailing_bytes', field, cursor.offset);
      }
      return parts;
    },
  };
}
