/** BER-TLV as EMV uses it: reading with limits, writing in one canonical form. */
import { EmvError } from './errors.ts';
import { findObjects, type TlvPosition } from './tlv-reader.ts';

/**
 * One data object. `children` is there for a constructed object that was read into; its `value`
 * then is still the bytes as they came.
 *
 * @example
 * const object: TlvObject = { tag: '9F27', value: Buffer.from('80', 'hex') };
 */
export type TlvObject = {
  readonly tag: string;
  readonly value: Buffer;
  readonly children?: readonly TlvObject[];
};

/**
 * Limits and exceptions of {@link decodeTlv}.
 *
 * @example
 * const options: TlvOptions = { bytesMax: 255, repeatable: new Set(['71', '72']) };
 */
export type TlvOptions = {
  /** The longest input, in bytes; 4096 without it. */
  readonly bytesMax?: number;
  /** Constructed tags that are not read into, so that their bytes stay as they came. */
  readonly opaque?: ReadonlySet<string>;
  /** Tags that may occur more than once among their siblings. */
  readonly repeatable?: ReadonlySet<string>;
};

const bytesMaxDefault = 4096;
const noTags: ReadonlySet<string> = new Set();

/**
 * The bytes of a hexadecimal text.
 *
 * @param hex - an even number of hexadecimal digits, upper or lower case
 * @returns the bytes
 * @throws EmvError `hex_invalid`
 * @example
 * bytesOf('9F2701'); // <Buffer 9f 27 01>
 */
export function bytesOf(hex: string): Buffer {
  if (hex.length % 2 !== 0 || !/^[0-9A-Fa-f]*$/.test(hex)) throw new EmvError('hex_invalid');
  return Buffer.from(hex, 'hex');
}

/**
 * Reads data objects. Tags have 1 to 3 bytes, lengths 1 to 4; padding by 00 and FF between objects
 * is skipped; a tag that is repeated among its siblings is an error; private constructed objects
 * are not read into; no length is trusted beyond the input.
 *
 * Source: EMV 4.4 Book 3, annex B; ISO/IEC 8825-1.
 *
 * @param input - the bytes
 * @param options - limits and exceptions
 * @returns the objects in their order
 * @throws EmvError `tlv_truncated`, `tlv_tag_invalid`, `tlv_length_invalid`, `tlv_too_large`,
 *   `tlv_too_deep` or `tlv_duplicate_tag`
 * @example
 * decodeTlv(bytesOf('9F270180')); // [{ tag: '9F27', value: <Buffer 80> }]
 */
export function decodeTlv(input: Uint8Array, options: TlvOptions = {}): TlvObject[] {
  if (input.length > (options.bytesMax ?? bytesMaxDefault)) throw new EmvError('tlv_too_large');
  const bytes = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
  const { opaque = noTags, repeatable = noTags } = options;
  return cutOut(bytes, findObjects(bytes, 0, bytes.length, { opaque, repeatable }));
}

function cutOut(bytes: Buffer, positions: readonly TlvPosition[]): TlvObject[] {
  return positions.map(({ tag, start, end, children }) => {
    const value = bytes.subarray(start, end);
    return children === undefined
      ? { tag, value }
      : { tag, value, children: cutOut(bytes, children) };
  });
}

function writeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const count = length > 0xffff ? 3 : length > 0xff ? 2 : 1;
  const bytes = Buffer.alloc(count + 1);
  bytes[0] = 0x80 | count;
  bytes.writeUIntBE(length, 1, count);
  return bytes;
}

/**
 * Writes data objects in the canonical form: no padding, shortest lengths. An object with children
 * is written from them.
 *
 * @param objects - the objects; values below 16 MiB
 * @returns the bytes
 * @throws EmvError `tlv_too_large` for a longer value
 * @example
 * encodeTlv([{ tag: '9F27', value: bytesOf('80') }]).toString('hex'); // '9f270180'
 */
export function encodeTlv(objects: readonly TlvObject[]): Buffer {
  const parts: Buffer[] = [];
  for (const { tag, value, children } of objects) {
    const body = children === undefined ? value : encodeTlv(children);
    if (body.length > 0xffffff) throw new EmvError('tlv_too_large', { tag });
    parts.push(bytesOf(tag), writeLength(body.length), body);
  }
  return Buffer.concat(parts);
}

/**
 * {@link encodeTlv} as upper-case hexadecimal.
 *
 * @param objects - the objects
 * @returns upper-case hexadecimal
 * @throws EmvError `tlv_too_large`
 * @example
 * tlvHex(decodeTlv(bytesOf('00009f270180'))); // '9F270180'
 */
export function tlvHex(objects: readonly TlvObject[]): string {
  return encodeTlv(objects).toString('hex').toUpperCase();
}

/**
 * The primitive objects of a tree, by tag. Private constructed objects count as primitive.
 *
 * @param objects - the objects
 * @returns tag to value, in the order of the input
 * @throws EmvError `tlv_duplicate_tag` where two templates contain one tag
 * @example
 * leavesOf(decodeTlv(bytesOf('77049F270180'))).get('9F27'); // <Buffer 80>
 */
export function leavesOf(objects: readonly TlvObject[]): Map<string, Buffer> {
  const leaves = new Map<string, Buffer>();
  const visit = (list: readonly TlvObject[]) => {
    for (const { tag, value, children } of list) {
      if (children !== undefined) visit(children);
      else if (leaves.has(tag)) throw new EmvError('tlv_duplicate_tag', { tag });
      else leaves.set(tag, value);
    }
  };
  visit(objects);
  return leaves;
}
