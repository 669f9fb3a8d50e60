// A TCP relay between a client and the platform that tests can interrupt; it passes TLS bytes
// unchanged.
import { connect, createServer, type Socket } from 'node:net';

export type CuttableConnection = {
  readonly port: number;
  /** Breaks every connection and accepts no new one until `mend`. */
  cut(): void;
  restore(): void;
  /** The number of connections so far. */
  connections(): number;
  close(): Promise<void>;
};

/** @param port the port of the platform on this machine */
export async function openCuttableConnection(port: number): Promise<CuttableConnection> {
  const openSockets = new Set<Socket>();
  let isCut = false;
  let connections = 0;
  const server = createServer((clientSocket) => {
    if (isCut) {
      clientSocket.destroy();
      return;
    }
    connections += 1;
    const platformSocket = connect(port, 'localhost');
    const destroyBoth = () => {
      clientSocket.destroy();
      platformSocket.destroy();
    };
    for (const socket of [clientSocket, platformSocket]) {
      openSockets.add(socket);
      socket.on('error', destroyBoth).on('close', () => {
        openSockets.delete(socket);
        destroyBoth();
      });
    }
    clientSocket.pipe(platformSocket).pipe(clientSocket);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const destroyAll = () => {
    for (const socket of openSockets) socket.destroy();
  };
  return {
    port: address.port,
    cut() {
      isCut = true;
      destroyAll();
    },
    restore() {
      isCut = false;
    },
    connections: () => connections,
    close() {
      destroyAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
