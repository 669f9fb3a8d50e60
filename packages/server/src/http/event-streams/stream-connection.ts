// The connection of an open stream, taken over from the HTTP server, so that waiting keeps no parser, request or reply in memory.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { heartbeatText } from './event-format.ts';

export type StreamConnection = {
  /** False when the client has not read the earlier data. */
  write(text: string): boolean;
  /** Its bytes are created once, since thousands of idle streams write nothing else. */
  sendHeartbeat(): boolean;
  /** Writes the last data, and closes when it is sent. */
  end(text: string): void;
  destroy(): void;
  isClosed(): boolean;
  /** `onDrain` when all written data is sent, `onClose` when the connection has closed. */
  listen(listeners: { onDrain(): void; onClose(): void }): void;
};

/** Node's HTTP parser of a connection; not part of its documented interface. */
type Parser = { unconsume(): void; remove(): void; close(): void };
type ServerSocket = Socket & { parser?: Parser | null; _httpMessage?: unknown };
/** `_last`: whether the server closes the connection after the response. */
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

/** The server reads no more requests from the socket and ignores further data. */
function detachParser(socket: ServerSocket): void {
  const { parser } = socket;
  // First: with another data listener, the parser no longer reads the socket directly.
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
  // The parser may be running now.
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

/** The connection of a response that stays with the HTTP server. */
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

/** HTTP/1.0 has no chunked encoding, so such a response stays with the server. */
const canTakeOver = (raw: ServerResponseInternals): boolean =>
  raw.socket !== null && raw.req.httpVersion === '1.1' && typeof raw._last === 'boolean';

/**
 * Sends the headers, ends the response for the HTTP server, and keeps the connection, so that the memory
 * of the request is freed. `Connection: close` prevents that the client sends another request. `_last` is
 * false so that Node keeps the connection open, and `chunkedEncoding` is false because this file writes
 * the chunks.
 *
 * @example const connection = await takeOverConnection(reply.raw, { 'content-type': 'text/event-stream' });
 */
export function takeOverConnection(
  raw: ServerResponseInternals,
  headers: OutgoingHttpHeaders,
): Promise<StreamConnection> {
  const socket = raw.socket as ServerSocket | null;
  // A destroyed response emits no further events.
  if (raw.destroyed) return Promise.resolve(connectionOnResponse(raw));
  if (socket === null || !canTakeOver(raw)) {
    raw.writeHead(200, headers);
    return Promise.resolve(connectionOnResponse(raw));
  }
  const { promise, resolve } = Promise.withResolvers<StreamConnection>();
  const connection = connectionOnSocket(socket);
  raw.once('finish', () => {
    // A pipelined second request would write its response into the stream.
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
