// The bytes of a message, part by part, with the field that each part belongs to.
import { compileDialect } from './compile-dialect.ts';
import type { DialectTable } from './dialect-table.ts';
import { Iso8583Error } from './errors.ts';

/**
 * A part of the bytes of a message. Values are in clear: mask card data before you store or print them.
 *
 * @example
 * ```ts
 * const part: MessagePart = { offset: 20, bytes: '000000001000', field: 4, name: 'Amount', value: '000000001000' };
 * ```
 */
export type MessagePart = {
  /** Of the first byte, counted from the message type. */
  readonly offset: number;
  /** Hexadecimal, with the length indicator of a variable field. */
  readonly bytes: string;
  /** The data element; undefined for the message type, the bitmaps, and bytes that cannot be read. */
  readonly field?: number;
  readonly name: string;
  /** As the message has it; for the bitmaps the numbers of their fields. */
  readonly value: string;
};

const partNames: Readonly<Record<number, string>> = {
  0: 'Message type',
  1: 'Bitmap',
  65: 'Bitmap, third',
};

/**
 * Lists the parts of an encoded message in the order of their bytes. If the rest of the message cannot be read, the
 * last part is that rest, without a field, and its value is the reason.
 *
 * @param table the dialect of the host
 * @param bytes the message without length and TPDU
 * @example
 * ```ts
 * annotateMessage(iso1987Ascii, bytes)[0]; // { offset: 0, bytes: '30383030', name: 'Message type', value: '0800' }
 * ```
 */
export function annotateMessage(table: DialectTable, bytes: Buffer): MessagePart[] {
  const parts: MessagePart[] = [];
  let read = 0;
  const hexBetween = (start: number, end: number) =>
    bytes.toString('hex', start, end).toUpperCase();
  try {
    compileDialect(table).decode(bytes, undefined, (number, value, offset, end) => {
      read = end;
      const field = table.fields[number];
      const part = { offset, bytes: hexBetween(offset, end), value };
      if (field === undefined) parts.push({ ...part, name: partNames[number] ?? '' });
      else parts.push({ ...part, field: number, name: field.name });
    });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const rest = hexBetween(read, bytes.length);
    parts.push({ offset: read, bytes: rest, name: 'Not readable', value: error.message });
  }
  return parts;
}
