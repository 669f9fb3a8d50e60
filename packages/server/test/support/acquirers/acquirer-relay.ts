// A TCP relay before the acquirer host that records messages and can interrupt the connection.
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  compileDialect,
  createDeframer,
  iso1987BinaryEmv,
  type Message,
} from '@switchyard/iso8583';
import { freePorts } from '../free-ports.ts';

export type AcquirerTap = {
  port: number;
  /** The financial messages that the platform sent, oldest first. */
  sent: Message[];
  /** The number of open connections. */
  connections(): number;
  /** Closes every connection and accepts no new one. */
  close(): Promise<void>;
  /** Accepts no new connection; open connections stay open. */
  shut(): Promise<void>;
  /** Accepts connections again, at the same port. */
  open(): Promise<void>;
  /** From now on the relay holds back the responses of the host. */
  hold(): void;
  /** Sends the held responses and passes on all later ones. */
  release(): void;
};

const dialect = compileDialect(iso1987BinaryEmv);
const framing = { length: 'binary2' } as const;
const frameBytesMax = 8192;

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** @param hostPort the port of the acquirer host */
export async function acquirerTap(hostPort: number): Promise<AcquirerTap> {
  const sent: Message[] = [];
  const sockets = new Set<Socket>();
  let held: (() => void)[] | undefined;

  function note(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const message = dialect.decode(bytes);
    if (!message.mti.startsWith('08')) sent.push(message);
  }

  function relay(from: Socket): void {
    const to = connect(hostPort, '127.0.0.1');
    const deframer = createDeframer(framing, { maxBytes: frameBytesMax });
    from.on('data', (chunk: Buffer) => {
      for (const { payload } of deframer.push(chunk)) note(payload);
      to.write(chunk);
    });
    to.on('data', (chunk: Buffer) => {
      if (held === undefined) from.write(chunk);
      else held.push(() => from.write(chunk));
    });
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  }

  let server = createServer(relay);
  const [port = 0] = await freePorts(1);
  await listen(server, port);
  return {
    port,
    sent,
    connections: () => sockets.size / 2,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    shut: async () => void server.close(),
    hold() {
      held ??= [];
    },
    release() {
      const waiting = held ?? [];
      held = undefined;
      for (const send of waiting) send();
    },
    async open() {
      server = createServer(relay);
      await listen(server, port);
    },
  };
}
