// Tells when a request has a connection that is open: from then on any of it may have left.
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Those whose handshake is done. A request that waited for its turn is handed one of which
 * `reusedSocket` says nothing, and that does not tell a second time that it is open.
 */
const openSockets = new WeakSet<Socket>();

export type ConnectionHandlers = {
  /** It has a connection, and that is not open yet. */
  readonly connecting?: () => void;
  /** @param isReused another request had it before: the other side may have closed it since */
  readonly opened: (isReused: boolean) => void;
};

/** Not where a name was looked for, and not within a handshake: a request leaves on an open connection. */
export function watchConnection(
  request: ClientRequest,
  { connecting, opened }: ConnectionHandlers,
): void {
  request.on('socket', (socket) => {
    if (request.reusedSocket || openSockets.has(socket)) {
      openSockets.add(socket);
      opened(true);
      return;
    }
    connecting?.();
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
      openSockets.add(socket);
      opened(false);
    });
  });
}
