/** Sends a message on a WebSocket, or throws an error that says whether it may have been sent. */
import { connectorLimits } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import { invalid, PosError, textOf } from '../support/pos-error.ts';

/** The most bytes that may wait for a slow network; `sendThrough` then refuses more. */
const queuedBytesMax = 4_194_304;

/** @throws PosError, `NotProcessed` if nothing was sent */
export async function sendThrough(
  through: WebSocket | undefined,
  data: string | Uint8Array,
): Promise<void> {
  if (through === undefined || through.readyState !== through.OPEN) {
    throw new PosError('Transport', 'the session is not connected', {
      code: 'not_connected',
      retryable: true,
    });
  }
  const length = Buffer.byteLength(data);
  if (length > connectorLimits.messageMaxBytes) {
    throw invalid('message_too_large', `a message of ${length} bytes`);
  }
  if (through.bufferedAmount + length > queuedBytesMax) {
    throw new PosError('Transport', 'the connection takes no more for now', {
      code: 'slow_connection',
      retryable: true,
    });
  }
  await new Promise<void>((resolve, reject) => {
    through.send(data, { binary: typeof data !== 'string' }, (error) => {
      if (!(error instanceof Error)) resolve();
      else {
        const facts = { code: 'connection_lost', outcome: 'Unknown', retryable: true } as const;
        reject(new PosError('Transport', textOf(error), facts));
      }
    });
  });
}
