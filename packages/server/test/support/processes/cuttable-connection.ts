// A TCP relay between a client and the platform that tests can interrupt; it passes TLS bytes
// unchanged.
import { connect, createServer, type Socket } from 'node:net';

export type CutWire = {
  readonly port: number;
  /** Breaks every connection and accepts no new one until `mend`. */
  cut(): void;
  mend(): void;
  /** The number of connections so far. */
  connections(): number;
  close(): Promise<void>;
};

/** @param port the port of the platform on this machine */
export async function cutWire(port: number): Promise<CutWire> {
  const open = new Set<Socket>();
  let isCut = false;
  let connections = 0;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    connections += 1;
    const far = connect(port, 'localhost');
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', end).on('close', () => {
        open.delete(socket);
        end();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const breakAll = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: address.port,
    cut() {
      isCut = true;
      breakAll();
    },
    mend() {
      isCut = false;
    },
    connections: () => connections,
    close() {
      breakAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
