/** Opens a WebSocket, sends heartbeats, and converts failures to errors of this package. */
import type { IncomingMessage } from 'node:http';
import { connectorLimits, problemText, readProblemBody } from '@switchyard/contract';
import { WebSocket } from 'ws';
import type { Clock } from '../support/clock.ts';
import { aborted, late, PosError, unreachable } from '../support/pos-error.ts';
import { type PosTls, retryAfterOf, textIn, tlsOptions } from './http-post.ts';
import type { SocketEnd } from './websocket-close.ts';

export type SocketEvents = {
  message(data: Buffer, isBinary: boolean): void;
  /** Called once, after the socket was open. */
  closed(end: SocketEnd): void;
};

export type SocketTarget = {
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
const refusalBytesMax = 16_384;
const passing = new Set([401, 404, 408, 410, 425, 429]);

const codeOfStatus = (status: number): string => {
  if (status === unauthorizedStatus) return 'unauthorized';
  return goneStatuses.has(status) ? 'session_gone' : `http_${status}`;
};

/**
 * Reads an HTTP response to a handshake. If the body is incomplete or too long, it uses the status.
 */
async function refusalOf(response: IncomingMessage): Promise<PosError> {
  const { statusCode: status = 0, headers } = response;
  const refusal = readProblemBody(await textIn(response, refusalBytesMax).catch(() => ''));
  return new PosError(
    'Transport',
    `the handshake was answered with ${problemText(status, refusal)}`,
    {
      code: refusal.code ?? codeOfStatus(status),
      status,
      retryable: status > lastStatusOfClient || passing.has(status),
      retryAfterMs: retryAfterOf(headers['retry-after']),
    },
  );
}

/**
 * Closes the socket if the peer answers no pings, even if the operating system reports it as open.
 */
async function beat(socket: WebSocket, clock: Clock, over: AbortSignal): Promise<void> {
  let missed = 0;
  const alive = () => {
    missed = 0;
  };
  socket.on('pong', alive);
  socket.on('ping', alive);
  socket.on('message', alive);
  for (;;) {
    await clock.wait(connectorLimits.heartbeatSeconds * secondMs, over);
    if (over.aborted) return;
    if (missed >= missedPingsMax) {
      socket.terminate();
      return;
    }
    missed += 1;
    socket.ping();
  }
}

/** @throws PosError if no connection is made */
export function openSocket(target: SocketTarget, events: SocketEvents): Promise<WebSocket> {
  const { url, tls, headers = {}, signal, clock } = target;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(aborted());
      return;
    }
    const over = new AbortController();
    let isOpen = false;
    let refused: IncomingMessage | undefined;
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
    void clock.wait(target.timeoutMs, over.signal).then(() => {
      if (isOpen || over.signal.aborted) return;
      if (refused !== undefined) {
        refused.destroy();
        return;
      }
      reject(late('the handshake'));
      socket.terminate();
    });
    socket.on('open', () => {
      isOpen = true;
      signal?.removeEventListener('abort', stop);
      void beat(socket, clock, over.signal);
      resolve(socket);
    });
    socket.on('message', (data, isBinary) => events.message(data as Buffer, isBinary));
    socket.on('unexpected-response', (request, response) => {
      refused = response;
      void refusalOf(response).then((refusal) => {
        reject(signal?.aborted === true ? aborted() : refusal);
        request.destroy();
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      // The `close` event reports the fault of an open socket.
      if (!isOpen && refused === undefined)
        reject(signal?.aborted === true ? aborted() : unreachable(error));
    });
    socket.on('close', (code, reason) => {
      over.abort();
      signal?.removeEventListener('abort', stop);
      if (isOpen) events.closed({ code, reason: reason.toString('utf8') });
      else if (refused === undefined) reject(aborted());
    });
  });
}
