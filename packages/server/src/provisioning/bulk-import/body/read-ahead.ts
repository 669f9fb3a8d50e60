// Buffers the body of an import, so that the client can finish sending while lines are processed.
import { PassThrough, type Readable } from 'node:stream';

/** Holds a usual import completely; the client of a larger one waits for earlier lines. */
const bufferBytes = 4_194_304;

export type BufferedBody = {
  readonly bytes: AsyncIterable<Buffer>;
  /** Stops reading; the listener closes the connection after the response if the body is not complete. */
  close(): void;
};

export function bufferBody(body: Readable): BufferedBody {
  const ahead = new PassThrough({ highWaterMark: bufferBytes });
  // The reader of the stream gets the error; without a reader the error can be ignored.
  ahead.on('error', () => {});
  body.once('error', (error) => ahead.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) ahead.destroy(new Error('the client ended the body early'));
  });
  body.pipe(ahead);
  return {
    bytes: ahead,
    close() {
      body.unpipe(ahead);
      ahead.destroy();
    },
  };
}
