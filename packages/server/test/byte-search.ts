// Finds any of very many byte sequences in bytes, at a few nanoseconds a byte, whatever the case of letters.
import { formsOf } from './secret-forms.ts';

/** Shorter ones would be met by chance. */
const windowBytes = 8;
const base = 0x01000193;
const bloomBits = 22;

const folded = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

const fold = (bytes: Uint8Array): Buffer => Buffer.from(bytes.map((byte) => folded[byte] ?? 0));

/** What the first of a window is worth in its hash when it leaves. */
const leaving = Array.from({ length: windowBytes }).reduce<number>(
  (worth) => Math.imul(worth, base),
  1,
);

const leavingOf = Int32Array.from(folded, (byte) => Math.imul(byte, leaving));

function hashOf(bytes: Uint8Array): number {
  let hash = 0;
  for (let at = 0; at < windowBytes; at += 1) hash = (Math.imul(hash, base) + (bytes[at] ?? 0)) | 0;
  return hash;
}

/** A hash as a place among the bits. */
const placeOf = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> (32 - bloomBits);

/** Pages and journals are empty for a good part, and comparing memory is cheaper than reading it. */
const emptyBytes = 256;
const nothing = Buffer.alloc(windowBytes + emptyBytes);

/** Whether a whole block is empty, and what a pattern could have begun with before it too. */
function isEmpty(bytes: Buffer, from: number): boolean {
  const before = from - windowBytes;
  if (before < 0 || from + emptyBytes > bytes.length) return false;
  return bytes.compare(nothing, 0, nothing.length, before, from + emptyBytes) === 0;
}

type Pattern = { readonly name: string; readonly bytes: Buffer };

export type ByteSearch = {
  /** The name of the first sequence that stands in the bytes, with what is around it. */
  find(bytes: Uint8Array): string | undefined;
  readonly size: number;
};

/** Digits or hex as they are packed, two a byte. */
function packedForms(secret: string): Buffer[] {
  if (!/^[0-9a-f]+$/i.test(secret)) return [];
  const sides = secret.length % 2 === 0 ? [secret] : [`0${secret}`, `${secret}F`];
  return sides.map((side) => Buffer.from(side, 'hex'));
}

/** @param secrets by name; @param words that must not stand there either, as they are */
export function createByteSearch(
  secrets: Iterable<readonly [name: string, secret: string]>,
  words: readonly string[] = [],
): ByteSearch {
  const bits = new Uint8Array(2 ** (bloomBits - 3));
  const patterns = new Map<number, Pattern[]>();
  let size = 0;

  function add(name: string, given: Uint8Array): void {
    if (given.length < windowBytes) return;
    const bytes = fold(given);
    const hash = hashOf(bytes);
    const place = placeOf(hash);
    bits[place >> 3] = (bits[place >> 3] ?? 0) | (1 << (place & 7));
    const known = patterns.get(hash) ?? [];
    if (known.some((each) => each.bytes.equals(bytes))) return;
    known.push({ name, bytes });
    patterns.set(hash, known);
    size += 1;
  }

  for (const [name, secret] of secrets) {
    for (const form of formsOf(secret)) add(name, Buffer.from(form, 'latin1'));
    for (const form of packedForms(secret)) add(`${name}, packed`, form);
  }
  for (const word of words) add(word, Buffer.from(word, 'latin1'));

  function standsAt(bytes: Uint8Array, start: number, { bytes: wanted }: Pattern): boolean {
    if (start + wanted.length > bytes.length) return false;
    for (let at = windowBytes; at < wanted.length; at += 1) {
      if (folded[bytes[start + at] ?? 0] !== wanted[at]) return false;
    }
    for (let at = 0; at < windowBytes; at += 1) {
      if (folded[bytes[start + at] ?? 0] !== wanted[at]) return false;
    }
    return true;
  }

  function find(given: Uint8Array): string | undefined {
    const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
    let hash = 0;
    for (let end = 0; end < bytes.length; end += 1) {
      // No pattern begins with nothing: of a window of zeros alone the hash is zero, before and behind.
      if (hash === 0 && end % emptyBytes === 0 && isEmpty(bytes, end)) {
        end += emptyBytes - 1;
        continue;
      }
      const gone =
        end < windowBytes ? 0 : (leavingOf[bytes[end - windowBytes] as number] as number);
      hash = (Math.imul(hash, base) + (folded[bytes[end] as number] as number) - gone) | 0;
      const place = placeOf(hash);
      if (((bits[place >> 3] as number) & (1 << (place & 7))) === 0) continue;
      const start = end - windowBytes + 1;
      if (start < 0) continue;
      const found = patterns.get(hash)?.find((each) => standsAt(bytes, start, each));
      if (found !== undefined) return `${found.name} in …${around(bytes, start)}…`;
    }
    return undefined;
  }

  return {
    find,
    get size() {
      return size;
    },
  };
}

const aroundBytes = 60;

function around(bytes: Uint8Array, start: number): string {
  const near = bytes.subarray(Math.max(0, start - aroundBytes), start + aroundBytes);
  return Buffer.from(near)
    .toString('latin1')
    .replace(/[^\x20-\x7e]/g, '.');
}
