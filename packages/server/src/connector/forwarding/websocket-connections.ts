// Manages the open WebSockets of this node: heartbeats, closes with their reasons, and counts.
import type { Duplex } from 'node:stream';
import { closeCodes } from '@switchyard/contract';
import type { RawData, WebSocket } from 'ws';
import type { Clock, Log, Metrics } from '../../platform/index.ts';
import { closeReason } from '../protocol/connector-fault.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import { encodeShortFrame, shortMessageMaxBytes } from './encode-frame.ts';
import type { MessageEndpoint } from './forward-messages.ts';

export type ConnectionKind = 'registration' | 'device' | 'pos' | 'session';

/** One WebSocket connection to a device or a point of sale. */
export type WebSocketConnection = MessageEndpoint & {
  readonly correlationId: string;
  readonly kind: ConnectionKind;
  /** Sets the only listener; a later call replaces it. */
  onMessage(handler: (data: Buffer, isBinary: boolean) => void): void;
  /** Called once, with the close code of the peer or of this server. */
  onClose(closed: (code: number) => void): void;
};

type Heartbeat = {
  readonly socket: WebSocket;
  pingAt: number;
  unansweredPings: number;
  /** Pings and pongs of the peer since the last ping of the server. */
  controlFrames: number;
  onMessage: ((data: Buffer, isBinary: boolean) => void) | undefined;
};

export type WebSocketConnections = ReturnType<typeof createWebSocketConnections>;

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
const unansweredPingsMax = 2;
/**
 * The server disconnects a peer that sends more pings and pongs than this between two server pings.
 */
const controlFramesMax = 1000;
/** The server sends no pongs to a peer that does not read, because they would fill its memory. */
const pongBufferMaxBytes = 64 * 1024;
const pollMs = 20;

const toBuffer = (data: RawData): Buffer =>
  Buffer.isBuffer(data) ? data : Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);

function createMetrics(metrics: Metrics, count: (kind: ConnectionKind) => number) {
  const kinds: readonly ConnectionKind[] = ['registration', 'device', 'pos', 'session'];
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

/** @example const webSockets = createWebSocketConnections({ clock, log, metrics, times }); const peer = webSockets.add(socket, 'pos', id); */
export function createWebSocketConnections({ clock, log, metrics, times }: Deps) {
  const open = new Map<WebSocket, { peer: WebSocketConnection; heartbeat: Heartbeat }>();
  const counts = new Map<ConnectionKind, number>();
  const count = (kind: ConnectionKind, difference: number) =>
    counts.set(kind, (counts.get(kind) ?? 0) + difference);
  const closed = createMetrics(metrics, (kind) => counts.get(kind) ?? 0);

  function createConnection(
    heartbeat: Heartbeat,
    kind: ConnectionKind,
    correlationId: string,
    rawSocket: Duplex | undefined,
  ): WebSocketConnection {
    const { socket } = heartbeat;
    return {
      correlationId,
      kind,
      send(data, isBinary = false, sent) {
        const isShort = typeof data !== 'string' && data.length <= shortMessageMaxBytes;
        if (rawSocket !== undefined && isShort && socket.readyState === socket.OPEN) {
          rawSocket.write(encodeShortFrame(data, isBinary), sent);
        } else socket.send(data, isBinary ? asBinary : asText, sent);
      },
      buffered: () => socket.bufferedAmount,
      pause() {
        socket.pause();
      },
      resume() {
        socket.resume();
      },
      close(code, reason) {
        // A paused socket does not read the close frame of the peer.
        socket.resume();
        if (code < 4000) socket.close(code, reason);
        else socket.close(code, closeReason(reason, correlationId));
      },
      onMessage(handler) {
        heartbeat.onMessage = handler;
      },
      onClose(listener) {
        socket.on('close', listener);
      },
    };
  }

  /**
   * Runs twice a second for thousands of sockets, so it allocates nothing for those that are not
   * due.
   */
  function sendPing(heartbeat: Heartbeat, now: number): void {
    if (now < heartbeat.pingAt) return;
    const { socket } = heartbeat;
    // The server does not read a paused socket, and so it does not see the pongs.
    if (socket.isPaused) heartbeat.unansweredPings = 0;
    else if (heartbeat.unansweredPings >= unansweredPingsMax) {
      socket.terminate();
      return;
    } else heartbeat.unansweredPings += 1;
    heartbeat.controlFrames = 0;
    heartbeat.pingAt = now + times.heartbeatMs;
    if (socket.readyState === socket.OPEN) socket.ping();
  }

  return {
    size: () => open.size,
    countOf: (kind: ConnectionKind) => counts.get(kind) ?? 0,

    /**
     * @param rawSocket - the TCP or TLS socket below `socket`, to which the server writes short
     *   messages; without it, `ws` writes all messages
     */
    add(
      socket: WebSocket,
      kind: ConnectionKind,
      correlationId: string,
      rawSocket?: Duplex,
    ): WebSocketConnection {
      const pingAt = clock.now() + times.heartbeatMs;
      const heartbeat: Heartbeat = {
        socket,
        pingAt,
        unansweredPings: 0,
        controlFrames: 0,
        onMessage: undefined,
      };
      const peer = createConnection(heartbeat, kind, correlationId, rawSocket);
      open.set(socket, { peer, heartbeat });
      count(kind, 1);
      const countControlFrame = () => {
        heartbeat.unansweredPings = 0;
        heartbeat.controlFrames += 1;
        if (heartbeat.controlFrames === controlFramesMax)
          peer.close(closeCodes.rateLimited, 'rate_limited');
        if (heartbeat.controlFrames >= 2 * controlFramesMax) socket.terminate();
        return heartbeat.controlFrames < controlFramesMax;
      };
      // This code runs for each message, so it does only the necessary work.
      socket.on('message', (data, isBinary) => {
        heartbeat.unansweredPings = 0;
        heartbeat.onMessage?.(toBuffer(data), isBinary);
      });
      socket.on('pong', countControlFrame);
      socket.on('ping', (data) => {
        if (countControlFrame() && socket.bufferedAmount <= pongBufferMaxBytes) socket.pong(data);
      });
      socket.on('error', (error) => {
        // Excess length, invalid UTF-8 or an invalid frame: `ws` has already sent a close code to
        // the peer.
        log.info({ correlationId, kind, err: error }, 'a WebSocket failed');
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
      for (const { heartbeat } of open.values()) sendPing(heartbeat, now);
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
