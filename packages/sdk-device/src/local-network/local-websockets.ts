/** WebSockets of points of sale in the local network, with messages both ways. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { connectorLimits } from '@switchyard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import { DeviceError, errorText, invalidError } from '../support/device-error.ts';

/**
 * A point of sale that connected over a WebSocket.
 *
 * @example
 * const shown = async (peer: LocalPosConnection) => peer.send(displayRequest);
 */
export type LocalPosConnection = {
  /**
   * @throws DeviceError `not_connected`, `message_too_large`, `slow_connection`, `connection_lost`
   */
  send(message: string): Promise<void>;
  /** Aborted when the point of sale has disconnected. */
  readonly disconnected: AbortSignal;
};

type WebsocketServerOptions = {
  isPath(path: string): boolean;
  handle(
    message: string,
    signal: AbortSignal,
    connection: LocalPosConnection,
  ): Promise<string | undefined>;
  onError(error: unknown): void;
};

const secondMs = 1000;
const missedPingsMax = 2;
/** How many messages of a peer may run at a time; the server then stops reading from it. */
const runningMax = 16;
/** The most bytes that may wait for a slow network; `send` then refuses more. */
const queuedBytesMax = 4_194_304;
const fragmentsMax = 1024;
/** How long a peer may take to answer a close frame. */
const closeMs = 1000;
const closeCodes = { notText: 1003, fault: 1011, away: 1001 } as const;

function rejectUpgrade(socket: Duplex, status: number): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  const lines = [head, 'Content-Length: 0', 'Connection: close', '', ''];
  socket.end(lines.join('\r\n'), () => socket.destroy());
}

/**
 * Closes the socket if the peer answers no pings, even if the operating system reports it as open.
 */
function sendHeartbeats(socket: WebSocket): void {
  let missed = 0;
  const alive = () => {
    missed = 0;
  };
  socket.on('pong', alive).on('ping', alive).on('message', alive);
  const timer = setInterval(() => {
    if (missed >= missedPingsMax) socket.terminate();
    else socket.ping();
    missed += 1;
  }, connectorLimits.heartbeatSeconds * secondMs);
  timer.unref();
  socket.on('close', () => clearInterval(timer));
}

function toPosConnection(socket: WebSocket, disconnected: AbortSignal): LocalPosConnection {
  return {
    disconnected,
    async send(message) {
      const length = Buffer.byteLength(message);
      if (length > connectorLimits.messageMaxBytes) {
        throw invalidError('message_too_large', `a message of ${length} bytes`);
      }
      if (socket.readyState !== socket.OPEN) {
        throw new DeviceError('NotSent', 'the point of sale has disconnected', {
          code: 'not_connected',
        });
      }
      if (socket.bufferedAmount + length > queuedBytesMax) {
        const facts = { code: 'slow_connection', retryable: true };
        throw new DeviceError(
          'NotSent',
          'the connection is too slow: its send buffer is full',
          facts,
        );
      }
      await new Promise<void>((resolve, reject) => {
        socket.send(message, (error) => {
          if (!(error instanceof Error)) resolve();
          else reject(new DeviceError('Unknown', errorText(error), { code: 'connection_lost' }));
        });
      });
    },
  };
}

/** Accepts WebSockets on a server that also handles requests. */
export function serveWebsockets(
  server: Server,
  options: WebsocketServerOptions,
): { close(): void } {
  const openSockets = new Set<WebSocket>();
  const serverOptions = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: connectorLimits.messageMaxBytes,
    maxFragments: fragmentsMax,
    // `ws` supports it from 8.19 on, but its types do not include it yet.
    closeTimeout: closeMs,
  };
  const sockets = new WebSocketServer(serverOptions);

  function serve(socket: WebSocket): void {
    const disconnected = new AbortController();
    const connection = toPosConnection(socket, disconnected.signal);
    let running = 0;
    openSockets.add(socket);
    sendHeartbeats(socket);
    // `ws` reports a bad frame to the peer with a close code and ends the connection.
    socket.on('error', () => disconnected.abort());
    socket.on('close', () => {
      openSockets.delete(socket);
      disconnected.abort();
    });

    async function answer(message: string): Promise<void> {
      running += 1;
      if (running === runningMax) socket.pause();
      try {
        const text = await options.handle(message, disconnected.signal, connection);
        if (text !== undefined && !disconnected.signal.aborted) await connection.send(text);
      } catch (error) {
        options.onError(error);
        socket.close(closeCodes.fault);
      } finally {
        if (running === runningMax) socket.resume();
        running -= 1;
      }
    }

    socket.on('message', (data, isBinary) => {
      if (isBinary) socket.close(closeCodes.notText);
      else void answer(data.toString());
    });
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    // A peer that disconnects during the upgrade is not a fault.
    socket.on('error', () => socket.destroy());
    if (!options.isPath(path)) return rejectUpgrade(socket, 404);
    // Refuses web pages: a browser sends the Origin header of the page with the request.
    if (request.headers.origin !== undefined) return rejectUpgrade(socket, 403);
    sockets.handleUpgrade(request, socket, head, serve);
  });

  return {
    close() {
      for (const socket of openSockets) socket.close(closeCodes.away);
    },
  };
}
