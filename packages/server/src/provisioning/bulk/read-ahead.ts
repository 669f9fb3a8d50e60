// Takes a body in ahead of its import, so that a sender is done in time however long the lines take.
import { PassThrough, type Readable } from 'node:stream';

/** A usual import as a whole; of a larger one the sender waits for the lines before. */
const aheadBytes = 4_194_304;

export type ReadAhead = {
  readonly bytes: AsyncIterable<Buffer>;
  /** Stops reading; the listener closes the connection after the response if the body is not complete. */
  close(): void;
};

export function readAhead(body: Readable): ReadAhead {
  const ahead = new PassThrough({ highWaterMark: aheadBytes });
  // Whoever reads hears of it there; where nobody does, there is nobody to tell.
  ahead.on('error', () => {});
  body.once('error', (error) => ahead.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) ahead.destroy(new Error('the body broke off'));
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
