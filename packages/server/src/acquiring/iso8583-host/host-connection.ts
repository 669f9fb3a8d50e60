// One TCP or TLS connection to a host: connects, reconnects with backoff, and writes frames in batches.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { type Clock, jittered, type Log } from '../../platform/index.ts';
import type { TlsIdentity } from '../keys/client-certificate-store.ts';
import type { Wire } from './message-framing.ts';

/** A frame in the send queue. */
export type Parcel = {
  bytes: Buffer;
  /** Called when the socket write starts: from then on bytes may have been sent. */
  leaving?: () => void;
  /** Called when the operating system has accepted the bytes. */
  sent?: (() => void) | undefined;
};

export type Connection = {
  /** True if the socket accepts frames. */
  isOpen(): boolean;
  push(parcel: Parcel): void;
  /** Removes a frame from the queue; returns false if it is already written or not queued. */
  withdraw(parcel: Parcel): boolean;
  /** Drops the socket and reconnects after a delay. */
  lose(why: string): void;
  /** Resets the reconnect delay after a sign-on. */
  settled(): void;
  /** Closes the connection without a reconnect. */
  end(): void;
};

export type ConnectionOptions = {
  host: string;
  port: number;
  tls: boolean;
  /** TLS client certificate and trusted CA. */
  identity?: TlsIdentity | undefined;
  wire: Wire;
  clock: Clock;
  log: Log;
  /** Reconnect delays; the last one repeats. */
  backOffMs: readonly number[];
  /** Unread payment bytes after which the connection counts as lost. */
  unreadPaymentsMax?: number | undefined;
  /** True if a sent payment has no response and must not arrive after the close. */
  mayLieUnread(): boolean;
  onOpen(): void;
  onPayload(payload: Buffer): void;
  /** Called after a loss. Queued frames were not sent. */
  onLost(): void;
};

const connectTimeoutMs = 5000;
/** Unread bytes of responses to host requests after which the connection counts as lost. */
const unreadAnswersMax = 1_048_576;
/** Large enough for several seconds of payments, so that a short pause of the host loses none. */
const unreadPaymentsDefault = 16_777_216;

const longestPauseMs = 60_000;

/** Reconnect delay after consecutive failures. */
export const pauseAfter = (backOffMs: readonly number[], failures: number): number =>
  backOffMs[Math.min(failures, backOffMs.length - 1)] ?? longestPauseMs;

/** TLS server name indication requires a host name, not an IP address. */
const nameOf = (host: string): { servername?: string } =>
  isIP(host) === 0 ? { servername: host } : {};

/** The TCP socket, and the stream over it: the TLS socket or the TCP socket itself. */
type Line = { readonly tcp: Socket; over: Socket };

/** Created before the first connect, so that an invalid certificate fails the opening of the link. */
const contextOf = ({ tls, identity }: ConnectionOptions): SecureContext | undefined =>
  tls ? createSecureContext({ minVersion: 'TLSv1.2', ...identity }) : undefined;

/** Starts TLS over our TCP socket, because a TLS socket cannot send a TCP reset. */
const securedOver = (tcp: Socket, host: string, secureContext: SecureContext): Socket =>
  connectTls({ socket: tcp, host, secureContext, ...nameOf(host) });

/** A graceful close still delivers written bytes; a TCP reset discards them. */
function hangUp({ tcp, over }: Line, mayLieUnread: boolean): void {
  // A reset of a connecting socket would wait, and no byte has been sent on it.
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
    log.warn({ why, retryInMs: base }, 'connection to the host lost; reconnecting');
    // Jitter between 50 % and 100 % spreads the reconnects of many processes.
    timer = setTimeout(open, jittered(base));
  }

  // One write at a time: queued frames are certainly unsent when the connection is lost.
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
    // Answering the FIN with our own FIN would deliver unread bytes first.
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
    tcp.setTimeout(connectTimeoutMs, () => lose(next, 'connect timed out'));
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
      // Limits memory if a host sends requests and never reads responses.
      const most = parcel.leaving === undefined ? unreadAnswersMax : unreadPaymentsMax;
      if (queuedBytes + (line?.over.writableLength ?? 0) > most) {
        lose(line, 'the host does not read sent messages');
        return;
      }
      if (gathering || writing) return;
      // Frames of one event loop iteration are written in one system call.
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
