// BER-TLV data objects by tag (ISO/IEC 8825-1, EMV Book 3, annex B).
import { type Cursor, readBytes } from '../cursor.ts';
import { Iso8583Error } from '../errors.ts';
import {
  createCursor,
  createPartCollector,
  type PartsCodec,
  type PartsContext,
  tagOf,
} from './part-reader.ts';

const LONG_TAG = 0x1f;
const CONTINUES = 0x80;
const LENGTH_BYTES_MAX = 3;
const TAG_PATTERN = /^(?:[0-9A-F]{2}){1,4}$/;
const HEX_PATTERN = /^(?:[0-9A-F]{2})*$/i;

function readTag(cursor: Cursor, field: number): string {
  const start = readBytes(cursor, 1, field);
  const { bytes } = cursor;
  if (((bytes[start] as number) & LONG_TAG) === LONG_TAG) {
    while (((bytes[readBytes(cursor, 1, field)] as number) & CONTINUES) !== 0);
  }
  return bytes.toString('hex', start, cursor.offset).toUpperCase();
}

function readLength(cursor: Cursor, field: number): number {
  const start = readBytes(cursor, 1, field);
  const first = cursor.bytes[start] as number;
  if (first < CONTINUES) return first;
  const count = first - CONTINUES;
  if (count < 1 || count > LENGTH_BYTES_MAX) throw new Iso8583Error('length_invalid', field, start);
  return cursor.bytes.readUIntBE(readBytes(cursor, count, field), count);
}

function lengthBytes(length: number): Buffer {
  if (length < CONTINUES) return Buffer.of(length);
  const count = length < 2 ** 8 ? 1 : length < 2 ** 16 ? 2 : LENGTH_BYTES_MAX;
  const bytes = Buffer.alloc(1 + count, CONTINUES + count);
  bytes.writeUIntBE(length, 1, count);
  return bytes;
}

export function compileBerTlv({ field }: Pick<PartsContext, 'field'>): PartsCodec {
  return {
    encode(parts) {
      const objects = Object.entries(parts).map(([id, value]) => {
        const tag = tagOf(id);
        if (!TAG_PATTERN.test(tag)) throw new Iso8583Error('field_unknown', field);
        if (!HEX_PATTERN.test(value)) throw new Iso8583Error('content_invalid', field);
        const content = Buffer.from(value, 'hex');
        return Buffer.concat([Buffer.from(tag, 'hex'), lengthBytes(content.length), content]);
      });
      return Buffer.concat(objects);
    },
    decode(bytes) {
      const cursor = createCursor(bytes);
      const { parts, add } = createPartCollector();
      while (cursor.offset < cursor.end) {
        // Zero bytes between objects have no meaning.
        if (bytes[cursor.offset] === 0) {
          cursor.offset++;
          continue;
        }
        const tag = readTag(cursor, field);
        const start = readBytes(cursor, readLength(cursor, field), field);
        add(tag, bytes.toString('hex', start, cursor.offset).toUpperCase());
      }
      return parts;
    },
  };
}
