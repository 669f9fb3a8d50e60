// Manages the open WebSockets of this node: heartbeats, closes with their reasons, and counts.
import { closeCodes } from '@switchyard/contract';
import type { RawData, WebSocket } from 'ws';
import type { Clock, Log, Metrics } from '../../platform/index.ts';
import { reasonOf } from '../protocol/connector-fault.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import type { End } from './forward-messages.ts';

export type PeerKind = 'registration' | 'device' | 'pos' | 'session';

/** One WebSocket connection to a device or a point of sale. */
export type Peer = End & {
  readonly correlationId: string;
  readonly kind: PeerKind;
  /** Sets the only listener; a later call replaces it. */
  onMessage(heard: (data: Buffer, isBinary: boolean) => void): void;
  /** Called once, with the close code of the peer or of this server. */
  onClose(closed: (code: number) => void): void;
};

type Beating = {
  readonly socket: WebSocket;
  pingAt: number;
  unanswered: number;
  /** Pings and pongs of the peer since the last ping of the server. */
  beats: number;
  heard: ((data: Buffer, isBinary: boolean) => void) | undefined;
};

export type Peers = ReturnType<typeof createPeers>;

type Deps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly times: Pick<ConnectorTimes, 'heartbeatMs'>;
};

const asText = { binary: false } as const;
const asBinary = { binary: true } as const;

/** After this time the server terminates a peer that does not answer a close. */
const stopMs = 2000;
const missedMax = 2;
/**
 * The server disconnects a peer that sends more pings and pongs than this between two server pings.
 */
const beatsMax = 1000;
/** The server sends no pongs to a peer that does not read, because they would fill its memory. */
const pongRoomBytes = 64 * 1024;
const pollMs = 20;

const bytesOf = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);

function measure(metrics: Metrics, count: (kind: PeerKind) => number) {
  const kinds: readonly PeerKind[] = ['registration', 'device', 'pos', 'session'];
  metrics.gauge({
    name: 'switchyard_connector_connections',
    help: 'Open WebSockets of the connector',
    labelNames: ['kind'],
    collect() {
      for (const kind of kinds) this.set({ kind }, count(kind));
    },
  });
  return metrics.counter({
    name: 'switchyard_connector_connections_closed_total',
    help: 'Closed WebSockets of the connector, by their close code',
    labelNames: ['kind', 'code'],
  });
}

/** @example const peers = createPeers({ clock, log, metrics, times }); const peer = peers.take(socket, 'pos', id); */
export function createPeers({ clock, log, metrics, times }: Deps) {
  const open = new Map<WebSocket, { peer: Peer; beating: Beating }>();
  const counts = new Map<PeerKind, number>();
  const count = (kind: PeerKind, by: number) => counts.set(kind, (counts.get(kind) ?? 0) + by);
  const closed = measure(metrics, (kind) => counts.get(kind) ?? 0);

  function peerOf(beating: Beating, kind: PeerKind, correlationId: string): Peer {
    const { socket } = beating;
    return {
      correlationId,
      kind,
      send(data, isBinary = false, sent) {
        socket.send(data, isBinary ? asBinary : asText, sent);
      },
      buffered: () => socket.bufferedAmount,
      pause() {
        socket.pause();
      },
      resume() {
        socket.resume();
      },
      close(code, word) {
        // A paused socket does not read the close frame of the peer.
        socket.resume();
        if (code < 4000) socket.close(code, word);
        else socket.close(code, reasonOf(word, correlationId));
      },
      onMessage(heard) {
        beating.heard = heard;
      },
      onClose(told) {
        socket.on('close', told);
      },
    };
  }

  /**
   * Runs twice a second for thousands of sockets, so it allocates nothing for those that are not
   * due.
   */
  function beat(beating: Beating, now: number): void {
    if (now < beating.pingAt) return;
    const { socket } = beating;
    // The server does not read a paused socket, and so it does not see the pongs.
    if (socket.isPaused) beating.unanswered = 0;
    else if (beating.unanswered >= missedMax) {
      socket.terminate();
      return;
    } else beating.unanswered += 1;
    beating.beats = 0;
    beating.pingAt = now + times.heartbeatMs;
    if (socket.readyState === socket.OPEN) socket.ping();
  }

  return {
    size: () => open.size,
    countOf: (kind: PeerKind) => counts.get(kind) ?? 0,

    take(socket: WebSocket, kind: PeerKind, correlationId: string): Peer {
      const pingAt = clock.now() + times.heartbeatMs;
      const beating: Beating = { socket, pingAt, unanswered: 0, beats: 0, heard: undefined };
      const peer = peerOf(beating, kind, correlationId);
      open.set(socket, { peer, beating });
      count(kind, 1);
      const beaten = () => {
        beating.unanswered = 0;
        beating.beats += 1;
        if (beating.beats === beatsMax) peer.close(closeCodes.rateLimited, 'rate_limited');
        if (beating.beats >= 2 * beatsMax) socket.terminate();
        return beating.beats < beatsMax;
      };
      // This code runs for each message, so it does only the necessary work.
      socket.on('message', (data, isBinary) => {
        beating.unanswered = 0;
        beating.heard?.(bytesOf(data), isBinary);
      });
      socket.on('pong', beaten);
      socket.on('ping', (data) => {
        if (beaten() && socket.bufferedAmount <= pongRoomBytes) socket.pong(data);
      });
      socket.on('error', (error) => {
        // Excess length, invalid UTF-8 or an invalid frame: `ws` has already sent a close code to
        // the peer.
        log.info({ correlationId, kind, err: error }, 'a WebSocket broke');
      });
      socket.once('close', (code) => {
        open.delete(socket);
        count(kind, -1);
        closed.inc({ kind, code: String(code) });
        log.debug({ correlationId, kind, code }, 'a WebSocket closed');
      });
      return peer;
    },

    tick(now: number): void {
      for (const { beating } of open.values()) beat(beating, now);
    },

    /**
     * Closes all connections with the code `restarting`, and terminates the peers that do not
     * answer.
     */
    async stop(): Promise<void> {
      for (const { peer } of open.values()) peer.close(closeCodes.restarting, 'restarting');
      const end = performance.now() + stopMs;
      while (open.size > 0 && performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
      for (const socket of open.keys()) socket.terminate();
    },
  };
}
