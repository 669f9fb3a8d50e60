// Bitmaps as 32-bit words: which data elements a message holds.
import { fromLatin1, toLatin1 } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type { Charset } from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';

/** Reads and writes four bytes of a bitmap, that is 32 bits, first bit highest. */
export type BitmapWordCodec = {
  wireBytes: number;
  read(cursor: Cursor): number;
  write(cursor: Cursor, word: number): void;
};

const BITMAP_FIELD = 1;

export const binaryBitmapWords: BitmapWordCodec = {
  wireBytes: 4,
  read: (cursor) => cursor.bytes.readUInt32BE(readBytes(cursor, 4, BITMAP_FIELD)),
  write(cursor, word) {
    cursor.offset = cursor.bytes.writeUInt32BE(word >>> 0, cursor.offset);
  },
};

const HEX = '0123456789ABCDEF';

export function hexBitmapWords(charset: Charset): BitmapWordCodec {
  const inward = toLatin1[charset];
  const outward = fromLatin1[charset];
  return {
    wireBytes: 8,
    read(cursor) {
      let word = 0;
      for (let at = readBytes(cursor, 8, BITMAP_FIELD); at < cursor.offset; at++) {
        const code = inward[cursor.bytes[at] as number] as number;
        const digit = HEX.indexOf(String.fromCharCode(code).toUpperCase());
        if (digit < 0) throw new Iso8583Error('bitmap_invalid', BITMAP_FIELD, at);
        word = (word << 4) | digit;
      }
      return word >>> 0;
    },
    write(cursor, word) {
      for (let shift = 28; shift >= 0; shift -= 4) {
        const code = HEX.charCodeAt((word >>> shift) & 0xf);
        cursor.bytes[cursor.offset++] = outward[code] as number;
      }
    },
  };
}

/**
 * The data elements that a bitmap names, in order. Bit 1 of a 16-byte bitmap (the second bitmap
 * follows) is left out; in an 8-byte one it is an ordinary field.
 *
 * @param hex the bitmap in hex, 8 or 16 bytes
 * @throws Iso8583Error `bitmap_invalid` for anything else
 * @example
 * ```ts
 * fieldsOfBitmap('4210001102C04804'); // [2, 7, 12, 28, 32, 39, 41, 42, 50, 53, 62]
 * ```
 */
export function fieldsOfBitmap(hex: string): number[] {
  if (!/^(?:[0-9A-Fa-f]{16}){1,2}$/.test(hex)) {
    throw new Iso8583Error('bitmap_invalid', BITMAP_FIELD);
  }
  const bits = [...hex].flatMap((digit) => [...Number(`0x${digit}`).toString(2).padStart(4, '0')]);
  const fields = bits.flatMap((bit, index) => (bit === '1' ? [index + 1] : []));
  return hex.length === 32 ? fields.filter((field) => field !== BITMAP_FIELD) : fields;
}
