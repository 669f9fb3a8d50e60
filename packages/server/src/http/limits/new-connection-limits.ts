// Connections that have not yet asked for anything: few enough, and none of them for long.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Metrics } from '../../platform/index.ts';

/** Connections of a listener, besides WebSockets. */
export const connectionLimit = 10_000;

/** All in milliseconds. */
export type Patience = {
  /** For the handshake of TLS. */
  readonly handshakeMs: number;
  /** For the head of a request, a WebSocket's too. */
  readonly headMs: number;
  /** For all of a request; a longer body has as much again for each MiB that arrived in the time before. */
  readonly requestMs: number;
  /** How often it is looked whose time is over. */
  readonly lookEveryMs: number;
  /** Where there is no place left, whoever has said nothing for so long makes room. */
  readonly roomAfterMs: number;
};

const usualPatience: Patience = {
  handshakeMs: 10_000,
  headMs: 10_000,
  requestMs: 15_000,
  lookEveryMs: 1000,
  roomAfterMs: 2000,
};

const cuts = ['handshake', 'request', 'room', 'full'] as const;
type Cut = (typeof cuts)[number];

type Arrival = { readonly socket: Socket; readonly at: number };

export type Arrivals = {
  readonly patience: Patience;
  /** Counts those of a listener, and lets no more than `most` of them wait at a time. */
  watch(server: Server, isTls: boolean, most: number): void;
};

function measure(metrics: Metrics | undefined, waiting: () => number): (cut: Cut) => void {
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
  for (const reason of cuts) counter.inc({ reason }, 0);
  return (reason) => counter.inc({ reason });
}

const placeOf = ({ remoteAddress, remotePort, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localPort}`;

/**
 * Whoever opens connections and says nothing, or a byte now and then, costs memory and a place of
 * somebody else: time limits end each of them, and of all connections half may be such.
 *
 * @example const arrivals = createArrivals({ metrics }); arrivals.watch(server, true, 5000);
 */
export function createArrivals(given: {
  readonly metrics?: Metrics | undefined;
  readonly patience?: Partial<Patience> | undefined;
}): Arrivals {
  const patience = { ...usualPatience, ...given.patience };
  /** Of all listeners; the oldest first. */
  const waiting = new Set<Arrival>();
  const count = measure(given.metrics, () => waiting.size);

  function makeRoom(newest: Arrival): void {
    const [oldest = newest] = waiting;
    const isStale = newest.at - oldest.at >= patience.roomAfterMs;
    const cut = isStale ? oldest : newest;
    waiting.delete(cut);
    count('room');
    cut.socket.destroy();
  }

  return {
    patience,
    watch(server, isTls, most) {
      /** TLS has a socket of its own above that of the network: both have the same addresses. */
      const below = new Map<string, Arrival>();
      const above = new WeakMap<Socket, Arrival>();
      const asked = ({ socket }: IncomingMessage) => {
        const arrival = above.get(socket);
        if (arrival === undefined) return;
        above.delete(socket);
        waiting.delete(arrival);
      };
      server.on('connection', (socket: Socket) => {
        const arrival = { socket, at: performance.now() };
        waiting.add(arrival);
        if (isTls) {
          const place = placeOf(socket);
          below.set(place, arrival);
          socket.once('close', () => below.get(place) === arrival && below.delete(place));
        } else above.set(socket, arrival);
        socket.once('close', () => waiting.delete(arrival));
        if (waiting.size > most) makeRoom(arrival);
      });
      server.on('secureConnection', (socket: Socket) => {
        const arrival = below.get(placeOf(socket));
        if (arrival !== undefined) above.set(socket, arrival);
      });
      server.on('request', asked).on('upgrade', asked);
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
