// Readers and writers of values, one per way that a value can stand on the wire.
import { fromLatin1, permittedCodes, signCodes, toLatin1 } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type { Charset } from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';

/**
 * `units` are what lengths count: characters, digits or bytes. A writer is handed a value whose
 * number of units was checked already.
 */
export type ValueCodec = {
  read(cursor: Cursor, units: number): string;
  write(cursor: Cursor, value: string): void;
  units(value: string): number;
  wireBytes(units: number): number;
};

type CodeTable = Uint8Array;

function unitsOfText(value: string): number {
  return value.length;
}

/** Characters of one class in one character set. */
export function textCodec(field: number, permitted: CodeTable, charset: Charset): ValueCodec {
  const inward = toLatin1[charset];
  const outward = fromLatin1[charset];
  const plain = charset === 'ascii';
  return {
    units: unitsOfText,
    wireBytes: (units) => units,
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

const HEX_VALUE = /^(?:[0-9A-Fa-f]{2})*$/;

/** Plain bytes, upper-case hex in the message. */
export function rawCodec(field: number): ValueCodec {
  return {
    // Half a byte must not pass for a whole one.
    units: (value) => (value.length % 2 === 0 ? value.length / 2 : Number.NaN),
    wireBytes: (units) => units,
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
    read: (cursor, units) => text.read(cursor, units * 2).toUpperCase(),
    write: (cursor, value) => text.write(cursor, value.toUpperCase()),
  };
}
