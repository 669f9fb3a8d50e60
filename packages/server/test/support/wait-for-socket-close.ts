// Waits for the end of a connection in tests.
import type { Socket } from 'node:net';

/** By an orderly end or by a reset: `once` of node would take the reset for a failure. */
export function closed(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
