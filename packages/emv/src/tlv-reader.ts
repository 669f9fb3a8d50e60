/** Finds the data objects in bytes: the position of each, without copying values. */

import { tagFacts } from './emv-tags.ts';
import { EmvError } from './errors.ts';

/** A data object by its places in the bytes; `children` where it was read into. */
export type TlvPosition = {
  readonly tag: string;
  /** Where its tag begins. */
  readonly at: number;
  /** Where its value begins. */
  readonly start: number;
  readonly end: number;
  readonly children: readonly TlvPosition[] | undefined;
};

export type ReaderRules = {
  /** Constructed tags that are not read into. */
  readonly opaque: ReadonlySet<string>;
  /** Tags that may occur more than once among their siblings. */
  readonly repeatable: ReadonlySet<string>;
};

const depthMax = 8;
const tagBytesMax = 3;
const lengthBytesMax = 4;
/** Beyond so many siblings a set finds a repeated tag sooner than a look at each. */
const lookedThroughMax = 32;

const constructedBit = 0x20;
const moreTagBytes = 0x1f;
const privateClass = 0xc0;

/** The texts of the tags of one byte, and behind them of two, made when they are first met. */
const shortTags: string[] = Array.from({ length: 256 + 8 * 128 });

function tagText(bytes: Buffer, offset: number, next: number): string {
  const first = bytes[offset] ?? 0;
  const size = next - offset;
  if (size > 2) return bytes.toString('hex', offset, next).toUpperCase();
  // Three bits of the first byte differ where a second one follows, and seven of the last.
  const cacheIndex = size === 1 ? first : 256 + ((first >> 5) << 7) + (bytes[offset + 1] ?? 0);
  shortTags[cacheIndex] ??= bytes.toString('hex', offset, next).toUpperCase();
  return shortTags[cacheIndex];
}

function tagEnd(bytes: Buffer, offset: number, end: number): number {
  let next = offset + 1;
  if (((bytes[offset] ?? 0) & moreTagBytes) !== moreTagBytes) return next;
  for (let more = true; more; next += 1) {
    if (next >= end) throw new EmvError('tlv_truncated', { offset });
    if (next - offset >= tagBytesMax) throw new EmvError('tlv_tag_invalid', { offset });
    more = ((bytes[next] ?? 0) & 0x80) !== 0;
  }
  return next;
}

/** One header; its fields are good until the next is read. */
const header = { tag: '', start: 0, length: 0 };

function readHeader(bytes: Buffer, offset: number, end: number): void {
  const next = tagEnd(bytes, offset, end);
  header.tag = tagText(bytes, offset, next);
  const first = next < end ? bytes[next] : undefined;
  if (first === undefined) throw new EmvError('tlv_truncated', { tag: header.tag, offset });
  header.start = next + 1;
  header.length = first;
  if (first < 0x80) return;
  const count = first & 0x7f;
  // 80 is the indefinite length, which EMV does not know.
  if (count === 0 || count >= lengthBytesMax) {
    throw new EmvError('tlv_length_invalid', { tag: header.tag, offset });
  }
  header.start += count;
  if (header.start > end) throw new EmvError('tlv_truncated', { tag: header.tag, offset });
  header.length = bytes.readUIntBE(next + 1, count);
}

/**
 * The offset behind one byte FF at a position where an object may begin. FF pads, and it also leads
 * the private tags of terminal makers (FF8105): it is padding when another padding byte or the end
 * follows, or an object of the table with a length of the table; else it begins a private tag.
 */
function skipPaddingFf(bytes: Buffer, offset: number, end: number): number {
  const next = offset + 1 < end ? bytes[offset + 1] : undefined;
  if (next === undefined || next === 0x00 || next === 0xff) return offset + 1;
  try {
    readHeader(bytes, offset + 1, end);
  } catch {
    return offset;
  }
  const facts = tagFacts(header.tag);
  if (facts === undefined || header.start + header.length > end) return offset;
  const isKnown = header.length >= facts.lengthMin && header.length <= facts.lengthMax;
  return isKnown ? offset + 1 : offset;
}

function skipPadding(bytes: Buffer, start: number, end: number): number {
  let offset = start;
  while (offset < end) {
    if (bytes[offset] === 0x00) {
      offset += 1;
      continue;
    }
    if (bytes[offset] !== 0xff) return offset;
    const next = skipPaddingFf(bytes, offset, end);
    if (next === offset) return offset;
    offset = next;
  }
  return offset;
}

/** Private constructed objects (tags from E0 on) hold what their maker likes, not always TLV. */
function isReadInto(first: number, tag: string, rules: ReaderRules): boolean {
  const isConstructed = (first & constructedBit) !== 0;
  return isConstructed && first < privateClass && !rules.opaque.has(tag);
}

function standsIn(siblings: readonly TlvPosition[], tag: string): boolean {
  for (const sibling of siblings) if (sibling.tag === tag) return true;
  return false;
}

/**
 * Finds the objects from `from` to `end`, and those inside of templates.
 *
 * @throws EmvError `tlv_truncated`, `tlv_tag_invalid`, `tlv_length_invalid`, `tlv_too_deep` or
 *   `tlv_duplicate_tag`
 * @example
 * findObjects(bytes, 0, bytes.length, { opaque: new Set(), repeatable: new Set() });
 */
export function findObjects(
  bytes: Buffer,
  from: number,
  end: number,
  rules: ReaderRules,
  depth = 0,
): TlvPosition[] {
  if (depth > depthMax) throw new EmvError('tlv_too_deep', { offset: from });
  const objects: TlvPosition[] = [];
  let seenTags: Set<string> | undefined;
  let at = skipPadding(bytes, from, end);
  while (at < end) {
    readHeader(bytes, at, end);
    const { tag, start, length } = header;
    const valueEnd = start + length;
    if (valueEnd > end) throw new EmvError('tlv_truncated', { tag, offset: at });
    if (objects.length === lookedThroughMax)
      seenTags = new Set(objects.map((sibling) => sibling.tag));
    const isRepeated = seenTags === undefined ? standsIn(objects, tag) : seenTags.has(tag);
    if (isRepeated && !rules.repeatable.has(tag)) {
      throw new EmvError('tlv_duplicate_tag', { tag, offset: at });
    }
    const children = isReadInto(bytes[at] ?? 0, tag, rules)
      ? findObjects(bytes, start, valueEnd, rules, depth + 1)
      : undefined;
    seenTags?.add(tag);
    objects.push({ tag, at, start, end: valueEnd, children });
    at = skipPadding(bytes, valueEnd, end);
  }
  return objects;
}

/** The value of an object, out of the hexadecimal text of the bytes that it was found in. */
export function valueText(text: string, { start, end }: TlvPosition): string {
  return text.slice(start * 2, end * 2);
}

/** An object without children in its canonical form: with the shortest length. */
export function objectText(text: string, position: TlvPosition): string {
  const { tag, at, start, end } = position;
  const length = end - start;
  // As most are written: then it is cut out as a whole.
  if (length < 0x80 && start - at === tag.length / 2 + 1) return text.slice(at * 2, end * 2);
  return tag + lengthText(length) + valueText(text, position);
}

function lengthText(length: number): string {
  const digits = length.toString(16).toUpperCase();
  const even = digits.length % 2 === 0 ? digits : `0${digits}`;
  return length < 0x80 ? even : (0x80 + even.length / 2).toString(16).toUpperCase() + even;
}
