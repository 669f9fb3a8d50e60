// One connection to a host: makes it, makes it again with growing pauses, and writes in gathered batches.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { type Clock, jittered, type Log } from '../../platform/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { Wire } from './message-framing.ts';

/** A frame on its way out. */
export type Parcel = {
  bytes: Buffer;
  /** Called when it is handed to the system: from here on bytes may have left. */
  leaving?: () => void;
  /** Called once the system has taken it. */
  sent?: (() => void) | undefined;
};

export type Connection = {
  /** Whether there is a socket that takes frames. */
  isOpen(): boolean;
  push(parcel: Parcel): void;
  /** Takes a parcel out of the queue; false where it has been handed to the system, or is not there. */
  withdraw(parcel: Parcel): boolean;
  /** Gives the socket up, and makes another one after a pause. */
  lose(why: string): void;
  /** The host has taken us in: the next loss begins with the shortest pause. */
  settled(): void;
  /** For good. */
  end(): void;
};

export type ConnectionOptions = {
  host: string;
  port: number;
  tls: boolean;
  /** What the host is shown where it asks, and whom we believe. */
  identity?: TlsIdentity | undefined;
  wire: Wire;
  clock: Clock;
  log: Log;
  /** Waits before the next try to connect; the last one goes on for ever. */
  backOffMs: readonly number[];
  /** Bytes of payments that a host may leave unread before it counts as lost. */
  unreadPaymentsMax?: number | undefined;
  /** Whether something that has left may lie unread on its way, and must not arrive any more. */
  mayLieUnread(): boolean;
  onOpen(): void;
  onPayload(payload: Buffer): void;
  /** What had not left was never sent. */
  onLost(): void;
};

const connectTimeoutMs = 5000;
/** What a host may leave unread of our answers to its own requests before it counts as lost. */
const unreadAnswersMax = 1_048_576;
/** And of payments: many seconds of them, since a host that only paused must not cost them all. */
const unreadPaymentsDefault = 16_777_216;

const longestPauseMs = 60_000;

/** The pause after so many failures in a row. */
export const pauseAfter = (backOffMs: readonly number[], failures: number): number =>
  backOffMs[Math.min(failures, backOffMs.length - 1)] ?? longestPauseMs;

/** An address is no name that a certificate is asked for by. */
const nameOf = (host: string): { servername?: string } =>
  isIP(host) === 0 ? { servername: host } : {};

/** A connection of TCP, and what is spoken over it: TLS, or the connection itself. */
type Line = { readonly tcp: Socket; over: Socket };

/** Made before anything is connected: what is wrong with a certificate is told to whoever opens the link. */
const contextOf = ({ tls, identity }: ConnectionOptions): SecureContext | undefined =>
  tls ? createSecureContext({ minVersion: 'TLSv1.2', ...identity }) : undefined;

/** TLS over a socket that we keep: one of its own could not be reset. */
const securedOver = (tcp: Socket, host: string, secureContext: SecureContext): Socket =>
  connectTls({ socket: tcp, host, secureContext, ...nameOf(host) });

/** What the system has taken is delivered after an orderly close, however late; a reset drops it. */
function hangUp({ tcp, over }: Line, mayLieUnread: boolean): void {
  // A reset would wait for a connection that is not made yet, and over which nothing has left.
  if (mayLieUnread && !tcp.connecting) tcp.resetAndDestroy();
  over.destroy();
  tcp.destroy();
}

/** @example const connection = openConnection({ host, port, tls, wire, …, onOpen, onPayload, onLost }); */
export function openConnection(options: ConnectionOptions): Connection {
  const { host, port, backOffMs, log, unreadPaymentsMax = unreadPaymentsDefault } = options;
  const context = contextOf(options);
  let line: Line | undefined;
  let opened = false;
  let ended = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let queue = new Set<Parcel>();
  let queuedBytes = 0;
  let writing = false;
  let gathering = false;

  function lose(from: Line | undefined, why: string): void {
    if (from === undefined || line !== from) return;
    line = undefined;
    opened = false;
    queue = new Set();
    queuedBytes = 0;
    writing = false;
    hangUp(from, options.mayLieUnread());
    options.onLost();
    if (ended) return;
    const base = pauseAfter(backOffMs, failures);
    failures += 1;
    log.warn({ why, retryInMs: base }, 'the link to the host is down');
    // Between half of it and all: many processes must not knock at once.
    timer = setTimeout(open, jittered(base));
  }

  // One batch at a time: what waits here when the connection is lost has certainly not left.
  function flush(): void {
    gathering = false;
    const to = line;
    if (to === undefined || writing || queue.size === 0) return;
    const batch = [...queue];
    queue = new Set();
    queuedBytes = 0;
    writing = true;
    for (const { leaving } of batch) leaving?.();
    const [first] = batch;
    const bytes =
      batch.length === 1 && first !== undefined
        ? first.bytes
        : Buffer.concat(batch.map((parcel) => parcel.bytes));
    to.over.write(bytes, (error) => {
      if (line !== to) return;
      writing = false;
      if (error) return;
      for (const { sent } of batch) sent?.();
      flush();
    });
  }

  function attend(to: Line, socket: Socket): void {
    socket.on('error', (error) => lose(to, error.message));
    socket.on('close', () => lose(to, 'the host closed the connection'));
  }

  function start(to: Line): void {
    const deframer = options.wire.deframer();
    to.tcp.setTimeout(0);
    opened = true;
    // An end of ours in return would have what lies unread delivered first.
    to.over.on('end', () => lose(to, 'the host closed the connection'));
    to.over.on('data', (chunk: Buffer) => {
      try {
        for (const { payload } of deframer.push(chunk)) {
          if (payload.length > 0 && line === to) options.onPayload(payload);
        }
      } catch (error) {
        lose(to, error instanceof Error ? error.message : 'the stream cannot be framed');
      }
    });
    options.onOpen();
  }

  function open(): void {
    const tcp = connectTcp({ host, port, allowHalfOpen: true });
    const next: Line = { tcp, over: tcp };
    line = next;
    tcp.setNoDelay(true);
    tcp.setTimeout(connectTimeoutMs, () => lose(next, 'connecting took too long'));
    attend(next, tcp);
    tcp.once('connect', () => {
      if (line !== next) return;
      if (context === undefined) return start(next);
      next.over = securedOver(tcp, host, context);
      attend(next, next.over);
      next.over.once('secureConnect', () => {
        if (line === next) start(next);
      });
    });
  }

  open();

  return {
    isOpen: () => opened && line?.over.writable === true,
    push(parcel) {
      queue.add(parcel);
      queuedBytes += parcel.bytes.length;
      // A host that asks without end and never reads would have us keep every answer in memory.
      const most = parcel.leaving === undefined ? unreadAnswersMax : unreadPaymentsMax;
      if (queuedBytes + (line?.over.writableLength ?? 0) > most) {
        lose(line, 'the host does not read our messages');
        return;
      }
      if (gathering || writing) return;
      // What one turn of the event loop sends leaves in one system call.
      gathering = true;
      process.nextTick(flush);
    },
    withdraw(parcel) {
      if (!queue.delete(parcel)) return false;
      queuedBytes -= parcel.bytes.length;
      return true;
    },
    lose: (why) => lose(line, why),
    settled() {
      failures = 0;
    },
    end() {
      ended = true;
      clearTimeout(timer);
      lose(line, 'closing');
    },
  };
}
