// Compiles a dialect table once into an encoder and a decoder.
import { type BitmapWordCodec, binaryBitmapWords, hexBitmapWords } from './bitmap.ts';
import { hexCharset, permittedCodes } from './characters.ts';
import type { Cursor } from './cursor.ts';
import type { DialectTable } from './dialect-table.ts';
import { Iso8583Error, tableError } from './errors.ts';
import { compileField, type FieldCodec } from './field-codec.ts';
import type { Fields, Message } from './message.ts';
import { compileSubFields } from './sub-fields/compile-sub-fields.ts';
import { bcdCodec, textCodec, type ValueCodec } from './value-codec.ts';

/** Decides which text fields with invalid characters do not refuse the message. */
export type TextErrorPolicy = {
  canIgnore(field: number): boolean;
  /** Receives the error of each ignored field; the message does not contain the field. */
  onIgnored(error: Iso8583Error): void;
};

/**
 * Receives each part of a message that was read: the field, 0 for the message type, 1 for the bitmaps, its value, and
 * the offsets of its first byte and of the byte after it.
 */
export type PartObserver = (field: number, value: string, start: number, end: number) => void;

/** A compiled dialect. It holds no state between calls; share one per table. */
export type Dialect = {
  /** The table's name. */
  readonly name: string;
  /**
   * Writes a message. Fixed values must have exactly their length.
   *
   * @throws Iso8583Error `mti_invalid`, `field_unknown`, `length_mismatch`, `length_exceeded`,
   *   `content_invalid`, with the field
   */
  encode(message: Message): Buffer;
  /**
   * Reads a message that fills `bytes` entirely; the values are copies.
   *
   * @param textErrors for text fields with characters that their content does not permit; without it, each such field
   *   refuses the message
   * @param onPart is called for each part in the order of the bytes
   * @throws Iso8583Error with field and offset, and no other error, for any bytes
   */
  decode(bytes: Buffer, textErrors?: TextErrorPolicy, onPart?: PartObserver): Message;
};

const MTI_FIELD = 0;
const MTI_DIGITS = 4;
const BITMAP_FIELD = 1;
const FIRST_FIELD = 2;
const LAST_FIELD = 128;
const LAST_FIELD_OF_THIRD_BITMAP = 192;
const THIRD_BITMAP = 65;
const FIRST_WORD_OF_SECOND_BITMAP = 2;
const BITS_PER_WORD = 32;
const HIGHEST_BIT = 0x80000000;
const WORDS_PER_BITMAP = 2;
const BITMAPS_MAX = 3;

function compileFields(table: DialectTable): (FieldCodec | undefined)[] {
  const last = table.thirdBitmap === undefined ? LAST_FIELD : LAST_FIELD_OF_THIRD_BITMAP;
  const codecs = new Array<FieldCodec | undefined>(last + 1).fill(undefined);
  for (const [key, format] of Object.entries(table.fields)) {
    const field = Number(key);
    const isFieldNumber = Number.isInteger(field) && field >= FIRST_FIELD && field <= last;
    if (!isFieldNumber || field === THIRD_BITMAP) {
      throw tableError(
        field,
        `must have a number from ${FIRST_FIELD} to ${last} that is not ${THIRD_BITMAP}; numbers above ${LAST_FIELD} need thirdBitmap`,
      );
    }
    codecs[field] = compileField(field, format, table);
    if (format.subFields !== undefined) compileSubFields(format, field);
  }
  return codecs;
}

function compileMti(table: DialectTable): ValueCodec | undefined {
  if (table.mti === 'none') return undefined;
  if (table.mti === 'bcd') {
    return bcdCodec(MTI_FIELD, { justify: 'right', pad: '0', separator: false });
  }
  return textCodec(MTI_FIELD, permittedCodes.n, table.mti);
}

const isInvalidContent = (error: unknown): error is Iso8583Error =>
  error instanceof Iso8583Error && error.code === 'content_invalid';

function readMti(cursor: Cursor, codec: ValueCodec | undefined): string {
  if (codec === undefined) return '';
  try {
    return codec.read(cursor, MTI_DIGITS);
  } catch (error) {
    if (!isInvalidContent(error)) throw error;
    throw new Iso8583Error('mti_invalid', MTI_FIELD, error.offset);
  }
}

function writeMti(cursor: Cursor, codec: ValueCodec | undefined, mti: string): void {
  if (codec === undefined ? mti !== '' : !/^[0-9]{4}$/.test(mti)) {
    throw new Iso8583Error('mti_invalid', MTI_FIELD, 0);
  }
  codec?.write(cursor, mti);
}

/** Reads the fields of one word of the bitmap, in order. */
function readWord(
  cursor: Cursor,
  codecs: readonly (FieldCodec | undefined)[],
  wordIndex: number,
  word: number,
  fields: Fields,
  textErrors?: TextErrorPolicy,
  onPart?: PartObserver,
): void {
  let bits = word;
  while (bits !== 0) {
    const bit = Math.clz32(bits);
    bits &= ~(HIGHEST_BIT >>> bit);
    const field = wordIndex * BITS_PER_WORD + bit + 1;
    const codec = codecs[field];
    if (codec === undefined) throw new Iso8583Error('field_unknown', field, cursor.offset);
    const start = cursor.offset;
    try {
      const value = codec.read(cursor);
      fields[field] = value;
      onPart?.(field, value, start, cursor.offset);
    } catch (error) {
      // Only the reader of a text has passed all of its bytes before it checks them.
      if (!codec.isText || !isInvalidContent(error) || !textErrors?.canIgnore(field)) throw error;
      textErrors.onIgnored(error);
    }
  }
}

/** The numbers of the fields that the words of the bitmaps announce. */
const listBitmapFields = (words: readonly number[]): number[] =>
  words.flatMap((word, index) =>
    Array.from({ length: BITS_PER_WORD }, (_, bit) => bit)
      .filter((bit) => (word & (HIGHEST_BIT >>> bit)) !== 0)
      .map((bit) => index * BITS_PER_WORD + bit + 1),
  );

/** Sets the bits of the fields that are there; refuses a field that the dialect does not have. */
function bitmapOf(fields: Fields, codecs: readonly (FieldCodec | undefined)[]): number[] {
  const words = [0, 0, 0, 0, 0, 0];
  for (const key of Object.keys(fields)) {
    const field = +key;
    if (fields[field] === undefined) continue;
    if (codecs[field] === undefined) throw new Iso8583Error('field_unknown', field);
    const index = (field - 1) >> 5;
    words[index] = (words[index] as number) | (HIGHEST_BIT >>> ((field - 1) & 31));
  }
  return words;
}

function writeWord(
  cursor: Cursor,
  codecs: readonly (FieldCodec | undefined)[],
  wordIndex: number,
  word: number,
  fields: Fields,
): void {
  let bits = word;
  while (bits !== 0) {
    const bit = Math.clz32(bits);
    bits &= ~(HIGHEST_BIT >>> bit);
    const field = wordIndex * BITS_PER_WORD + bit + 1;
    codecs[field]?.write(cursor, fields[field] as string);
  }
}

/**
 * Compiles a dialect table.
 *
 * @param table the dialect as data
 * @throws Iso8583Error `table_invalid` with the field whose line contradicts itself
 * @example
 * ```ts
 * const dialect = compileDialect(iso1987Binary);
 * const bytes = dialect.encode({ mti: '0800', fields: { 11: '000001', 70: '001' } });
 * dialect.decode(bytes).fields[70]; // '001'
 * ```
 */
export function compileDialect(table: DialectTable): Dialect {
  const codecs = compileFields(table);
  const mti = compileMti(table);
  const bitmap: BitmapWordCodec =
    table.bitmap === 'binary'
      ? binaryBitmapWords
      : hexBitmapWords(hexCharset(table.bitmap, table.text));
  const { thirdBitmap } = table;
  const alwaysTwo = table.bitmapSize === 'fixed16';
  const largest = codecs.reduce((sum, codec) => sum + (codec?.wireBytesMax ?? 0), 0);
  const bitmapBytes = bitmap.wireBytes * WORDS_PER_BITMAP;
  // One message is written at a time, so that all can share the room for the longest one.
  const scratch = Buffer.alloc(MTI_DIGITS + bitmapBytes * BITMAPS_MAX + largest);

  function writeBitmap(cursor: Cursor, first: number, second: number): void {
    bitmap.write(cursor, first);
    bitmap.write(cursor, second);
  }

  function encode(message: Message): Buffer {
    const { fields } = message;
    const cursor: Cursor = { bytes: scratch, offset: 0, end: scratch.length };
    const words = bitmapOf(fields, codecs) as [number, number, number, number, number, number];
    const third = (words[4] | words[5]) !== 0;
    if (third) words[2] |= HIGHEST_BIT;
    const second = (words[2] | words[3]) !== 0;
    writeMti(cursor, mti, message.mti);
    writeBitmap(cursor, second ? words[0] | HIGHEST_BIT : words[0], words[1]);
    if (second || alwaysTwo) writeBitmap(cursor, words[2], words[3]);
    if (third && thirdBitmap === 'afterSecond') writeBitmap(cursor, words[4], words[5]);
    for (let index = 0; index < words.length; index++) {
      if (index === FIRST_WORD_OF_SECOND_BITMAP && third && thirdBitmap === 'field65') {
        writeBitmap(cursor, words[4], words[5]);
      }
      writeWord(cursor, codecs, index, words[index] as number, fields);
    }
    const bytes = Buffer.allocUnsafe(cursor.offset);
    scratch.copy(bytes, 0, 0, cursor.offset);
    return bytes;
  }

  function decode(bytes: Buffer, textErrors?: TextErrorPolicy, onPart?: PartObserver): Message {
    const cursor: Cursor = { bytes, offset: 0, end: bytes.length };
    const message: Message = { mti: readMti(cursor, mti), fields: {} };
    const bitmapStart = cursor.offset;
    onPart?.(MTI_FIELD, message.mti, 0, bitmapStart);
    const { fields } = message;
    const first = bitmap.read(cursor);
    const second = bitmap.read(cursor);
    const more = alwaysTwo || (first & HIGHEST_BIT) !== 0;
    const third = more ? bitmap.read(cursor) : 0;
    const fourth = more ? bitmap.read(cursor) : 0;
    const hasThirdBitmap = thirdBitmap !== undefined && (third & HIGHEST_BIT) !== 0;
    const words = [
      first & ~HIGHEST_BIT,
      second,
      hasThirdBitmap ? third & ~HIGHEST_BIT : third,
      fourth,
      0,
      0,
    ];
    const readThirdBitmap = () => {
      words[4] = bitmap.read(cursor);
      words[5] = bitmap.read(cursor);
    };
    if (hasThirdBitmap && thirdBitmap === 'afterSecond') readThirdBitmap();
    onPart?.(BITMAP_FIELD, listBitmapFields(words).join(' '), bitmapStart, cursor.offset);
    for (let index = 0; index < words.length; index++) {
      if (index === FIRST_WORD_OF_SECOND_BITMAP && hasThirdBitmap && thirdBitmap === 'field65') {
        const start = cursor.offset;
        readThirdBitmap();
        const announced = listBitmapFields([0, 0, 0, 0, ...words.slice(4)]);
        onPart?.(THIRD_BITMAP, announced.join(' '), start, cursor.offset);
      }
      const word = words[index] as number;
      if (word !== 0) readWord(cursor, codecs, index, word, fields, textErrors, onPart);
    }
    if (cursor.offset !== cursor.end) {
      throw new Iso8583Error('trailing_bytes', undefined, cursor.offset);
    }
    return message;
  }

  return { name: table.name, encode, decode };
}
