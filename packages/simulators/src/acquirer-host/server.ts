// The TCP server of the acquirer host: frames in, decisions, frames out.
import { createServer, type Server, type Socket } from 'node:net';
import {
  compileDialect,
  createDeframer,
  type Dialect,
  encodeFrame,
  type FrameFormat,
  iso1987BinaryEmv,
} from '@switchyard/iso8583';
import { type Clock, systemClock } from './clock.ts';
import { createHost, type Decision, type Session } from './host.ts';
import { type LedgerSnapshot, openLedger } from './ledger.ts';
import { createOutbox, type Outbox } from './outbox.ts';

/** Where the host tells of connections and faults; a pino logger fits. */
export type HostLog = {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
};

/** How to start an {@link AcquirerHost}. */
export type AcquirerHostOptions = {
  /** Address to listen on. */
  host: string;
  /** Port to listen on; 0 takes a free one. */
  port: number;
  /** Directory of the ledger; made where missing, replayed where not empty. One host each. */
  ledgerDir: string;
  /** When the answer of rule 9092 comes, in milliseconds: later than the other side waits. */
  lateMs: number;
  /** When the answer of rule 9098 comes, in milliseconds: sooner than the other side gives up. */
  slowMs: number;
  log?: HostLog;
  clock?: Clock;
};

/** A host that listens. */
export type AcquirerHost = {
  /** The port it listens on. */
  port: number;
  /** What it holds now. */
  ledger(): LedgerSnapshot;
  /** Cuts all connections, closes the ledger and frees the port. */
  stop(): Promise<void>;
};

const FRAMING: FrameFormat = { length: 'binary2' };
const frameBytesMax = 8192;
const connectionsMax = 1024;
/** Answers that wait for their time; beyond this number they are never sent. */
const delayedMax = 10_000;
/** What a garbled answer keeps: its message type and bitmap. */
const garbledFrom = 10;

const silent: HostLog = { info() {}, warn() {} };

function garble(frame: Buffer): Buffer {
  return frame.map((byte, at) => (at < garbledFrom ? byte : byte ^ 0xff)) as Buffer;
}

type Post = {
  send(socket: Socket, decision: Decision): void;
  stop(): void;
};

/** Sends each answer in the way that its rule wants. */
function createPost(deps: {
  outbox: Outbox;
  dialect: Dialect;
  lateMs: number;
  slowMs: number;
}): Post {
  const { outbox, dialect } = deps;
  const timers = new Set<NodeJS.Timeout>();

  function later(socket: Socket, frame: Buffer, delayMs: number): void {
    if (timers.size >= delayedMax) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      outbox.send(socket, frame);
    }, delayMs);
    timers.add(timer);
  }

  return {
    send(socket, { answer, delivery }) {
      const bytes = dialect.encode(answer);
      const frame = encodeFrame(FRAMING, delivery === 'garbled' ? garble(bytes) : bytes);
      if (delivery === 'late' || delivery === 'slow') {
        later(socket, frame, delivery === 'late' ? deps.lateMs : deps.slowMs);
      }
      if (delivery === 'once' || delivery === 'twice' || delivery === 'garbled') {
        outbox.send(socket, frame);
      }
      if (delivery === 'twice') outbox.send(socket, frame);
      if (delivery === 'close') outbox.cut(socket);
      outbox.settle();
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * Starts an acquirer host: ISO 8583:1987, packed, DE55 in bytes, behind a length of two bytes.
 * It answers as soon as an entry is handed to the operating system, without any delay but those
 * that an amount asks for. A connection that sends what is no frame or no message is cut.
 *
 * @param options address, ledger directory, delays in milliseconds
 * @throws Error when the port is taken or the ledger cannot be read
 * @example
 * ```ts
 * const host = await startAcquirerHost({
 *   host: '127.0.0.1', port: 0, ledgerDir, lateMs: 35_000, slowMs: 8_000,
 * });
 * host.ledger().totals;
 * await host.stop();
 * ```
 */
export async function startAcquirerHost(options: AcquirerHostOptions): Promise<AcquirerHost> {
  const { clock = systemClock, log = silent } = options;
  const ledger = openLedger({ directory: options.ledgerDir });
  const host = createHost({ ledger, clock });
  const dialect = compileDialect(iso1987BinaryEmv);
  const onFault = (error: unknown) => log.warn({ err: error }, 'the ledger cannot be written');
  const outbox = createOutbox({ flush: ledger.flush, onFault });
  const post = createPost({ outbox, dialect, lateMs: options.lateMs, slowMs: options.slowMs });
  const sockets = new Set<Socket>();

  function receive(socket: Socket, session: Session, payload: Buffer): void {
    // An empty frame is a heartbeat.
    if (payload.length === 0) return;
    const decision = host.decide(dialect.decode(payload), session);
    if (decision !== undefined) post.send(socket, decision);
  }

  const server = createServer({ noDelay: true }, (socket) => {
    const session: Session = { signedOn: false };
    const deframer = createDeframer(FRAMING, { maxBytes: frameBytesMax });
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.add(socket);
    log.info({ peer }, 'connected');
    socket.on('data', (chunk) => {
      try {
        for (const { payload } of deframer.push(chunk)) receive(socket, session, payload);
      } catch (error) {
        log.warn({ peer, err: error }, 'not a message: the connection is cut');
        outbox.cut(socket);
        socket.pause();
      }
    });
    // A reset is followed by `close`.
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      log.info({ peer }, 'disconnected');
    });
  });
  server.maxConnections = connectionsMax;

  async function stop(): Promise<void> {
    post.stop();
    outbox.drain();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    ledger.close();
  }

  try {
    const port = await listen(server, options.host, options.port);
    return { port, ledger: ledger.snapshot, stop };
  } catch (error) {
    ledger.close();
    throw error;
  }
}
