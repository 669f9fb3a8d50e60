// What an open stream writes to: a connection that was taken over from HTTP, so that waiting holds no parser, request or reply.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { heartbeatText } from './event-format.ts';

export type StreamConnection = {
  /** False where the reader has not taken what was written before. */
  write(text: string): boolean;
  /** Writes that it lives: of thousands in silence nothing else is written, so its bytes are made once. */
  sendHeartbeat(): boolean;
  /** Writes the last, and closes once it is taken. */
  end(text: string): void;
  destroy(): void;
  isClosed(): boolean;
  /** `onDrain` once what was written is taken, `onClose` once the connection is gone. */
  listen(listeners: { onDrain(): void; onClose(): void }): void;
};

/** What Node keeps of a connection that it reads requests from; no part of its documented interface. */
type Parser = { unconsume(): void; remove(): void; close(): void };
type ServerSocket = Socket & { parser?: Parser | null; _httpMessage?: unknown };
/** Whether the server closes the connection behind the answer. */
type ServerResponseInternals = ServerResponse & { _last?: boolean };

const serverEvents = [
  'data',
  'end',
  'error',
  'close',
  'timeout',
  'drain',
  'pause',
  'resume',
] as const;
const serverListenerPattern = /^(?:bound )?(?:socketOn|onSocket(?:Pause|Resume))/;
const ignore = (): void => {};

function destroySocket(this: Socket): void {
  this.destroy();
}

function isParser(parser: ServerSocket['parser']): parser is Parser {
  return (
    typeof parser?.remove === 'function' &&
    typeof parser.close === 'function' &&
    typeof parser.unconsume === 'function'
  );
}

/** The server reads no more requests from it: whatever comes is passed over. */
function detachParser(socket: ServerSocket): void {
  const { parser } = socket;
  // Before its listeners are gone: with a reader of its own, the parser no longer reads the connection.
  socket.on('data', ignore);
  for (const event of serverEvents) {
    for (const listener of socket.listeners(event)) {
      if (serverListenerPattern.test(listener.name)) socket.off(event, listener as () => void);
    }
  }
  socket.setTimeout(0);
  socket.on('error', ignore);
  socket.on('end', destroySocket);
  if (!isParser(parser)) return;
  parser.remove();
  socket.parser = null;
  // Whoever is within it at this moment comes out first.
  setImmediate(() => parser.close());
}

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const lastChunk = '0\r\n\r\n';
const heartbeatChunk = Buffer.from(chunk(heartbeatText));

function connectionOnSocket(socket: Socket): StreamConnection {
  return {
    write: (text) => socket.write(chunk(text)),
    sendHeartbeat: () => socket.write(heartbeatChunk),
    end: (text) => void socket.end(chunk(text) + lastChunk),
    destroy: () => void socket.destroy(),
    isClosed: () => socket.destroyed,
    listen({ onDrain, onClose }) {
      socket.on('drain', onDrain);
      socket.once('close', onClose);
    },
  };
}

/** Of an answer that stays with the server. */
function connectionOnResponse(raw: ServerResponse): StreamConnection {
  return {
    write: (text) => raw.write(text),
    sendHeartbeat: () => raw.write(heartbeatText),
    end: (text) => void raw.end(text),
    destroy: () => void raw.destroy(),
    isClosed: () => raw.destroyed,
    listen({ onDrain, onClose }) {
      raw.on('drain', onDrain);
      raw.once('close', onClose);
    },
  };
}

/** Clients of HTTP/1.0 know no chunks: theirs ends with the connection, as the server has it. */
const canTakeOver = (raw: ServerResponseInternals): boolean =>
  raw.socket !== null && raw.req.httpVersion === '1.1' && typeof raw._last === 'boolean';

/**
 * Sends the head of an answer, ends the answer as far as the server knows, and keeps the connection:
 * everything that was made for the request can go. The client is told that the connection closes with
 * the stream: one that took it for reusable would lose its next request. Node detaches an answer from a
 * connection that stays, so it is told otherwise; that the chunks are written elsewhere is said by
 * `chunkedEncoding`.
 *
 * @example const line = await takeLine(reply.raw, { 'content-type': 'text/event-stream' });
 */
export function takeOverConnection(
  raw: ServerResponseInternals,
  headers: OutgoingHttpHeaders,
): Promise<StreamConnection> {
  const socket = raw.socket as ServerSocket | null;
  // Nobody is told any more of what is gone.
  if (raw.destroyed) return Promise.resolve(connectionOnResponse(raw));
  if (socket === null || !canTakeOver(raw)) {
    raw.writeHead(200, headers);
    return Promise.resolve(connectionOnResponse(raw));
  }
  const { promise, resolve } = Promise.withResolvers<StreamConnection>();
  const connection = connectionOnSocket(socket);
  raw.once('finish', () => {
    // A second request came behind the first: its answer would stand within the stream.
    if (socket._httpMessage !== null && socket._httpMessage !== undefined) socket.destroy();
    if (!socket.destroyed) detachParser(socket);
    resolve(connection);
  });
  raw.once('close', () => resolve(connection));
  const takeOverHeaders = { connection: 'close', 'transfer-encoding': 'chunked' };
  raw.writeHead(200, { ...headers, ...takeOverHeaders });
  raw._last = false;
  raw.chunkedEncoding = false;
  raw.end();
  return promise;
}
