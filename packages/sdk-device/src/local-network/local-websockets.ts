/** WebSockets of points of sale in the local network, with messages both ways. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { connectorLimits } from '@switchyard/contract';
import { sendHeartbeats, sendOnWebsocket, systemClock } from '@switchyard/sdk-core';
import { type WebSocket, WebSocketServer } from 'ws';
import { createDeviceError } from '../support/device-error.ts';

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

const heartbeatMs = connectorLimits.heartbeatSeconds * 1000;
const sendOptions = {
  maxBytes: connectorLimits.messageMaxBytes,
  createError: createDeviceError,
};
/** How many messages of a peer may run at a time; the server then stops reading from it. */
const runningMax = 16;
const fragmentsMax = 1024;
/** How long a peer may take to answer a close frame. */
const closeMs = 1000;
const closeCodes = { notText: 1003, fault: 1011, away: 1001 } as const;

function rejectUpgrade(socket: Duplex, status: number): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  const lines = [head, 'Content-Length: 0', 'Connection: close', '', ''];
  socket.end(lines.join('\r\n'), () => socket.destroy());
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
    const connection: LocalPosConnection = {
      disconnected: disconnected.signal,
      send: (message) => sendOnWebsocket(socket, message, sendOptions),
    };
    let running = 0;
    openSockets.add(socket);
    void sendHeartbeats(socket, {
      everyMs: heartbeatMs,
      clock: systemClock,
      closed: disconnected.signal,
    });
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
