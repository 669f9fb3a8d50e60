// Readers and writers of values, one for each encoding.
import { fromLatin1, permittedCodes, signCodes, toLatin1 } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type { Charset } from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';

/**
 * `units` are what lengths count: characters, digits or bytes. The caller of a writer has
 * already checked the number of units.
 */
export type ValueCodec = {
  read(cursor: Cursor, units: number): string;
  write(cursor: Cursor, value: string): void;
  units(value: string): number;
  wireBytes(units: number): number;
  /** The units of a value that takes `count` bytes at the cursor; NaN where no value does. */
  unitsInBytes(cursor: Cursor, count: number): number;
  /** The byte with which the rest of a filled field is written. */
  fillByte(character: ' ' | '0'): number;
};

type CodeTable = Uint8Array;

function unitsOfText(value: string): number {
  return value.length;
}

const oneByteEach = (_cursor: Cursor, count: number): number => count;
const zeroByte = (): number => 0;

/** Characters of one class in one character set. */
export function textCodec(field: number, permitted: CodeTable, charset: Charset): ValueCodec {
  const inward = toLatin1[charset];
  const outward = fromLatin1[charset];
  const plain = charset === 'ascii';
  return {
    units: unitsOfText,
    wireBytes: (units) => units,
    unitsInBytes: oneByteEach,
    fillByte: (character) => outward[character.charCodeAt(0)] as number,
    read(cursor, units) {
      const { bytes } = cursor;
      const start = readBytes(cursor, units, field);
      for (let at = start; at < cursor.offset; at++) {
        if (permitted[inward[bytes[at] as number] as number] !== 1) {
          throw new Iso8583Error('content_invalid', field, at);
        }
      }
      if (plain) return bytes.toString('latin1', start, cursor.offset);
      const codes = bytes.subarray(start, cursor.offset).map((byte) => inward[byte] as number);
      return Buffer.from(codes).toString('latin1');
    },
    write(cursor, value) {
      const { bytes, offset } = cursor;
      for (let index = 0; index < value.length; index++) {
        const code = value.charCodeAt(index);
        if (permitted[code] !== 1) throw new Iso8583Error('content_invalid', field, offset + index);
        bytes[offset + index] = outward[code] as number;
      }
      cursor.offset = offset + value.length;
    },
  };
}

export type BcdLayout = { justify: 'left' | 'right'; pad: '0' | 'F'; separator: boolean };

const SEPARATOR_NIBBLE = 0xd;

/** Packed decimal: two digits a byte, an odd one out filled up; track 2 also holds a separator. */
export function bcdCodec(field: number, layout: BcdLayout): ValueCodec {
  const padNibble = layout.pad === 'F' ? 0xf : 0;
  const isLeftJustified = layout.justify === 'left';
  const separator = layout.separator ? SEPARATOR_NIBBLE : -1;
  const wireBytes = (units: number): number => (units + 1) >> 1;

  return {
    units: unitsOfText,
    wireBytes,
    unitsInBytes(cursor, count) {
      const at = isLeftJustified ? cursor.offset + count - 1 : cursor.offset;
      const byte = cursor.bytes[at] ?? 0;
      const isFilled = (isLeftJustified ? byte & 0xf : byte >> 4) === 0xf;
      return count * 2 - (padNibble === 0xf && count > 0 && isFilled ? 1 : 0);
    },
    fillByte: zeroByte,
    read(cursor, units) {
      const { bytes } = cursor;
      const start = readBytes(cursor, wireBytes(units), field);
      const odd = (units & 1) === 1;
      const padAt = !odd ? -1 : isLeftJustified ? units : 0;
      let separators = 0;
      for (let at = start, nibble = 0; at < cursor.offset; at++, nibble += 2) {
        const byte = bytes[at] as number;
        const high = byte >> 4;
        const low = byte & 0xf;
        if (nibble === padAt ? high !== padNibble : high > 9) {
          if (nibble === padAt) throw new Iso8583Error('padding_invalid', field, at);
          if (high !== separator) throw new Iso8583Error('content_invalid', field, at);
          separators++;
        }
        if (nibble + 1 === padAt ? low !== padNibble : low > 9) {
          if (nibble + 1 === padAt) throw new Iso8583Error('padding_invalid', field, at);
          if (low !== separator) throw new Iso8583Error('content_invalid', field, at);
          separators++;
        }
      }
      const hex = bytes.toString('hex', start, cursor.offset);
      const value = !odd ? hex : isLeftJustified ? hex.slice(0, units) : hex.slice(1);
      return separators === 0 ? value : value.replaceAll('d', '=');
    },
    write(cursor, value) {
      const { bytes } = cursor;
      const start = cursor.offset;
      const length = wireBytes(value.length);
      const lead = isLeftJustified ? 0 : value.length & 1;
      for (let at = 0; at < length; at++) {
        const index = at * 2 - lead;
        const high = index < 0 ? padNibble : nibbleOf(value, index, separator);
        const low = index + 1 < value.length ? nibbleOf(value, index + 1, separator) : padNibble;
        if (high < 0 || low < 0) throw new Iso8583Error('content_invalid', field, start + at);
        bytes[start + at] = (high << 4) | low;
      }
      cursor.offset = start + length;
    },
  };
}

const EQUALS = 0x3d;
const LETTER_D = 0x44;

function nibbleOf(value: string, index: number, separator: number): number {
  const code = value.charCodeAt(index);
  const digit = code - 0x30;
  if (digit >= 0 && digit <= 9) return digit;
  return separator !== -1 && (code === EQUALS || code === LETTER_D) ? separator : -1;
}

/** A sign character in front of a number (`x+n`); the sign counts as one unit. */
export function signedCodec(field: number, charset: Charset, number: ValueCodec): ValueCodec {
  const sign = textCodec(field, signCodes, charset);
  return {
    units: unitsOfText,
    wireBytes: (units) => (units === 0 ? 0 : 1 + number.wireBytes(units - 1)),
    unitsInBytes: oneByteEach,
    fillByte: zeroByte,
    read(cursor, units) {
      return units === 0 ? '' : sign.read(cursor, 1) + number.read(cursor, units - 1);
    },
    write(cursor, value) {
      if (value === '') return;
      sign.write(cursor, value.slice(0, 1));
      number.write(cursor, value.slice(1));
    },
  };
}

const SIGNED_NIBBLES = /^(?:[CD0][0-9]*)?$/;

/** An amount whose sign is the first half byte: C, D, or 0 without a sign. */
export function signNibbleCodec(field: number, layout: Omit<BcdLayout, 'separator'>): ValueCodec {
  const { justify, pad } = layout;
  const isLeftJustified = justify === 'left';
  return {
    units: unitsOfText,
    wireBytes: (units) => (units + 1) >> 1,
    unitsInBytes: (_cursor, count) => count * 2,
    fillByte: zeroByte,
    read(cursor, units) {
      const start = readBytes(cursor, (units + 1) >> 1, field);
      const nibbles = cursor.bytes.toString('hex', start, cursor.offset).toUpperCase();
      const isOdd = units % 2 === 1;
      const filler = isLeftJustified ? nibbles.slice(units) : nibbles.slice(0, isOdd ? 1 : 0);
      if (isOdd && filler !== pad) throw new Iso8583Error('padding_invalid', field, start);
      const value = isLeftJustified ? nibbles.slice(0, units) : nibbles.slice(filler.length);
      if (!SIGNED_NIBBLES.test(value)) throw new Iso8583Error('content_invalid', field, start);
      return value;
    },
    write(cursor, value) {
      if (!SIGNED_NIBBLES.test(value)) {
        throw new Iso8583Error('content_invalid', field, cursor.offset);
      }
      const filler = value.length % 2 === 1 ? pad : '';
      const nibbles = isLeftJustified ? value + filler : filler + value;
      cursor.offset += cursor.bytes.write(nibbles, cursor.offset, 'hex');
    },
  };
}

const ZONES: Readonly<Record<string, number>> = { C: 0xc0, D: 0xd0, 0: 0xf0 };
const NO_SIGN_ZONE = 0xf0;

/** An amount in EBCDIC digits, with the sign in the first half of the last byte (zoned decimal). */
export function zonedCodec(field: number): ValueCodec {
  const digits = textCodec(field, permittedCodes.n, 'ebcdic');
  return {
    units: unitsOfText,
    wireBytes: (units) => Math.max(0, units - 1),
    unitsInBytes: oneByteEach,
    fillByte: zeroByte,
    read(cursor, units) {
      if (units < 2) throw new Iso8583Error('content_invalid', field, cursor.offset);
      const start = readBytes(cursor, units - 1, field);
      const lastAt = cursor.offset - 1;
      const last = cursor.bytes[lastAt] as number;
      const sign = Object.keys(ZONES).find((name) => ZONES[name] === (last & 0xf0));
      if (sign === undefined) throw new Iso8583Error('content_invalid', field, lastAt);
      const unsigned = Buffer.from(cursor.bytes.subarray(start, cursor.offset));
      unsigned[unsigned.length - 1] = last | NO_SIGN_ZONE;
      const inner: Cursor = { bytes: unsigned, offset: 0, end: unsigned.length };
      return sign + digits.read(inner, unsigned.length);
    },
    write(cursor, value) {
      const zone = ZONES[value.slice(0, 1)];
      if (zone === undefined || value.length < 2) {
        throw new Iso8583Error('content_invalid', field, cursor.offset);
      }
      digits.write(cursor, value.slice(1));
      const lastAt = cursor.offset - 1;
      cursor.bytes[lastAt] = ((cursor.bytes[lastAt] as number) & 0x0f) | zone;
    },
  };
}

const HEX_VALUE = /^(?:[0-9A-Fa-f]{2})*$/;

/** Plain bytes, upper-case hex in the message. */
export function rawCodec(field: number): ValueCodec {
  return {
    // Half a byte must not pass for a whole one.
    units: (value) => (value.length % 2 === 0 ? value.length / 2 : Number.NaN),
    wireBytes: (units) => units,
    unitsInBytes: oneByteEach,
    fillByte: zeroByte,
    read(cursor, units) {
      const start = readBytes(cursor, units, field);
      return cursor.bytes.toString('hex', start, cursor.offset).toUpperCase();
    },
    write(cursor, value) {
      if (!HEX_VALUE.test(value)) throw new Iso8583Error('content_invalid', field, cursor.offset);
      cursor.offset += cursor.bytes.write(value, cursor.offset, 'hex');
    },
  };
}

const HEX_DIGITS = permittedCodes.n.map((digit, code) =>
  digit === 1 || /[A-Fa-f]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** Bytes as two hex characters each; the length still counts bytes. */
export function hexTextCodec(field: number, charset: Charset): ValueCodec {
  const text = textCodec(field, HEX_DIGITS, charset);
  return {
    units: (value) => (value.length % 2 === 0 ? value.length / 2 : Number.NaN),
    wireBytes: (units) => units * 2,
    unitsInBytes: (_cursor, count) => (count % 2 === 0 ? count / 2 : Number.NaN),
    fillByte: () => text.fillByte('0'),
    read: (cursor, units) => text.read(cursor, units * 2).toUpperCase(),
    write: (cursor, value) => text.write(cursor, value.toUpperCase()),
  };
}
