/** Refuses a request whose body is not read: the connection closes once the client has the response. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The client reads the response within this time. */
const closeDelayMs = 1_000;

function hasMore({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
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

/** Call before the head of the response is written. */
export function leaveBodyUnread(request: IncomingMessage, response: ServerResponse): void {
  if (!hasMore(request)) return;
  const { socket } = request;
  response.shouldKeepAlive = false;
  socket.destroySoon = () => closeUnread(socket);
}
