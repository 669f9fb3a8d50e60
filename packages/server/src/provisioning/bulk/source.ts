// What an import reads: lines with the place where each one ends, and the hash of the bytes up to there.
import { createHash } from 'node:crypto';
import { bulkLimits, Refusal } from '@switchyard/contract';

/** A line as it was read: what it says, or why nobody can read it. */
export type SourceLine = {
  /** Where it begins, counted from 1. */
  readonly line: number;
  /** How many bytes of the body lie before its end. */
  readonly end: number;
  readonly said: { readonly value: unknown } | { readonly refusal: Refusal };
};

/** From here on nothing of the body can be told apart: what was read before it counts. */
export class SourceEnd extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.name = 'SourceEnd';
    this.refusal = refusal;
  }
}

export type Bytes = AsyncIterable<Buffer>;

export type Tap = {
  readonly bytes: Bytes;
  /** SHA-256 over the first `end` bytes, in hex; never asked about an earlier place again. */
  hashTo(end: number): string;
};

/** Watches the body go by: how long it gets, and what its parts hash to. */
export function createTap(body: Bytes): Tap {
  const hash = createHash('sha256');
  let kept: Buffer[] = [];
  let hashed = 0;

  async function* bytes(): AsyncGenerator<Buffer> {
    let seen = 0;
    for await (const part of body) {
      seen += part.length;
      if (seen > bulkLimits.bytes) {
        const detail = `The body is longer than ${bulkLimits.bytes} bytes; send the rest as another import.`;
        throw new SourceEnd(new Refusal('payload_too_large', detail));
      }
      kept.push(part);
      yield part;
    }
  }

  return {
    bytes: bytes(),
    hashTo(end) {
      let index = 0;
      for (; hashed < end; index += 1) {
        const part = kept[index];
        if (part === undefined) throw new RangeError('the body has not come so far');
        const taken = part.subarray(0, end - hashed);
        hash.update(taken);
        hashed += taken.length;
        if (taken.length < part.length) {
          kept[index] = part.subarray(taken.length);
          break;
        }
      }
      kept = kept.slice(index);
      return hash.copy().digest('hex');
    },
  };
}

export const tooLong = (what: string): Refusal =>
  new Refusal('payload_too_large', `${what} is longer than ${bulkLimits.lineBytes} bytes.`);
