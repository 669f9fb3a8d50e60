// A TCP relay before the acquirer host that records messages and can interrupt the connection.
import { connect, createServer, type Server, type Socket } from 'node:net';
import {
  compileDialect,
  createDeframer,
  iso1987BinaryEmv,
  type Message,
} from '@switchyard/iso8583';
import { freePorts } from '../free-ports.ts';

export type AcquirerRelay = {
  port: number;
  /** The financial messages that the platform sent, oldest first. */
  sent: Message[];
  /** The number of open connections. */
  connections(): number;
  /** Closes every connection and accepts no new one. */
  close(): Promise<void>;
  /** Accepts no new connection; open connections stay open. */
  stopListening(): Promise<void>;
  /** Accepts connections again, at the same port. */
  startListening(): Promise<void>;
  /** From now on the relay holds back the responses of the host. */
  holdResponses(): void;
  /** Sends the held responses and passes on all later ones. */
  releaseResponses(): void;
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
export async function startAcquirerRelay(hostPort: number): Promise<AcquirerRelay> {
  const sent: Message[] = [];
  const sockets = new Set<Socket>();
  let heldResponses: (() => void)[] | undefined;

  function recordMessage(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const message = dialect.decode(bytes);
    if (!message.mti.startsWith('08')) sent.push(message);
  }

  function relay(clientSocket: Socket): void {
    const hostSocket = connect(hostPort, '127.0.0.1');
    const deframer = createDeframer(framing, { maxBytes: frameBytesMax });
    clientSocket.on('data', (chunk: Buffer) => {
      for (const { payload } of deframer.push(chunk)) recordMessage(payload);
      hostSocket.write(chunk);
    });
    hostSocket.on('data', (chunk: Buffer) => {
      if (heldResponses === undefined) clientSocket.write(chunk);
      else heldResponses.push(() => clientSocket.write(chunk));
    });
    for (const [one, other] of [
      [clientSocket, hostSocket],
      [hostSocket, clientSocket],
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
    stopListening: async () => void server.close(),
    holdResponses() {
      heldResponses ??= [];
    },
    releaseResponses() {
      const responses = heldResponses ?? [];
      heldResponses = undefined;
      for (const send of responses) send();
    },
    async startListening() {
      server = createServer(relay);
      await listen(server, port);
    },
  };
}
