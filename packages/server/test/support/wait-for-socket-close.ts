// Waits for the close of a socket in tests.
import type { Socket } from 'node:net';

/** Accepts an orderly close and a reset; `once` of Node would throw on the reset. */
export function waitForSocketClose(socket: Socket): Promise<void> {
  socket.on('error', () => {});
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
