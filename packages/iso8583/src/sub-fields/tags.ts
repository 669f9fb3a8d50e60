// Parts that each have a tag and a length.
import { permittedCodes } from '../characters.ts';
import type { Cursor } from '../cursor.ts';
import type { FieldFormat, FieldSize, TaggedPartFormat, TagsFormat } from '../dialect-table.ts';
import { Iso8583Error, tableError } from '../errors.ts';
import { type Counting, compileField, countingOf, valueCodec } from '../field-codec.ts';
import { lengthCodec } from '../length-codec.ts';
import { bcdCodec, rawCodec, textCodec, type ValueCodec } from '../value-codec.ts';
import {
  createCursor,
  createPartCollector,
  createPartWriter,
  type PartsCodec,
  type PartsContext,
  tagOf,
} from './part-reader.ts';

const TAG_SIZE_MAX = 4;
const LENGTH_SIZE_MAX = 6;
const VALUE_MAX = 999_999;
const otherText = { content: 'ans', max: VALUE_MAX } as const;
const otherBytes = { content: 'b', max: VALUE_MAX, encoding: 'raw' } as const;

function tagCodec({ tagSize, tagEncoding }: TagsFormat, context: PartsContext): ValueCodec {
  const { field, encodings } = context;
  if (!Number.isInteger(tagSize) || tagSize < 1 || tagSize > TAG_SIZE_MAX) {
    throw tableError(field, `must have a tagSize from 1 to ${TAG_SIZE_MAX} in subFields`);
  }
  if (tagEncoding === 'binary') return rawCodec(field);
  if (tagEncoding === 'bcd') {
    return bcdCodec(field, { justify: 'right', pad: '0', separator: false });
  }
  return textCodec(field, permittedCodes.ans, tagEncoding ?? encodings.text);
}

type TaggedPart = { codec: ValueCodec; counting: Counting; max: number };

function compilePart(
  { lengthCounts, lengthSize }: TagsFormat,
  part: Omit<TaggedPartFormat, 'name'>,
  { field, encodings }: PartsContext,
): TaggedPart {
  const size = 'L'.repeat(lengthSize) as FieldSize;
  const format: FieldFormat = { ...part, name: '', size };
  const codec = valueCodec(field, format, encodings);
  const counted = lengthCounts === undefined ? part : { ...part, lengthCounts };
  return { codec, counting: countingOf(field, counted, codec), max: part.max };
}

/** @throws Iso8583Error `table_invalid` for sizes out of their range */
export function compileTags(format: TagsFormat, context: PartsContext): PartsCodec {
  const { field, encodings, isBytes } = context;
  const { tagSize, lengthSize, order = 'tagFirst', lengthCountsTag = false, lead } = format;
  const tag = tagCodec(format, context);
  if (!Number.isInteger(lengthSize) || lengthSize < 1 || lengthSize > LENGTH_SIZE_MAX) {
    throw tableError(field, `must have a lengthSize from 1 to ${LENGTH_SIZE_MAX} in subFields`);
  }
  const length = lengthCodec(field, {
    digits: lengthSize,
    encoding: format.lengthEncoding ?? encodings.lengths,
    text: encodings.text,
    bytes: format.lengthBytes,
    inclusive: false,
  });
  const tagBytes = lengthCountsTag ? tag.wireBytes(tagSize) : 0;
  const other = compilePart(format, isBytes ? otherBytes : otherText, context);
  const compiled = Object.entries(format.parts ?? {}).map(
    ([id, part]) => [id, compilePart(format, part, context)] as const,
  );
  const partsByTag = new Map(compiled);
  const leadCodec = lead === undefined ? undefined : compileField(field, lead, encodings);
  const writeLead = createPartWriter(leadCodec === undefined ? [] : [leadCodec]);

  function writePart(id: string, value: string): Buffer {
    const ownTag = tagOf(id);
    const { codec, counting, max } = partsByTag.get(ownTag) ?? other;
    const units = codec.units(value);
    const count = counting.fromUnits(units) + tagBytes;
    if (tag.units(ownTag) !== tagSize) throw new Iso8583Error('field_unknown', field);
    if (units > max || count > length.max) throw new Iso8583Error('length_exceeded', field);
    if (!(units >= 0)) throw new Iso8583Error('content_invalid', field);
    const bytes = Buffer.alloc(tag.wireBytes(tagSize) + length.wireBytes + codec.wireBytes(units));
    const cursor = createCursor(bytes);
    if (order === 'lengthFirst') length.write(cursor, count);
    tag.write(cursor, ownTag);
    if (order === 'tagFirst') length.write(cursor, count);
    codec.write(cursor, value);
    return bytes;
  }

  function readPart(cursor: Cursor, add: (tag: string, value: string) => void): void {
    const start = cursor.offset;
    const lengthInFront = order === 'lengthFirst' ? length.read(cursor) : 0;
    const ownTag = tag.read(cursor, tagSize);
    const count = (order === 'tagFirst' ? length.read(cursor) : lengthInFront) - tagBytes;
    const { codec, counting, max } = partsByTag.get(ownTag) ?? other;
    const units = counting.toUnits(cursor, count);
    if (!(units >= 0)) throw new Iso8583Error('length_invalid', field, start);
    if (counting.fromUnits(units) > counting.fromUnits(max)) {
      throw new Iso8583Error('length_exceeded', field, start);
    }
    add(ownTag, codec.read(cursor, units));
  }

  return {
    encode(parts) {
      const written: Buffer[] = [];
      for (const [id, value] of Object.entries(parts)) {
        if (lead === undefined || leadCodec === undefined || id !== lead.id) {
          written.push(writePart(id, value));
        } else written.unshift(writeLead(leadCodec, value));
      }
      return Buffer.concat(written);
    },
    decode(bytes) {
      const cursor = createCursor(bytes);
      const { parts, add } = createPartCollector();
      if (lead !== undefined && leadCodec !== undefined && cursor.end > 0) {
        parts[lead.id] = leadCodec.read(cursor);
      }
      while (cursor.offset < cursor.end) readPart(cursor, add);
      return parts;
    },
  };
}
