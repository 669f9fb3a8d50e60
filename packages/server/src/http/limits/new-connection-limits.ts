// Connections that have not yet asked for anything: few enough, and none of them for long.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Metrics } from '../../platform/index.ts';

/** Connections of a listener, besides WebSockets. */
export const connectionLimit = 10_000;

/** All in milliseconds. */
export type ConnectionTimeouts = {
  /** For the handshake of TLS. */
  readonly handshakeMs: number;
  /** For the head of a request, a WebSocket's too. */
  readonly headersMs: number;
  /** For all of a request; a longer body has as much again for each MiB that arrived in the time before. */
  readonly requestMs: number;
  /** How often it is looked whose time is over. */
  readonly checkIntervalMs: number;
  /** Where there is no place left, whoever has said nothing for so long makes room. */
  readonly evictAfterMs: number;
};

const defaultTimeouts: ConnectionTimeouts = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 15_000,
  checkIntervalMs: 1000,
  evictAfterMs: 2000,
};

const closeReasons = ['handshake', 'request', 'room', 'full'] as const;
type CloseReason = (typeof closeReasons)[number];

type NewConnection = { readonly socket: Socket; readonly openedAt: number };

export type NewConnectionLimits = {
  readonly timeouts: ConnectionTimeouts;
  /** Counts those of a listener, and lets no more than `most` of them wait at a time. */
  watch(server: Server, isTls: boolean, maxWaiting: number): void;
};

function registerMetrics(
  metrics: Metrics | undefined,
  waiting: () => number,
): (reason: CloseReason) => void {
  if (metrics === undefined) return () => {};
  metrics.gauge({
    name: 'switchyard_http_arrivals',
    help: 'Connections that have not yet asked for anything.',
    collect() {
      this.set(waiting());
    },
  });
  const counter = metrics.counter({
    name: 'switchyard_http_arrivals_cut_total',
    help: 'Connections that were cut off: too slow with the TLS handshake or a request, too many that say nothing, or no place at all.',
    labelNames: ['reason'],
  });
  for (const reason of closeReasons) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}

const endpointsOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localPort}`;

/**
 * Whoever opens connections and says nothing, or a byte now and then, costs memory and a place of
 * somebody else: time limits end each of them, and of all connections half may be such.
 *
 * @example const arrivals = createArrivals({ metrics }); arrivals.watch(server, true, 5000);
 */
export function createNewConnectionLimits(options: {
  readonly metrics?: Metrics | undefined;
  readonly timeouts?: Partial<ConnectionTimeouts> | undefined;
}): NewConnectionLimits {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  /** Of all listeners; the oldest first. */
  const waiting = new Set<NewConnection>();
  const count = registerMetrics(options.metrics, () => waiting.size);

  function evictOne(newest: NewConnection): void {
    const [oldest = newest] = waiting;
    const isStale = newest.openedAt - oldest.openedAt >= timeouts.evictAfterMs;
    const evicted = isStale ? oldest : newest;
    waiting.delete(evicted);
    count('room');
    evicted.socket.destroy();
  }

  return {
    timeouts,
    watch(server, isTls, maxWaiting) {
      /** TLS has a socket of its own above that of the network: both have the same addresses. */
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
      server.on('drop', () => count('full'));
      server.on('clientError', ({ code }: NodeJS.ErrnoException) => {
        if (code === 'ERR_HTTP_REQUEST_TIMEOUT') count('request');
      });
      server.on('tlsClientError', ({ code }: NodeJS.ErrnoException, socket: Socket) => {
        if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') count('handshake');
        // An answer would wait for the end of a handshake that never comes, and the socket with it.
        socket.destroy();
      });
    },
  };
}
