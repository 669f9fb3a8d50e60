// The moving position that field readers and writers share.
import { Iso8583Error } from './errors.ts';

export type Cursor = { bytes: Buffer; offset: number; end: number };

/** Takes `count` bytes and returns where they begin; never beyond the end of the message. */
export function readBytes(cursor: Cursor, count: number, field: number): number {
  const start = cursor.offset;
  if (count > cursor.end - start) throw new Iso8583Error('message_truncated', field, start);
  cursor.offset = start + count;
  return start;
}
