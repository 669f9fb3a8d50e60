// The types and steps that the structures of values have in common.
import type { Cursor } from '../cursor.ts';
import type { Encodings } from '../dialect-table.ts';
import { Iso8583Error } from '../errors.ts';
import type { FieldCodec } from '../field-codec.ts';

/** The parts of a value by identifier. */
export type Parts = Record<string, string>;

/** Writes and reads the bytes of one structure. */
export type PartsCodec = {
  encode(parts: Readonly<Parts>): Buffer;
  decode(bytes: Buffer): Parts;
};

/** The field, for errors, and how its parts are encoded. */
export type PartsContext = {
  readonly field: number;
  readonly encodings: Encodings;
  /** The value is bytes and not text. */
  readonly isBytes: boolean;
};

export function createCursor(bytes: Buffer): Cursor {
  return { bytes, offset: 0, end: bytes.length };
}

/** A writer of single parts; it reuses memory for the longest one. */
export function createPartWriter(
  codecs: readonly FieldCodec[],
): (codec: FieldCodec, value: string) => Buffer {
  const scratch = Buffer.alloc(Math.max(0, ...codecs.map(({ wireBytesMax }) => wireBytesMax)));
  return (codec, value) => {
    const cursor = createCursor(scratch);
    codec.write(cursor, value);
    return Buffer.from(scratch.subarray(0, cursor.offset));
  };
}

/** Refuses a part that the structure does not have. */
export function requireParts(
  field: number,
  parts: Readonly<Parts>,
  ids: ReadonlySet<string>,
): void {
  if (Object.keys(parts).some((id) => !ids.has(id))) throw new Iso8583Error('field_unknown', field);
}

/** Collects parts by tag. A tag that occurs again has its number behind a point: `72`, `72.2`. */
export function createPartCollector() {
  const parts: Parts = {};
  const counts = new Map<string, number>();
  return {
    parts,
    add(tag: string, value: string): void {
      const count = (counts.get(tag) ?? 0) + 1;
      counts.set(tag, count);
      parts[count === 1 ? tag : `${tag}.${count}`] = value;
    },
  };
}

export function tagOf(id: string): string {
  const point = id.indexOf('.');
  return point > 0 ? id.slice(0, point) : id;
}
