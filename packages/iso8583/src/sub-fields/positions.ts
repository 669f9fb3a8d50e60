// Parts one behind the other.
import type { PositionsFormat } from '../dialect-table.ts';
import { Iso8583Error, tableError } from '../errors.ts';
import { compileField } from '../field-codec.ts';
import {
  createCursor,
  createPartWriter,
  type Parts,
  type PartsCodec,
  type PartsContext,
  requireParts,
} from './part-reader.ts';

export function compilePositions(format: PositionsFormat, context: PartsContext): PartsCodec {
  const { field, encodings } = context;
  const ids = format.parts.map(({ id }) => id);
  const codecs = format.parts.map((part) => compileField(field, part, encodings));
  const partIds = new Set(ids);
  if (partIds.size !== ids.length) {
    throw tableError(field, 'must have parts with different ids in subFields');
  }
  const writePart = createPartWriter(codecs);
  return {
    encode(parts) {
      requireParts(field, parts, partIds);
      const last = ids.findLastIndex((id) => parts[id] !== undefined);
      const written = codecs.slice(0, last + 1);
      return Buffer.concat(
        written.map((codec, at) => writePart(codec, parts[ids[at] ?? ''] ?? '')),
      );
    },
    decode(bytes) {
      const cursor = createCursor(bytes);
      const parts: Parts = {};
      for (const [at, codec] of codecs.entries()) {
        if (cursor.offset === cursor.end) break;
        parts[ids[at] as string] = codec.read(cursor);
      }
      if (cursor.offset < cursor.end) {
        throw new Iso8583Error('trailing_bytes', field, cursor.offset);
      }
      return parts;
    },
  };
}
