/** WebSockets of points of sale in the local network, with messages both ways. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { connectorLimits } from '@switchyard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import { DeviceError, invalid, textOf } from '../support/device-error.ts';

/**
 * A point of sale that connected over a WebSocket.
 *
 * @example
 * const shown = async (peer: LocalPeer) => peer.send(displayRequest);
 */
export type LocalPeer = {
  /**
   * @throws DeviceError `not_connected`, `message_too_large`, `slow_connection`, `connection_lost`
   */
  send(message: string): Promise<void>;
  /** Aborted when the point of sale has disconnected. */
  readonly gone: AbortSignal;
};

type Deps = {
  isPath(path: string): boolean;
  handle(message: string, signal: AbortSignal, peer: LocalPeer): Promise<string | undefined>;
  onFault(error: unknown): void;
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
const closes = { notText: 1003, fault: 1011, away: 1001 } as const;

function refuse(socket: Duplex, status: number): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  const lines = [head, 'Content-Length: 0', 'Connection: close', '', ''];
  socket.end(lines.join('\r\n'), () => socket.destroy());
}

/**
 * Closes the socket if the peer answers no pings, even if the operating system reports it as open.
 */
function beat(socket: WebSocket): void {
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

function peerOf(socket: WebSocket, gone: AbortSignal): LocalPeer {
  return {
    gone,
    async send(message) {
      const length = Buffer.byteLength(message);
      if (length > connectorLimits.messageMaxBytes) {
        throw invalid('message_too_large', `a message of ${length} bytes`);
      }
      if (socket.readyState !== socket.OPEN) {
        throw new DeviceError('NotSent', 'the point of sale is gone', { code: 'not_connected' });
      }
      if (socket.bufferedAmount + length > queuedBytesMax) {
        const facts = { code: 'slow_connection', retryable: true };
        throw new DeviceError('NotSent', 'the connection takes no more for now', facts);
      }
      await new Promise<void>((resolve, reject) => {
        socket.send(message, (error) => {
          if (!(error instanceof Error)) resolve();
          else reject(new DeviceError('Unknown', textOf(error), { code: 'connection_lost' }));
        });
      });
    },
  };
}

/** Accepts WebSockets on a server that also handles requests. */
export function serveSockets(server: Server, deps: Deps): { close(): void } {
  const open = new Set<WebSocket>();
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: connectorLimits.messageMaxBytes,
    maxFragments: fragmentsMax,
    // `ws` supports it from 8.19 on, but its types do not include it yet.
    closeTimeout: closeMs,
  };
  const sockets = new WebSocketServer(options);

  function serve(socket: WebSocket): void {
    const gone = new AbortController();
    const peer = peerOf(socket, gone.signal);
    let running = 0;
    open.add(socket);
    beat(socket);
    // `ws` reports a bad frame to the peer with a close code and ends the connection.
    socket.on('error', () => gone.abort());
    socket.on('close', () => {
      open.delete(socket);
      gone.abort();
    });

    async function answer(message: string): Promise<void> {
      running += 1;
      if (running === runningMax) socket.pause();
      try {
        const text = await deps.handle(message, gone.signal, peer);
        if (text !== undefined && !gone.signal.aborted) await peer.send(text);
      } catch (error) {
        deps.onFault(error);
        socket.close(closes.fault);
      } finally {
        if (running === runningMax) socket.resume();
        running -= 1;
      }
    }

    socket.on('message', (data, isBinary) => {
      if (isBinary) socket.close(closes.notText);
      else void answer(data.toString());
    });
  }

  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    // A peer that disconnects during the upgrade is not a fault.
    socket.on('error', () => socket.destroy());
    if (!deps.isPath(path)) return refuse(socket, 404);
    // Refuses web pages: a browser sends the Origin header of the page with the request.
    if (request.headers.origin !== undefined) return refuse(socket, 403);
    sockets.handleUpgrade(request, socket, head, serve);
  });

  return {
    close() {
      for (const socket of open) socket.close(closes.away);
    },
  };
}
