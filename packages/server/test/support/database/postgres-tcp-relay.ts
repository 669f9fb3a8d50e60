// A TCP port before a PostgreSQL socket, so that tests can cut connections or stop responses.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type PostgresRelay = { readonly port: number; close(): Promise<void> };

/** A TCP port that relays to a server's socket; without a URL it never answers. */
export async function startPostgresRelay(url?: string, listenPort = 0): Promise<PostgresRelay> {
  const directory = url === undefined ? undefined : new URL(url).searchParams.get('host');
  const sockets = new Set<Socket>();
  const server = createServer((clientSocket) => {
    sockets.add(clientSocket);
    clientSocket.on('error', () => clientSocket.destroy());
    if (directory === undefined) return;
    const databaseSocket = connect(`${directory}/.s.PGSQL.5432`);
    databaseSocket.on('error', () => clientSocket.destroy());
    clientSocket.on('close', () => databaseSocket.destroy());
    clientSocket.pipe(databaseSocket).pipe(clientSocket);
  });
  await new Promise<void>((resolve) => server.listen(listenPort, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
