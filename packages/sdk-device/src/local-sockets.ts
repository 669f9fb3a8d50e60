/** WebSockets of points of sale in the shop: messages both ways, for as long as they are there. */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { connectorLimits } from '@switchyard/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import { DeviceError, invalid, textOf } from './errors.ts';

/**
 * A point of sale that came by a WebSocket.
 *
 * @example
 * const shown = async (peer: LocalPeer) => peer.send(displayRequest);
 */
export type LocalPeer = {
  /** @throws DeviceError `not_connected`, `message_too_large`, `slow_connection`, `connection_lost` */
  send(message: string): Promise<void>;
  /** Aborted once it has gone. */
  readonly gone: AbortSignal;
};

type Deps = {
  isPath(path: string): boolean;
  handle(message: string, signal: AbortSignal, peer: LocalPeer): Promise<string | undefined>;
  onFault(error: unknown): void;
};

const secondMs = 1000;
const missedPingsMax = 2;
/** Messages of one peer that are worked on; more are not read before that. */
const runningMax = 16;
/** What may wait for a slow network before `send` refuses. */
const queuedBytesMax = 4_194_304;
const fragmentsMax = 1024;
/** How long a peer may take to answer a closing. */
const closeMs = 1000;
const closes = { notText: 1003, fault: 1011, away: 1001 } as const;

function refuse(socket: Duplex, status: number): void {
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`;
  const lines = [head, 'Content-Length: 0', 'Connection: close', '', ''];
  socket.end(lines.join('\r\n'), () => socket.destroy());
}

/** A peer that answers no ping is gone, whatever the operating system believes. */
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

/** Serves WebSockets of a server beside its requests. */
export function serveSockets(server: Server, deps: Deps): { close(): void } {
  const open = new Set<WebSocket>();
  const options = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: connectorLimits.messageMaxBytes,
    maxFragments: fragmentsMax,
    // ws knows it from 8.19 on; its types do not yet.
    closeTimeout: closeMs,
  };
  const sockets = new WebSocketServer(options);

  function serve(socket: WebSocket): void {
    const gone = new AbortController();
    const peer = peerOf(socket, gone.signal);
    let running = 0;
    open.add(socket);
    beat(socket);
    // What is wrong with a frame, `ws` has told the peer by its code, and ends the connection.
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
    // A peer that goes away meanwhile is nobody's fault.
    socket.on('error', () => socket.destroy());
    if (!deps.isPath(path)) return refuse(socket, 404);
    // A page in a browser could reach the terminal; it cannot hide where it comes from.
    if (request.headers.origin !== undefined) return refuse(socket, 403);
    sockets.handleUpgrade(request, socket, head, serve);
  });

  return {
    close() {
      for (const socket of open) socket.close(closes.away);
    },
  };
}
