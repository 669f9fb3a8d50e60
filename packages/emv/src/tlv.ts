/** BER-TLV as EMV uses it: reading with limits, writing in one canonical form. */
import { EmvError } from './errors.ts';
import { tagFacts } from './tags.ts';

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
const depthMax = 8;
const tagBytesMax = 3;
const lengthBytesMax = 4;
const none: ReadonlySet<string> = new Set();

type Header = { tag: string; constructed: boolean; length: number; start: number };

function readTag(bytes: Buffer, offset: number): { tag: string; next: number } {
  let next = offset + 1;
  if (((bytes[offset] ?? 0) & 0x1f) === 0x1f) {
    let more = true;
    while (more) {
      if (next >= bytes.length) throw new EmvError('tlv_truncated', { offset });
      if (next - offset >= tagBytesMax) throw new EmvError('tlv_tag_invalid', { offset });
      more = ((bytes[next] ?? 0) & 0x80) !== 0;
      next += 1;
    }
  }
  return { tag: bytes.toString('hex', offset, next).toUpperCase(), next };
}

function readHeader(bytes: Buffer, offset: number): Header {
  const { tag, next } = readTag(bytes, offset);
  const place = { tag, offset };
  const first = bytes[next];
  if (first === undefined) throw new EmvError('tlv_truncated', place);
  const constructed = ((bytes[offset] ?? 0) & 0x20) !== 0;
  if (first < 0x80) return { tag, constructed, length: first, start: next + 1 };
  const count = first & 0x7f;
  // 80 is the indefinite length, which EMV does not know.
  if (count === 0 || count >= lengthBytesMax) throw new EmvError('tlv_length_invalid', place);
  if (next + 1 + count > bytes.length) throw new EmvError('tlv_truncated', place);
  return { tag, constructed, length: bytes.readUIntBE(next + 1, count), start: next + 1 + count };
}

/**
 * The offset behind one byte FF that stands where an object may begin. FF pads, and it also leads
 * the private tags of terminal makers (FF8105): it is padding when another padding byte or the end
 * follows, or an object of the table with a length of the table; else it begins a private tag.
 */
function skipPaddingFf(bytes: Buffer, offset: number): number {
  const next = bytes[offset + 1];
  if (next === undefined || next === 0x00 || next === 0xff) return offset + 1;
  try {
    const header = readHeader(bytes, offset + 1);
    const facts = tagFacts(header.tag);
    const fits = header.start + header.length <= bytes.length;
    if (facts === undefined || !fits) return offset;
    const known = header.length >= facts.lengthMin && header.length <= facts.lengthMax;
    return known ? offset + 1 : offset;
  } catch {
    return offset;
  }
}

function skipPadding(bytes: Buffer, start: number): number {
  let offset = start;
  while (offset < bytes.length) {
    if (bytes[offset] === 0x00) {
      offset += 1;
      continue;
    }
    if (bytes[offset] !== 0xff) return offset;
    const next = skipPaddingFf(bytes, offset);
    if (next === offset) return offset;
    offset = next;
  }
  return offset;
}

/** Private constructed objects (tags from E0 on) hold what their maker likes, not always TLV. */
const isPrivate = (tag: string) => Number.parseInt(tag.slice(0, 2), 16) >= 0xc0;

function readObjects(bytes: Buffer, options: TlvOptions, depth: number, base: number): TlvObject[] {
  if (depth > depthMax) throw new EmvError('tlv_too_deep', { offset: base });
  const objects: TlvObject[] = [];
  const seen = new Set<string>();
  let offset = skipPadding(bytes, 0);
  while (offset < bytes.length) {
    const { tag, constructed, length, start } = readHeader(bytes, offset);
    const place = { tag, offset: base + offset };
    if (start + length > bytes.length) throw new EmvError('tlv_truncated', place);
    if (seen.has(tag) && !(options.repeatable ?? none).has(tag)) {
      throw new EmvError('tlv_duplicate_tag', place);
    }
    seen.add(tag);
    const value = bytes.subarray(start, start + length);
    const readInto = constructed && !isPrivate(tag) && !(options.opaque ?? none).has(tag);
    const inner = readInto ? readObjects(value, options, depth + 1, base + start) : undefined;
    objects.push(inner === undefined ? { tag, value } : { tag, value, children: inner });
    offset = skipPadding(bytes, start + length);
  }
  return objects;
}

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
  return readObjects(bytes, options, 0, 0);
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
 * @throws EmvError `tlv_duplicate_tag` where one tag stands in two templates
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
