// Limits incomplete request bodies: slow ones, and those still unread after the response.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A body of at most this declared length is read after the response, so that the connection stays usable. */
export const unreadBodyLimitBytes = 65_536;
/** A longer request body may continue while it brings this number of bytes in each period. */
export const bytesPerPeriod = 1_048_576;
/** The client reads the response within this time; the connection is destroyed afterwards. */
const closeDelayMs = 1_000;

function declaredLength({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

/** Ends the response side first: a reset at once could remove the response from the client's buffer. */
function closeUnread(socket: Socket): void {
  socket.end();
  const stopReading = () => socket.pause();
  // Node resumes the socket in this turn, to discard the body.
  setImmediate(() => {
    stopReading();
    socket.on('resume', stopReading);
  });
  const timer = setTimeout(() => socket.destroy(), closeDelayMs);
  socket.once('close', () => clearTimeout(timer));
}

function requestTimeoutError(): Error {
  const error = new Error('the request did not arrive in time');
  return Object.assign(error, { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

function limitRequest(
  server: Server,
  periodMs: number,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const length = declaredLength(request);
  if (length === 0) return;
  const { socket } = request;
  let bytesBefore = socket.bytesRead;
  let waitedForReader = false;
  let timer = setTimeout(check, periodMs);
  function check(): void {
    if (request.complete) return;
    const bytes = socket.bytesRead - bytesBefore;
    const waitsForReader = request.readableLength >= request.readableHighWaterMark;
    // After a wait the client has a whole period again: it could not send before.
    if (waitsForReader || waitedForReader || bytes >= bytesPerPeriod) {
      waitedForReader = waitsForReader;
      bytesBefore = socket.bytesRead;
      timer = setTimeout(check, periodMs);
    } else if (response.headersSent) socket.destroy();
    else server.emit('clientError', requestTimeoutError(), socket);
  }
  request.once('close', () => clearTimeout(timer));
  const { writeHead } = response;
  function writeLastHead(...head: Parameters<typeof writeHead>): ServerResponse {
    if (!request.complete && length > unreadBodyLimitBytes) {
      // Sends `Connection: close`, so that the client does not use the connection again.
      response.shouldKeepAlive = false;
      socket.destroySoon = () => {
        clearTimeout(timer);
        closeUnread(socket);
      };
    }
    return writeHead.apply(response, head);
  }
  response.writeHead = writeLastHead as typeof writeHead;
}

/**
 * Node's own `requestTimeout` has one limit for short and long bodies, so it is switched off.
 *
 * @example server.on('request', limitIncompleteRequests(server, 15_000));
 */
export function limitIncompleteRequests(server: Server, periodMs: number): RequestListener {
  return (request, response) => limitRequest(server, periodMs, request, response);
}
