// Limits the number and the duration of connections that have not sent a request (Slowloris attacks).
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Metrics } from '../../platform/index.ts';

/** Connections of a listener, besides WebSockets. */
export const connectionLimit = 10_000;

/** All in milliseconds. */
export type ConnectionTimeouts = {
  /** For the TLS handshake. */
  readonly handshakeMs: number;
  /** For the headers of a request or of a WebSocket handshake. */
  readonly headersMs: number;
  /** For a whole request; a body gets the same time again for each MiB that was received in time. */
  readonly requestMs: number;
  /** The interval of the checks for expired connections. */
  readonly checkIntervalMs: number;
  /** When the limit is reached, a connection without a request for this time is closed. */
  readonly evictAfterMs: number;
};

const defaultTimeouts: ConnectionTimeouts = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 15_000,
  checkIntervalMs: 1000,
  evictAfterMs: 2000,
};

const closeReasons = [
  'handshake_timeout',
  'request_timeout',
  'evicted',
  'connection_limit',
] as const;
type CloseReason = (typeof closeReasons)[number];

type NewConnection = { readonly socket: Socket; readonly openedAt: number };

export type NewConnectionLimits = {
  readonly timeouts: ConnectionTimeouts;
  /** Counts the connections of a server and allows at most `maxWaiting` without a request. */
  watch(server: Server, isTls: boolean, maxWaiting: number): void;
};

function registerMetrics(
  metrics: Metrics | undefined,
  waiting: () => number,
): (reason: CloseReason) => void {
  if (metrics === undefined) return () => {};
  metrics.gauge({
    name: 'switchyard_http_new_connections',
    help: 'Connections that have not sent a request.',
    collect() {
      this.set(waiting());
    },
  });
  const counter = metrics.counter({
    name: 'switchyard_http_new_connections_closed_total',
    help: 'Connections that the server closed: the TLS handshake or the request was too slow, too many connections sent no request, or the connection limit was reached.',
    labelNames: ['reason'],
  });
  for (const reason of closeReasons) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}

const endpointsOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localPort}`;

/**
 * A client that opens connections and sends nothing, or one byte at a time, takes memory and connections
 * from other clients. Timeouts end each such connection, and they may be half of all connections.
 *
 * @example const newConnections = createNewConnectionLimits({ metrics }); newConnections.watch(server, true, 5000);
 */
export function createNewConnectionLimits(options: {
  readonly metrics?: Metrics | undefined;
  readonly timeouts?: Partial<ConnectionTimeouts> | undefined;
}): NewConnectionLimits {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  /** The connections of all listeners, the oldest first. */
  const waiting = new Set<NewConnection>();
  const count = registerMetrics(options.metrics, () => waiting.size);

  function evictOne(newest: NewConnection): void {
    const [oldest = newest] = waiting;
    const isStale = newest.openedAt - oldest.openedAt >= timeouts.evictAfterMs;
    const evicted = isStale ? oldest : newest;
    waiting.delete(evicted);
    count('evicted');
    evicted.socket.destroy();
  }

  return {
    timeouts,
    watch(server, isTls, maxWaiting) {
      /** A TLS socket differs from its TCP socket, but both have the same endpoints. */
      const byEndpoints = new Map<string, NewConnection>();
      const bySocket = new WeakMap<Socket, NewConnection>();
      const onRequest = ({ socket }: IncomingMessage) => {
        const connection = bySocket.get(socket);
        if (connection === undefined) return;
        bySocket.delete(socket);
        waiting.delete(connection);
      };
      server.on('connection', (socket: Socket) => {
        const connection = { socket, openedAt: performance.now() };
        waiting.add(connection);
        if (isTls) {
          const endpoints = endpointsOf(socket);
          byEndpoints.set(endpoints, connection);
          socket.once(
            'close',
            () => byEndpoints.get(endpoints) === connection && byEndpoints.delete(endpoints),
          );
        } else bySocket.set(socket, connection);
        socket.once('close', () => waiting.delete(connection));
        if (waiting.size > maxWaiting) evictOne(connection);
      });
      server.on('secureConnection', (socket: Socket) => {
        const connection = byEndpoints.get(endpointsOf(socket));
        if (connection !== undefined) bySocket.set(socket, connection);
      });
      server.on('request', onRequest).on('upgrade', onRequest);
      server.on('drop', () => count('connection_limit'));
      server.on('clientError', ({ code }: NodeJS.ErrnoException) => {
        if (code === 'ERR_HTTP_REQUEST_TIMEOUT') count('request_timeout');
      });
      server.on('tlsClientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
        if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') count('handshake_timeout');
        // A response would wait for the end of a handshake that never comes.
        socket.destroy();
      });
    },
  };
}
