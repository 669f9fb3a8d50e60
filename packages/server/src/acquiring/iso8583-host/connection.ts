// One connection to a host: makes it, makes it again with growing pauses, and writes in gathered batches.
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Clock, jittered, type Log } from '../../platform/index.ts';
import type { TlsIdentity } from '../client-certificates.ts';
import type { Wire } from './wire.ts';

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

/** An address is no name that a certificate is asked for by. */
const nameOf = (host: string): { servername?: string } =>
  isIP(host) === 0 ? { servername: host } : {};

/** @example const connection = openConnection({ host, port, tls, wire, …, onOpen, onPayload, onLost }); */
export function openConnection(options: ConnectionOptions): Connection {
  const { host, port, backOffMs, log, unreadPaymentsMax = unreadPaymentsDefault } = options;
  let socket: Socket | undefined;
  let opened = false;
  let ended = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let queue: Parcel[] = [];
  let queuedBytes = 0;
  let writing = false;
  let gathering = false;

  function lose(from: Socket | undefined, why: string): void {
    if (from === undefined || socket !== from) return;
    socket = undefined;
    opened = false;
    queue = [];
    queuedBytes = 0;
    writing = false;
    from.destroy();
    options.onLost();
    if (ended) return;
    const base = backOffMs[Math.min(failures, backOffMs.length - 1)] ?? 60_000;
    failures += 1;
    log.warn({ why, retryInMs: base }, 'the link to the host is down');
    // Between half of it and all: many processes must not knock at once.
    timer = setTimeout(open, jittered(base));
  }

  // One batch at a time: what waits here when the connection is lost has certainly not left.
  function flush(): void {
    gathering = false;
    const to = socket;
    if (to === undefined || writing || queue.length === 0) return;
    const batch = queue;
    queue = [];
    queuedBytes = 0;
    writing = true;
    for (const { leaving } of batch) leaving?.();
    const [first] = batch;
    const bytes =
      batch.length === 1 && first !== undefined
        ? first.bytes
        : Buffer.concat(batch.map((parcel) => parcel.bytes));
    to.write(bytes, (error) => {
      if (socket !== to) return;
      writing = false;
      if (error) return;
      for (const { sent } of batch) sent?.();
      flush();
    });
  }

  function open(): void {
    const next = options.tls
      ? connectTls({ host, port, minVersion: 'TLSv1.2', ...nameOf(host), ...options.identity })
      : connectTcp({ host, port });
    const deframer = options.wire.deframer();
    socket = next;
    next.setNoDelay(true);
    next.setTimeout(connectTimeoutMs, () => lose(next, 'connecting took too long'));
    next.once(options.tls ? 'secureConnect' : 'connect', () => {
      next.setTimeout(0);
      opened = true;
      options.onOpen();
    });
    next.on('data', (chunk: Buffer) => {
      try {
        for (const { payload } of deframer.push(chunk)) {
          if (payload.length > 0 && socket === next) options.onPayload(payload);
        }
      } catch (error) {
        lose(next, error instanceof Error ? error.message : 'the stream cannot be framed');
      }
    });
    next.on('error', (error) => lose(next, error.message));
    next.on('close', () => lose(next, 'the host closed the connection'));
  }

  open();

  return {
    isOpen: () => opened && socket?.writable === true,
    push(parcel) {
      queue.push(parcel);
      queuedBytes += parcel.bytes.length;
      // A host that asks without end and never reads would have us keep every answer in memory.
      const most = parcel.leaving === undefined ? unreadAnswersMax : unreadPaymentsMax;
      if (queuedBytes + (socket?.writableLength ?? 0) > most) {
        lose(socket, 'the host does not read our messages');
        return;
      }
      if (gathering || writing) return;
      // What one turn of the event loop sends leaves in one system call.
      gathering = true;
      process.nextTick(flush);
    },
    lose: (why) => lose(socket, why),
    settled() {
      failures = 0;
    },
    end() {
      ended = true;
      clearTimeout(timer);
      lose(socket, 'closing');
    },
  };
}
