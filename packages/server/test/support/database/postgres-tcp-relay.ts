// A TCP port before a PostgreSQL socket, so that tests can cut connections or stop responses.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type DatabasePort = { readonly port: number; close(): Promise<void> };

/** A TCP port that relays to a server's socket; without a URL it never answers. */
export async function openDatabasePort(url?: string, onPort = 0): Promise<DatabasePort> {
  const directory = url === undefined ? undefined : new URL(url).searchParams.get('host');
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    sockets.add(near);
    near.on('error', () => near.destroy());
    if (directory === undefined) return;
    const far = connect(`${directory}/.s.PGSQL.5432`);
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(onPort, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
