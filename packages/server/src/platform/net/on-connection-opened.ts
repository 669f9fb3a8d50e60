// Reports when the connection of a request is open. From then on the request may have been sent.
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Open connections. A request that waited for a free connection gets one without `reusedSocket` and
 * without a new `connect` event.
 */
const openSockets = new WeakSet<Socket>();

export type ConnectionHandlers = {
  /** The request has a connection that is not open yet. */
  readonly connecting?: () => void;
  /** @param isReused an earlier request used the connection: the other side may have closed it since */
  readonly opened: (isReused: boolean) => void;
};

/** Not during the DNS lookup or the TLS handshake: nothing is sent before the connection is open. */
export function onConnectionOpened(
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
