// Defines the input of an import: lines with their end positions, and the hash of the bytes read.
import { createHash } from 'node:crypto';
import { type BulkImport, bulkLimits, ProblemError } from '@switchyard/contract';

export type Format = BulkImport['format'];

/** A line of the body: its value, or the reason why it cannot be read. */
export type SourceLine = {
  /** The line number at which it begins, counted from 1. */
  readonly line: number;
  /** The number of bytes of the body up to its end. */
  readonly end: number;
  readonly said: { readonly value: unknown } | { readonly refusal: ProblemError };
};

/** Marks a fault after which no line can be recognised; earlier lines stay valid. */
export class SourceEnd extends Error {
  readonly refusal: ProblemError;

  constructor(refusal: ProblemError) {
    super(refusal.message);
    this.name = 'SourceEnd';
    this.refusal = refusal;
  }
}

export type Bytes = AsyncIterable<Buffer>;

export type Tap = {
  readonly bytes: Bytes;
  /** SHA-256 of the first `end` bytes, in hex; later calls need the same or a greater `end`. */
  hashTo(end: number): string;
};

/** Limits the length of the body, and computes the hash of its parts. */
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
        throw new SourceEnd(new ProblemError('payload_too_large', detail));
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

export const tooLong = (what: string): ProblemError =>
  new ProblemError('payload_too_large', `${what} is longer than ${bulkLimits.lineBytes} bytes.`);
