/** Opens a WebSocket, sends heartbeats, and converts failures to errors of this package. */
import type { IncomingMessage } from 'node:http';
import { connectorLimits, problemText, readProblemBody } from '@switchyard/contract';
import { WebSocket } from 'ws';
import type { Clock } from '../support/clock.ts';
import { abortedError, PosError, timeoutError, unreachableError } from '../support/pos-error.ts';
import { type PosTls, parseRetryAfter, readText, tlsOptions } from './http-post.ts';
import type { WebsocketClose } from './websocket-close.ts';

export type WebsocketHandlers = {
  onMessage(data: Buffer, isBinary: boolean): void;
  /** Called once, after the socket was open. */
  onClose(end: WebsocketClose): void;
};

export type WebsocketOptions = {
  readonly url: string;
  readonly tls: PosTls;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
};

const secondMs = 1000;
const missedPingsMax = 2;
const unauthorizedStatus = 401;
const goneStatuses = new Set([404, 410]);
const lastStatusOfClient = 499;
const errorBodyBytesMax = 16_384;
const temporaryStatuses = new Set([401, 404, 408, 410, 425, 429]);

const statusErrorCode = (status: number): string => {
  if (status === unauthorizedStatus) return 'unauthorized';
  return goneStatuses.has(status) ? 'session_gone' : `http_${status}`;
};

/**
 * Reads an HTTP response to a handshake. If the body is incomplete or too long, it uses the status.
 */
async function handshakeError(response: IncomingMessage): Promise<PosError> {
  const { statusCode: status = 0, headers } = response;
  const problem = readProblemBody(await readText(response, errorBodyBytesMax).catch(() => ''));
  return new PosError(
    'Transport',
    `the handshake was answered with ${problemText(status, problem)}`,
    {
      code: problem.code ?? statusErrorCode(status),
      status,
      retryable: status > lastStatusOfClient || temporaryStatuses.has(status),
      retryAfterMs: parseRetryAfter(headers['retry-after']),
    },
  );
}

/**
 * Closes the socket if the peer answers no pings, even if the operating system reports it as open.
 */
async function sendHeartbeats(socket: WebSocket, clock: Clock, closed: AbortSignal): Promise<void> {
  let missed = 0;
  const resetMissed = () => {
    missed = 0;
  };
  socket.on('pong', resetMissed);
  socket.on('ping', resetMissed);
  socket.on('message', resetMissed);
  for (;;) {
    await clock.wait(connectorLimits.heartbeatSeconds * secondMs, closed);
    if (closed.aborted) return;
    if (missed >= missedPingsMax) {
      socket.terminate();
      return;
    }
    missed += 1;
    socket.ping();
  }
}

/** @throws PosError if no connection is made */
export function openWebsocket(
  target: WebsocketOptions,
  handlers: WebsocketHandlers,
): Promise<WebSocket> {
  const { url, tls, headers = {}, signal, clock } = target;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(abortedError());
      return;
    }
    const closedController = new AbortController();
    let isOpen = false;
    let rejectedResponse: IncomingMessage | undefined;
    const options = {
      ...tlsOptions(tls),
      headers,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: target.maxMessageBytes,
      // `ws` supports it from 8.19 on, but its types do not include it yet.
      closeTimeout: target.timeoutMs,
    };
    const socket = new WebSocket(url, options);
    const stop = () => {
      if (!isOpen) socket.terminate();
    };
    signal?.addEventListener('abort', stop);
    void clock.wait(target.timeoutMs, closedController.signal).then(() => {
      if (isOpen || closedController.signal.aborted) return;
      if (rejectedResponse !== undefined) {
        rejectedResponse.destroy();
        return;
      }
      reject(timeoutError('the handshake'));
      socket.terminate();
    });
    socket.on('open', () => {
      isOpen = true;
      signal?.removeEventListener('abort', stop);
      void sendHeartbeats(socket, clock, closedController.signal);
      resolve(socket);
    });
    socket.on('message', (data, isBinary) => handlers.onMessage(data as Buffer, isBinary));
    socket.on('unexpected-response', (request, response) => {
      rejectedResponse = response;
      void handshakeError(response).then((error) => {
        reject(signal?.aborted === true ? abortedError() : error);
        request.destroy();
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      // The `close` event reports the fault of an open socket.
      if (!isOpen && rejectedResponse === undefined)
        reject(signal?.aborted === true ? abortedError() : unreachableError(error));
    });
    socket.on('close', (code, reason) => {
      closedController.abort();
      signal?.removeEventListener('abort', stop);
      if (isOpen) handlers.onClose({ code, reason: reason.toString('utf8') });
      else if (rejectedResponse === undefined) reject(abortedError());
    });
  });
}
