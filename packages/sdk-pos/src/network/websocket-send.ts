/** Sends a message on a WebSocket, or throws an error that says whether it may have been sent. */
import { connectorLimits } from '@switchyard/contract';
import type { WebSocket } from 'ws';
import { errorText, invalidError, PosError } from '../support/pos-error.ts';

/** The most bytes that may wait for a slow network; `sendThrough` then refuses more. */
const queuedBytesMax = 4_194_304;

/** @throws PosError, `NotProcessed` if nothing was sent */
export async function sendOnWebsocket(
  socket: WebSocket | undefined,
  data: string | Uint8Array,
): Promise<void> {
  if (socket === undefined || socket.readyState !== socket.OPEN) {
    throw new PosError('Transport', 'the session is not connected', {
      code: 'not_connected',
      retryable: true,
    });
  }
  const length = Buffer.byteLength(data);
  if (length > connectorLimits.messageMaxBytes) {
    throw invalidError(
      'message_too_large',
      `the message has ${length} bytes; the limit is ${connectorLimits.messageMaxBytes}`,
    );
  }
  if (socket.bufferedAmount + length > queuedBytesMax) {
    throw new PosError('Transport', 'the connection is too slow: its send buffer is full', {
      code: 'slow_connection',
      retryable: true,
    });
  }
  await new Promise<void>((resolve, reject) => {
    socket.send(data, { binary: typeof data !== 'string' }, (error) => {
      if (!(error instanceof Error)) resolve();
      else {
        const details = { code: 'connection_lost', outcome: 'Unknown', retryable: true } as const;
        reject(new PosError('Transport', errorText(error), details));
      }
    });
  });
}
