// Tells when a request has a connection that is open: from then on any of it may have left.
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Those whose handshake is done. A request that waited for its turn is handed one of which
 * `reusedSocket` says nothing, and that does not tell a second time that it is open.
 */
const standing = new WeakSet<Socket>();

export type OnConnection = {
  /** It has a connection, and that is not open yet. */
  readonly connecting?: () => void;
  /** @param isKept another request had it before: the other side may have closed it since */
  readonly opened: (isKept: boolean) => void;
};

/** Not where a name was looked for, and not within a handshake: a request leaves on an open connection. */
export function onConnection(request: ClientRequest, { connecting, opened }: OnConnection): void {
  request.on('socket', (socket) => {
    if (request.reusedSocket || standing.has(socket)) {
      standing.add(socket);
      opened(true);
      return;
    }
    connecting?.();
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
      standing.add(socket);
      opened(false);
    });
  });
}
