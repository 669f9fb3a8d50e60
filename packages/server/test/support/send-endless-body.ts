// Sends a request body without an end until the server closes the connection.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { waitForSocketClose } from './wait-for-socket-close.ts';

/** Much less than a client sends on loopback before the connection closes. */
export const maxAcceptedBytes = 33_554_432;
const maxSentBytes = 8 * maxAcceptedBytes;
const part = Buffer.alloc(65_536, 'x');

export type EndlessBodyResult = {
  /** The number of bytes that the server accepted, with the bytes that were sent before. */
  readonly acceptedBytes: number;
  readonly isClosedByServer: boolean;
};

/** @example const { acceptedBytes } = await sendEndlessBody(socket); */
export async function sendEndlessBody(socket: Socket): Promise<EndlessBodyResult> {
  let isClosedByServer = false;
  const end = waitForSocketClose(socket).then(() => {
    isClosedByServer = true;
  });
  while (!isClosedByServer && socket.bytesWritten < maxSentBytes) {
    if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => {}), end]);
  }
  const result = { acceptedBytes: socket.bytesWritten - socket.writableLength, isClosedByServer };
  socket.destroy();
  await end;
  return result;
}
