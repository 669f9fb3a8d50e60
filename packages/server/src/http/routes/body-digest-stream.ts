// Computes the SHA-256 digest of a streamed body while it is read.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { throwProblem } from '@switchyard/contract';

export type BodyDigestStream = {
  readonly body: Readable;
  /** The digest of the bytes read so far, in hexadecimal. */
  digest(): string;
  /** Reads the rest of the body. */
  drain(): Promise<string>;
};

/** @example const { body, digest } = createBodyDigestStream(request.body, limitBytes); */
export function createBodyDigestStream(
  source: Readable,
  limitBytes = Number.MAX_SAFE_INTEGER,
): BodyDigestStream {
  const sha256 = createHash('sha256');
  let bytes = 0;
  async function* read(): AsyncGenerator<Buffer> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limitBytes) {
        throwProblem('payload_too_large', `The body is longer than ${limitBytes} bytes.`);
      }
      sha256.update(chunk);
      yield chunk;
    }
  }
  const body = Readable.from(read(), { objectMode: false });
  const digest = () => sha256.copy().digest('hex');
  return {
    body,
    digest,
    async drain() {
      for await (const _chunk of body);
      return digest();
    },
  };
}
