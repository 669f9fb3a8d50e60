// Searches bytes for any of many byte sequences, at about a nanosecond a byte, ignoring letter
// case.
import { encodingsOf } from './card-data-encodings.ts';

/** Shorter sequences would match by chance. */
const windowBytes = 8;
/** Every window contains a whole word at a multiple of this, at any alignment of the window. */
const wordBytes = 4;
/**
 * Folds capital letters to small letters. It also folds some other bytes; an exact comparison
 * follows each match.
 */
const coarseFold = 0x20202020;
const base = 0x01000193;
const bloomBits = 22;

const folded = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

const fold = (bytes: Uint8Array): Buffer => Buffer.from(bytes.map((byte) => folded[byte] ?? 0));

function hashOf(bytes: Uint8Array): number {
  let hash = 0;
  for (let at = 0; at < windowBytes; at += 1) hash = (Math.imul(hash, base) + (bytes[at] ?? 0)) | 0;
  return hash;
}

function bitIndexOfWord(word: number): number {
  const foldedWord = word | coarseFold;
  return Math.imul(foldedWord ^ (foldedWord >>> 15), 0x85ebca6b) >>> (32 - bloomBits);
}

/** The bit index of a hash in the bloom filter. */
const bitIndexOf = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> (32 - bloomBits);

/** Reads four bytes in the byte order of this machine. */
const wordAt = (bytes: Uint8Array, from: number): number =>
  new Uint32Array(Uint8Array.from(bytes.subarray(from, from + wordBytes)).buffer)[0] ?? 0;

type Pattern = { readonly name: string; readonly bytes: Buffer };

export type ByteSearch = {
  /** The name of the first sequence found, with the bytes around it. */
  find(bytes: Uint8Array): string | undefined;
  readonly size: number;
};

/**
 * A packed form with this many zero bytes is ignored: database integers and row headers look like
 * it.
 */
const zeroBytes = Buffer.alloc(4);

/** Digits or hex in packed form, two a byte. */
function packedForms(secret: string): Buffer[] {
  if (!/^[0-9a-f]+$/i.test(secret)) return [];
  const sides = secret.length % 2 === 0 ? [secret] : [`0${secret}`, `${secret}F`];
  return sides.map((side) => Buffer.from(side, 'hex')).filter((form) => !form.includes(zeroBytes));
}

/** @param secrets by name; @param words texts that must not occur in this form either */
export function createByteSearch(
  secrets: Iterable<readonly [name: string, secret: string]>,
  words: readonly string[] = [],
): ByteSearch {
  const bits = new Uint8Array(2 ** (bloomBits - 3));
  const wordBits = new Uint8Array(2 ** (bloomBits - 3));
  const patterns = new Map<number, Pattern[]>();
  let size = 0;

  function add(name: string, bytesGiven: Uint8Array): void {
    if (bytesGiven.length < windowBytes) return;
    const bytes = fold(bytesGiven);
    const hash = hashOf(bytes);
    const bitIndex = bitIndexOf(hash);
    bits[bitIndex >> 3] = (bits[bitIndex >> 3] ?? 0) | (1 << (bitIndex & 7));
    const patternsOfHash = patterns.get(hash) ?? [];
    if (patternsOfHash.some((each) => each.bytes.equals(bytes))) return;
    patternsOfHash.push({ name, bytes });
    patterns.set(hash, patternsOfHash);
    for (let from = 0; from < wordBytes; from += 1) {
      const wordBit = bitIndexOfWord(wordAt(bytes, from));
      wordBits[wordBit >> 3] = (wordBits[wordBit >> 3] ?? 0) | (1 << (wordBit & 7));
    }
    size += 1;
  }

  for (const [name, secret] of secrets) {
    for (const form of encodingsOf(secret)) add(name, Buffer.from(form, 'latin1'));
    for (const form of packedForms(secret)) add(`${name}, packed`, form);
  }
  for (const word of words) add(word, Buffer.from(word, 'latin1'));

  function matchesAt(bytes: Uint8Array, start: number, { bytes: pattern }: Pattern): boolean {
    if (start + pattern.length > bytes.length) return false;
    for (let at = windowBytes; at < pattern.length; at += 1) {
      if (folded[bytes[start + at] ?? 0] !== pattern[at]) return false;
    }
    for (let at = 0; at < windowBytes; at += 1) {
      if (folded[bytes[start + at] ?? 0] !== pattern[at]) return false;
    }
    return true;
  }

  function findAt(bytes: Uint8Array, start: number): Pattern | undefined {
    if (start < 0 || start + windowBytes > bytes.length) return undefined;
    let hash = 0;
    for (let at = start; at < start + windowBytes; at += 1) {
      hash = (Math.imul(hash, base) + (folded[bytes[at] as number] as number)) | 0;
    }
    const bitIndex = bitIndexOf(hash);
    if (((bits[bitIndex >> 3] as number) & (1 << (bitIndex & 7))) === 0) return undefined;
    return patterns.get(hash)?.find((each) => matchesAt(bytes, start, each));
  }

  function find(bytesGiven: Uint8Array): string | undefined {
    const bytes =
      bytesGiven.byteOffset % wordBytes === 0 ? bytesGiven : Uint8Array.from(bytesGiven);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
    let previousWord = 0;
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at] as number;
      const isEmpty = word === 0 && previousWord === 0;
      previousWord = word;
      // Half of a database is zero bytes, and no sequence begins with this many of them.
      if (isEmpty) continue;
      const bitIndex = bitIndexOfWord(word);
      if (((wordBits[bitIndex >> 3] as number) & (1 << (bitIndex & 7))) === 0) continue;
      for (let offset = wordBytes - 1; offset >= 0; offset -= 1) {
        const start = at * wordBytes - offset;
        const match = findAt(bytes, start);
        if (match !== undefined) return `${match.name} in …${around(bytes, start)}…`;
      }
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
  const nearBytes = bytes.subarray(Math.max(0, start - aroundBytes), start + aroundBytes);
  return Buffer.from(nearBytes)
    .toString('latin1')
    .replace(/[^\x20-\x7e]/g, '.');
}
