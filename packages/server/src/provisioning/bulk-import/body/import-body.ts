// Defines the input of an import: lines with their end positions, and the hash of the bytes read.
import { createHash } from 'node:crypto';
import { type BulkImport, bulkLimits, ProblemError } from '@switchyard/contract';

export type ImportFormat = BulkImport['format'];

/** A line of the body: its value, or the reason why it cannot be read. */
export type BodyLine = {
  /** The line number at which it begins, counted from 1. */
  readonly line: number;
  /** The number of bytes of the body up to its end. */
  readonly end: number;
  readonly content: { readonly value: unknown } | { readonly problem: ProblemError };
};

/** Marks a fault after which no line can be recognised; earlier lines stay valid. */
export class UnreadableBodyError extends Error {
  readonly problem: ProblemError;

  constructor(problem: ProblemError) {
    super(problem.message);
    this.name = 'SourceEnd';
    this.problem = problem;
  }
}

export type ByteStream = AsyncIterable<Buffer>;

export type HashedBody = {
  readonly bytes: ByteStream;
  /** SHA-256 of the first `end` bytes, in hex; later calls need the same or a greater `end`. */
  hashTo(end: number): string;
};

/** Limits the length of the body, and computes the hash of its parts. */
export function createHashedBody(body: ByteStream): HashedBody {
  const hash = createHash('sha256');
  let unhashedParts: Buffer[] = [];
  let hashed = 0;

  async function* bytes(): AsyncGenerator<Buffer> {
    let receivedBytes = 0;
    for await (const part of body) {
      receivedBytes += part.length;
      if (receivedBytes > bulkLimits.bytes) {
        const detail = `The body is longer than ${bulkLimits.bytes} bytes; send the rest as another import.`;
        throw new UnreadableBodyError(new ProblemError('payload_too_large', detail));
      }
      unhashedParts.push(part);
      yield part;
    }
  }

  return {
    bytes: bytes(),
    hashTo(end) {
      let index = 0;
      for (; hashed < end; index += 1) {
        const part = unhashedParts[index];
        if (part === undefined) throw new RangeError('the body has not been read to this position');
        const hashedPart = part.subarray(0, end - hashed);
        hash.update(hashedPart);
        hashed += hashedPart.length;
        if (hashedPart.length < part.length) {
          unhashedParts[index] = part.subarray(hashedPart.length);
          break;
        }
      }
      unhashedParts = unhashedParts.slice(index);
      return hash.copy().digest('hex');
    },
  };
}

export const createTooLongProblem = (subject: string): ProblemError =>
  new ProblemError('payload_too_large', `${subject} is longer than ${bulkLimits.lineBytes} bytes.`);
