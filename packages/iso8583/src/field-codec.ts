// Compiles one line of a dialect table into the reader and writer of that field.
import { hexCharset, permittedCodes } from './characters.ts';
import { type Cursor, readBytes } from './cursor.ts';
import type { Encodings, FieldFormat, Fill, ValueEncoding } from './dialect-table.ts';
import { Iso8583Error, tableError } from './errors.ts';
import { type LengthCodec, lengthCodec } from './length-codec.ts';
import {
  bcdCodec,
  hexTextCodec,
  rawCodec,
  signedCodec,
  signNibbleCodec,
  textCodec,
  type ValueCodec,
  zonedCodec,
} from './value-codec.ts';

export type FieldCodec = {
  read(cursor: Cursor): string;
  write(cursor: Cursor, value: string): void;
  /** The most bytes that the field can take on the wire. */
  wireBytesMax: number;
  /** `an` or `ans`. */
  isText: boolean;
};

const isBytes = ({ content }: FieldFormat): boolean => content === 'b' || content === 'tlv';

function encodingOf(format: FieldFormat, table: Encodings): ValueEncoding {
  if (format.encoding !== undefined) return format.encoding;
  if (isBytes(format)) return table.binaries;
  if (format.content === 'an' || format.content === 'ans') return table.text;
  return table.numerics;
}

function bcdValueCodec(field: number, format: FieldFormat, table: Encodings): ValueCodec {
  const { content, signEncoding } = format;
  const justify = format.justify ?? (format.size === 'fixed' ? 'right' : 'left');
  const layout = { justify, pad: format.pad ?? '0' } as const;
  if (signEncoding === 'nibble') return signNibbleCodec(field, layout);
  const digits = bcdCodec(field, { ...layout, separator: content === 'z' });
  return content === 'x+n' ? signedCodec(field, signEncoding ?? table.text, digits) : digits;
}

/** The codec of a value without its length. */
export function valueCodec(field: number, format: FieldFormat, table: Encodings): ValueCodec {
  const { content, signEncoding } = format;
  const encoding = encodingOf(format, table);
  const isSignedBcd = content === 'x+n' && encoding === 'bcd';
  if (signEncoding !== undefined && !isSignedBcd) {
    throw tableError(
      field,
      'must have a signEncoding only with the content x+n and the encoding bcd',
    );
  }
  if (content === 'b' || content === 'tlv') {
    if (encoding === 'raw') return rawCodec(field);
    if (encoding === 'hex' || encoding === 'hexAscii' || encoding === 'hexEbcdic') {
      return hexTextCodec(field, hexCharset(encoding, table.text));
    }
    throw tableError(
      field,
      `must have an encoding of bytes (raw, hex, hexAscii or hexEbcdic) with the content ${content}, and has ${encoding}`,
    );
  }
  switch (encoding) {
    case 'ascii':
    case 'ebcdic':
    case 'ebcdic1047':
    case 'ebcdic500': {
      const text = textCodec(field, permittedCodes[content], encoding);
      return content === 'x+n' ? signedCodec(field, encoding, text) : text;
    }
    case 'bcd':
      if (content === 'n' || content === 'z' || content === 'x+n') {
        return bcdValueCodec(field, format, table);
      }
      break;
    case 'zoned':
      if (content === 'x+n') return zonedCodec(field);
      break;
    default:
  }
  throw tableError(
    field,
    `must have an encoding of characters with the content ${content}, and has ${encoding}; ` +
      'bcd needs n, z or x+n, and zoned needs x+n',
  );
}

type Filling = {
  /** Makes a value as long as its field. */
  fill(value: string): string;
  trim(value: string): string;
};

const notFilled: Filling = { fill: (value) => value, trim: (value) => value };

/** The characters of `fill` at one end of a value, up to `length` characters. */
function fillingOf(fill: Fill, length: number): Filling {
  const character = fill === 'leftBlanks' || fill === 'rightBlanks' ? ' ' : '0';
  const isLeft = fill === 'leftZeros' || fill === 'leftBlanks';
  return {
    fill: (value) => {
      return isLeft ? value.padStart(length, character) : value.padEnd(length, character);
    },
    trim(value) {
      let from = 0;
      let to = value.length;
      while (isLeft && from < to && value[from] === character) from++;
      while (!isLeft && to > from && value[to - 1] === character) to--;
      return value.slice(from, to);
    },
  };
}

const isZeros = (fill: Fill): boolean => fill === 'leftZeros' || fill === 'rightZeros';

function fixedFilling(field: number, format: FieldFormat): Filling {
  const { content, max, fill, trim } = format;
  const isText = content === 'an' || content === 'ans';
  if (fill === undefined) {
    if (trim === true) throw tableError(field, 'must have a fill if trim is true');
    return notFilled;
  }
  if (!isText && !isZeros(fill)) {
    throw tableError(
      field,
      `must have a fill of zeros, because the content ${content} has no blanks`,
    );
  }
  if (isText || content === 'n') {
    const filling = fillingOf(fill, max);
    return trim === true ? filling : { ...filling, trim: notFilled.trim };
  }
  if (trim === true) {
    throw tableError(
      field,
      `must not have trim with the content ${content}; n, an and ans allow it`,
    );
  }
  if (isBytes(format)) return { ...fillingOf(fill, max * 2), trim: notFilled.trim };
  if (content === 'z' || fill === 'rightZeros') {
    throw tableError(field, `must not have the fill ${fill} with the content ${content}`);
  }
  const digits = fillingOf(fill, max - 1);
  return {
    fill: (value) => value.slice(0, 1) + digits.fill(value.slice(1)),
    trim: notFilled.trim,
  };
}

const lengthMembers = ['lengthEncoding', 'lengthBytes', 'lengthCounts', 'lengthInclusive'] as const;

function fixedField(field: number, format: FieldFormat, value: ValueCodec): FieldCodec {
  const length = format.max;
  const isText = format.content === 'an' || format.content === 'ans';
  const shape = { isText, wireBytesMax: value.wireBytes(length) };
  if (format.fill === undefined && format.trim !== true) {
    return {
      ...shape,
      read: (cursor) => value.read(cursor, length),
      write(cursor, text) {
        if (value.units(text) !== length) {
          throw new Iso8583Error('length_mismatch', field, cursor.offset);
        }
        value.write(cursor, text);
      },
    };
  }
  const { fill, trim } = fixedFilling(field, format);
  return {
    ...shape,
    read: (cursor) => trim(value.read(cursor, length)),
    write(cursor, text) {
      const filled = fill(text);
      if (value.units(filled) !== length) {
        throw new Iso8583Error('length_mismatch', field, cursor.offset);
      }
      value.write(cursor, filled);
    },
  };
}

/** Converts between the units of a value and the count in front of it. */
export type Counting = {
  fromUnits(units: number): number;
  toUnits(cursor: Cursor, count: number): number;
};

export function countingOf(
  field: number,
  { lengthCounts, content }: Pick<FieldFormat, 'lengthCounts' | 'content'>,
  value: ValueCodec,
): Counting {
  if (lengthCounts === undefined) {
    return { fromUnits: (units) => units, toUnits: (_cursor, count) => count };
  }
  if (content === 'x+n') {
    throw tableError(field, 'must not have lengthCounts with the content x+n');
  }
  if (lengthCounts === 'bytes') {
    return { fromUnits: value.wireBytes, toUnits: value.unitsInBytes };
  }
  return {
    fromUnits: (units) => value.wireBytes(units) * 2,
    toUnits: (cursor, count) =>
      count % 2 === 0 ? value.unitsInBytes(cursor, count / 2) : Number.NaN,
  };
}

function variableField(
  field: number,
  format: FieldFormat,
  value: ValueCodec,
  prefix: LengthCodec,
): FieldCodec {
  const { max, fill } = format;
  const { fromUnits, toUnits } = countingOf(field, format, value);
  const countMax = fromUnits(max);
  if (countMax > prefix.max) {
    throw tableError(
      field,
      `must have a max that its length can state: the highest length is ${prefix.max}, and max needs ${countMax}`,
    );
  }
  const filledBytes = fill === undefined ? 0 : value.wireBytes(max);
  const fillByte = fill === undefined ? 0 : value.fillByte(isZeros(fill) ? '0' : ' ');
  return {
    // An ignored error leaves the cursor behind the value, and a filled field continues there.
    isText: (format.content === 'an' || format.content === 'ans') && fill === undefined,
    wireBytesMax: prefix.wireBytes + value.wireBytes(max),
    read(cursor) {
      const start = cursor.offset;
      const count = prefix.read(cursor);
      if (count > countMax) throw new Iso8583Error('length_exceeded', field, start);
      const units = toUnits(cursor, count);
      if (!(units >= 0)) throw new Iso8583Error('length_invalid', field, start);
      const valueStart = cursor.offset;
      const text = value.read(cursor, units);
      const rest = valueStart + filledBytes - cursor.offset;
      if (rest > 0) readBytes(cursor, rest, field);
      return text;
    },
    write(cursor, text) {
      const units = value.units(text);
      const count = fromUnits(units);
      if (count > countMax) throw new Iso8583Error('length_exceeded', field, cursor.offset);
      // NaN: a binary value with half a byte
      if (!(units >= 0)) throw new Iso8583Error('content_invalid', field, cursor.offset);
      prefix.write(cursor, count);
      const end = cursor.offset + filledBytes;
      value.write(cursor, text);
      if (cursor.offset < end) {
        cursor.bytes.fill(fillByte, cursor.offset, end);
        cursor.offset = end;
      }
    },
  };
}

/** Throws `table_invalid` when the format cannot be served. */
export function compileField(field: number, format: FieldFormat, table: Encodings): FieldCodec {
  const { size, max, fill, trim } = format;
  const least = size === 'fixed' ? 0 : 1;
  if (!Number.isInteger(max) || max < least) {
    throw tableError(field, `must have a max that is a whole number of at least ${least}`);
  }
  const value = valueCodec(field, format, table);
  if (size === 'fixed') {
    if (lengthMembers.some((member) => format[member] !== undefined)) {
      throw tableError(field, `must not have ${lengthMembers.join(', ')} with the size fixed`);
    }
    return fixedField(field, format, value);
  }
  const isFilledLeft = fill === 'leftZeros' || fill === 'leftBlanks';
  if (isFilledLeft || trim === true) {
    throw tableError(
      field,
      'must not have trim or a fill on the left with a length in front; use rightBlanks or rightZeros',
    );
  }
  const prefix = lengthCodec(field, {
    digits: size.length,
    encoding: format.lengthEncoding ?? table.lengths,
    text: table.text,
    bytes: format.lengthBytes,
    inclusive: format.lengthInclusive === true,
  });
  return variableField(field, format, value, prefix);
}
