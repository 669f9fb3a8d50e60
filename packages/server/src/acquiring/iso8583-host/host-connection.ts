// One TCP or TLS connection to a host: connects, reconnects with backoff, and writes frames in batches.
import { connect as connectTcp, isIP, Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { type AddressGuard, type Log, withJitter } from '../../platform/index.ts';
import type { TlsIdentity } from '../spi/acquirer-spi.ts';
import type { MessageFraming } from './message-framing-and-mac.ts';

export type OutgoingFrame = {
  bytes: Buffer;
  /** Called when the socket write starts: from then on bytes may have been sent. */
  onWriteStarted?: () => void;
  /** Called when the operating system has accepted the bytes. */
  onWritten?: (() => void) | undefined;
};

export type HostConnection = ReturnType<typeof openHostConnection>;

export type HostTarget = {
  host: string;
  port: number;
  tls: boolean;
  /** Checks the address at each connection. */
  addressGuard: AddressGuard;
  tlsIdentity?: TlsIdentity | undefined;
  /** Reconnect delays; the last one repeats. */
  reconnectDelaysMs: readonly number[];
  /** Unread payment bytes after which the connection counts as lost. */
  maxUnreadPaymentBytes?: number | undefined;
};

export type HostConnectionOptions = HostTarget & {
  framing: MessageFraming;
  log: Log;
  /** True if a sent payment has no response and must not arrive after the close. */
  hasUnconfirmedPayment(): boolean;
  onOpen(): void;
  /** `header`: the bytes between length and message, such as a TPDU. */
  onPayload(payload: Buffer, header: Buffer): void;
  /** Called after a loss. Queued frames were not sent. */
  onLost(reason: string): void;
};

const connectTimeoutMs = 5000;
/** Unread bytes of responses to host requests after which the connection counts as lost. */
const maxUnreadResponseBytes = 1_048_576;
/** Large enough for several seconds of payments, so that a short pause of the host loses none. */
const defaultMaxUnreadPaymentBytes = 16_777_216;
const defaultReconnectDelayMs = 60_000;

export const reconnectDelayAfter = (delaysMs: readonly number[], failures: number): number =>
  delaysMs[Math.min(failures, delaysMs.length - 1)] ?? defaultReconnectDelayMs;

/** The TCP socket, and the stream over it: the TLS socket or the TCP socket itself. */
type HostSockets = { readonly tcp: Socket; stream: Socket };

/**
 * Starts TLS over our TCP socket, because a TLS socket cannot send a TCP reset. Server name indication
 * requires a host name, not an IP address.
 */
const startTls = (socket: Socket, host: string, secureContext: SecureContext): Socket =>
  connectTls({ socket, host, secureContext, ...(isIP(host) === 0 ? { servername: host } : {}) });

/** A graceful close still delivers written bytes; a TCP reset discards them. */
function closeSockets({ tcp, stream }: HostSockets, hasUnconfirmedPayment: boolean): void {
  // A reset of a connecting socket would wait, and no byte has been sent on it.
  if (hasUnconfirmedPayment && !tcp.connecting) tcp.resetAndDestroy();
  stream.destroy();
  tcp.destroy();
}

export function openHostConnection(options: HostConnectionOptions) {
  const { host, port, log, reconnectDelaysMs } = options;
  const { maxUnreadPaymentBytes = defaultMaxUnreadPaymentBytes } = options;
  const { emptyFrameAnswer } = options.framing;
  // Created before the first connect, so that an invalid certificate fails the opening of the link.
  const tlsContext = options.tls
    ? createSecureContext({ minVersion: 'TLSv1.2', ...options.tlsIdentity })
    : undefined;
  let sockets: HostSockets | undefined;
  let isReady = false;
  let isClosed = false;
  let failures = 0;
  let reconnectTimer: NodeJS.Timeout | undefined;
  let queue = new Set<OutgoingFrame>();
  let queuedBytes = 0;
  let isWriting = false;
  let isFlushScheduled = false;

  function dropAndReconnect(lostSockets: HostSockets | undefined, reason: string): void {
    if (lostSockets === undefined || sockets !== lostSockets) return;
    sockets = undefined;
    isReady = false;
    queue = new Set();
    queuedBytes = 0;
    isWriting = false;
    closeSockets(lostSockets, options.hasUnconfirmedPayment());
    options.onLost(reason);
    if (isClosed) return;
    const baseDelayMs = reconnectDelayAfter(reconnectDelaysMs, failures);
    failures += 1;
    log.warn({ reason, retryInMs: baseDelayMs }, 'connection to the host lost; reconnecting');
    // Jitter between 50 % and 100 % spreads the reconnects of many processes.
    reconnectTimer = setTimeout(connect, withJitter(baseDelayMs));
  }

  // One write at a time: queued frames are certainly unsent when the connection is lost.
  function writeBatch(): void {
    isFlushScheduled = false;
    const target = sockets;
    if (target === undefined || isWriting || queue.size === 0) return;
    const batch = [...queue];
    queue = new Set();
    queuedBytes = 0;
    isWriting = true;
    for (const { onWriteStarted } of batch) onWriteStarted?.();
    const [first] = batch;
    const bytes =
      batch.length === 1 && first !== undefined
        ? first.bytes
        : Buffer.concat(batch.map(({ bytes }) => bytes));
    target.stream.write(bytes, (error) => {
      if (sockets !== target) return;
      isWriting = false;
      if (error) return;
      for (const { onWritten } of batch) onWritten?.();
      writeBatch();
    });
  }

  function enqueue(frame: OutgoingFrame): void {
    queue.add(frame);
    queuedBytes += frame.bytes.length;
    // Limits memory if a host sends requests and never reads responses.
    const maxUnreadBytes =
      frame.onWriteStarted === undefined ? maxUnreadResponseBytes : maxUnreadPaymentBytes;
    if (queuedBytes + (sockets?.stream.writableLength ?? 0) > maxUnreadBytes) {
      dropAndReconnect(sockets, 'the host does not read sent messages');
      return;
    }
    if (isFlushScheduled || isWriting) return;
    // Frames of one event loop iteration are written in one system call.
    isFlushScheduled = true;
    process.nextTick(writeBatch);
  }

  function watchSocket(owner: HostSockets, socket: Socket): void {
    socket.on('error', (error) => dropAndReconnect(owner, error.message));
    socket.on('close', () => dropAndReconnect(owner, 'the host closed the connection'));
  }

  function startReading(connected: HostSockets): void {
    const deframer = options.framing.createDeframer();
    connected.tcp.setTimeout(0);
    isReady = true;
    // Answering the FIN with our own FIN would deliver unread bytes first.
    connected.stream.on('end', () => dropAndReconnect(connected, 'the host closed the connection'));
    connected.stream.on('data', (chunk: Buffer) => {
      try {
        for (const { payload, header } of deframer.push(chunk)) {
          if (sockets !== connected) continue;
          if (payload.length > 0) options.onPayload(payload, header);
          else if (emptyFrameAnswer !== undefined) enqueue({ bytes: emptyFrameAnswer });
        }
      } catch (error) {
        dropAndReconnect(
          connected,
          error instanceof Error ? error.message : 'the stream cannot be framed',
        );
      }
    });
    options.onOpen();
  }

  /** Node does not look up an IP address, so it is checked here. */
  function openSocket(): Socket {
    const fault = options.addressGuard.findHostFault(host, port);
    if (fault !== undefined) return new Socket().destroy(new Error(`the host ${fault}`));
    const lookup = options.addressGuard.lookupFor(port);
    return connectTcp({ host, port, lookup, allowHalfOpen: true });
  }

  function connect(): void {
    const tcp = openSocket();
    const newSockets: HostSockets = { tcp, stream: tcp };
    sockets = newSockets;
    tcp.setNoDelay(true);
    tcp.setTimeout(connectTimeoutMs, () => dropAndReconnect(newSockets, 'connect timed out'));
    watchSocket(newSockets, tcp);
    tcp.once('connect', () => {
      if (sockets !== newSockets) return;
      if (tlsContext === undefined) return startReading(newSockets);
      newSockets.stream = startTls(tcp, host, tlsContext);
      watchSocket(newSockets, newSockets.stream);
      newSockets.stream.once('secureConnect', () => {
        if (sockets === newSockets) startReading(newSockets);
      });
    });
  }

  connect();

  return {
    /** True if the socket accepts frames. */
    isOpen: (): boolean => isReady && sockets?.stream.writable === true,
    enqueue,
    /** Returns false if the frame is already written or not queued. */
    dequeue(frame: OutgoingFrame): boolean {
      if (!queue.delete(frame)) return false;
      queuedBytes -= frame.bytes.length;
      return true;
    },
    /** Drops the socket and reconnects after a delay. */
    reconnect: (reason: string): void => dropAndReconnect(sockets, reason),
    resetBackoff(): void {
      failures = 0;
    },
    close(): void {
      isClosed = true;
      clearTimeout(reconnectTimer);
      dropAndReconnect(sockets, 'closing');
    },
  };
}
