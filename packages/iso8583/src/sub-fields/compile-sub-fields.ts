// Compiles the structure inside the value of a field.
import type { Encodings, FieldFormat, SubFieldFormat } from '../dialect-table.ts';
import { Iso8583Error, tableError } from '../errors.ts';
import { compileBerTlv } from './ber-tlv.ts';
import { compileBitmap } from './bitmapped.ts';
import { type PartsCodec, type PartsContext, tagOf } from './part-reader.ts';
import { compilePositions } from './positions.ts';
import { compileSeparated, compileTokens } from './separated.ts';
import { compileTags } from './tags.ts';

/** Joins the parts of a field to its one text in a message, and splits this text into parts. */
export type SubFields = {
  /**
   * @param parts by identifier: of a list of parts their `id`, otherwise the tag or the number of the bit
   * @returns the value of the field: characters, or hexadecimal digits in a field of bytes
   * @throws Iso8583Error `field_unknown` for a part that the structure does not have, and the errors of `Dialect.encode`
   */
  encode(parts: Readonly<Record<string, string>>): string;
  /**
   * A tag that occurs again has its number behind a point: `72`, `72.2`.
   *
   * @throws Iso8583Error for a value that does not have the structure, and no other error
   */
  decode(value: string): Record<string, string>;
  /** The name of a part, for people. */
  nameOf(id: string): string | undefined;
  /** The structure inside a part, if it has one. */
  partsOf(id: string): SubFields | undefined;
};

const LATIN_1_MAX = 0xff;
const HEX_PATTERN = /^(?:[0-9A-F]{2})*$/i;

const isEbcdic = (encoding: string): boolean => encoding.startsWith('ebcdic');

function compileParts(format: SubFieldFormat, context: PartsContext): PartsCodec {
  switch (format.type) {
    case 'Positions':
      return compilePositions(format, context);
    case 'Tags':
      return compileTags(format, context);
    case 'BerTlv':
      return compileBerTlv(context);
    case 'Bitmap':
      return compileBitmap(format, context);
    case 'Separated':
      return compileSeparated(format, context);
    case 'Tokens':
      return compileTokens(format, context);
  }
}

type NamedPart = { readonly name: string } & Partial<FieldFormat>;

/** The parts that the structure describes, by identifier. */
function describedParts(format: SubFieldFormat): readonly (readonly [string, NamedPart])[] {
  switch (format.type) {
    case 'BerTlv':
      return Object.entries(format.names ?? {}).map(([id, name]) => [id, { name }]);
    case 'Tokens': {
      const { names = {}, parts = {} } = format;
      const otherTokens = Object.entries(names).map(([id, name]) => [id, { name }] as const);
      return [...otherTokens, ...Object.entries(parts)];
    }
    case 'Positions':
    case 'Separated':
      return format.parts.map((part) => [part.id, part]);
    case 'Tags':
    case 'Bitmap': {
      const { lead, parts = {} } = format;
      return [...(lead === undefined ? [] : [[lead.id, lead] as const]), ...Object.entries(parts)];
    }
  }
}

/** A field or part that can have a structure. */
export type StructuredFormat = Partial<FieldFormat>;

/** The format of a part; undefined if the structure does not describe it. */
export function findPart(
  format: StructuredFormat | undefined,
  id: string,
): StructuredFormat | undefined {
  const parts = format?.subFields === undefined ? [] : describedParts(format.subFields);
  return parts.find(([each]) => each === id)?.[1];
}

const byteEncodings: readonly unknown[] = ['raw', 'bcd', 'zoned', 'binary', 'littleEndian'];

/** A field of text has no bytes that are not characters. */
function requireCharacters(
  field: number,
  format: SubFieldFormat,
  encodings: Encodings,
  parts: readonly (readonly [string, NamedPart])[],
): void {
  const used: unknown[] = Object.values(encodings);
  if (format.type === 'BerTlv') used.push('binary');
  if (format.type === 'Bitmap') used.push(format.bitmap);
  if (format.type === 'Tags') used.push(format.tagEncoding, format.lengthEncoding);
  for (const [, { encoding, lengthEncoding }] of parts) used.push(encoding, lengthEncoding);
  const bytes = used.find((encoding) => byteEncodings.includes(encoding));
  if (bytes !== undefined) {
    throw tableError(
      field,
      `must have the content b or tlv for subFields with the encoding ${bytes} (${format.type}), or only characters in them`,
    );
  }
}

/**
 * Compiles the structure of a field that consists of parts.
 *
 * @param format the field, with `subFields`
 * @param field its number, for errors
 * @throws Iso8583Error `table_invalid` for a field without structure, or with one that contradicts itself
 * @example
 * ```ts
 * const parts = [
 *   { id: 'batch', name: 'Batch number', content: 'n', size: 'fixed', max: 6 },
 *   { id: 'shift', name: 'Shift', content: 'n', size: 'fixed', max: 3 },
 * ] as const;
 * const additionalData = compileSubFields({
 *   name: 'Additional data', content: 'ans', size: 'LLL', max: 999, subFields: { type: 'Positions', parts },
 * });
 * additionalData.encode({ batch: '000017', shift: '002' }); // '000017002'
 * ```
 */
export function compileSubFields(format: StructuredFormat, field = 0): SubFields {
  const { subFields, content } = format;
  if (subFields === undefined) throw tableError(field, 'must have subFields');
  const isBytes = content === 'b' || content === 'tlv';
  const defaults: Encodings = {
    text: 'ascii',
    numerics: 'ascii',
    lengths: 'ascii',
    binaries: isBytes ? 'raw' : 'hex',
  };
  const encodings: Encodings = { ...defaults, ...subFields.encodings };
  if (!isBytes && [encodings.text, encodings.numerics, encodings.lengths].some(isEbcdic))
    throw tableError(
      field,
      `must have subFields without EBCDIC, because the value of the content ${content} is text in every character set: ` +
        'remove the encodings, or use the content b',
    );
  const codec = compileParts(subFields, { field, encodings, isBytes });
  const described = describedParts(subFields);
  if (!isBytes) requireCharacters(field, subFields, encodings, described);
  const names = new Map(described.map(([id, { name }]) => [id, name]));
  const nested = new Map<string, SubFields>();
  for (const [id, part] of described) {
    if (part.subFields !== undefined) nested.set(id, compileSubFields(part, field));
  }

  function bytesOf(value: string): Buffer {
    const isValid = isBytes
      ? HEX_PATTERN.test(value)
      : [...value].every((character) => character.charCodeAt(0) <= LATIN_1_MAX);
    if (!isValid) throw new Iso8583Error('content_invalid', field, 0);
    return Buffer.from(value, isBytes ? 'hex' : 'latin1');
  }

  return {
    encode(parts) {
      const bytes = codec.encode(parts);
      return isBytes ? bytes.toString('hex').toUpperCase() : bytes.toString('latin1');
    },
    decode: (value) => codec.decode(bytesOf(value)),
    nameOf: (id) => names.get(id) ?? names.get(tagOf(id)),
    partsOf: (id) => nested.get(id) ?? nested.get(tagOf(id)),
  };
}
