/** Opens WebSockets, sends heartbeats and messages, and ends dead connections. */
import type { IncomingMessage } from 'node:http';
import { type ProblemBody, readProblemBody } from '@switchyard/contract';
import { WebSocket } from 'ws';
import type { Clock } from './clock.ts';
import { abortedFault, type CreateError, errorText } from './fault.ts';
import { parseRetryAfterMs, readText } from './http-client.ts';
import { type TlsSettings, tlsOptions } from './tls-options.ts';

/** Why a WebSocket ended. */
export type WebsocketClose = { readonly code: number; readonly reason: string };

export type WebsocketHandlers = {
  onMessage(data: Buffer, isBinary: boolean): void;
  /** Called once, after the socket was open. */
  onClose(end: WebsocketClose): void;
};

/** The HTTP response of a server that rejects the handshake. */
export type HandshakeRejection = {
  readonly status: number;
  readonly problem: ProblemBody;
  readonly retryAfterMs: number | undefined;
};

export type WebsocketErrors = {
  readonly createError: CreateError;
  createHandshakeError(rejection: HandshakeRejection): Error;
};

export type WebsocketOptions = {
  readonly url: string;
  readonly tls: TlsSettings;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  /** The limit of the handshake, and of the wait for the peer's close frame. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Whether an abort also closes a socket that is open. */
  readonly closesOnAbort?: boolean;
  /** Default: no heartbeats. */
  readonly heartbeatMs?: number;
  readonly errors: WebsocketErrors;
};

const normalClosure = 1000;
const missedPingsMax = 2;
const errorBodyBytesMax = 16_384;
/** The most bytes that may wait for a slow network; `sendOnWebsocket` then refuses more. */
const queuedBytesMax = 4_194_304;

/** If the body is incomplete or too long, it is ignored. */
async function readRejection(response: IncomingMessage): Promise<HandshakeRejection> {
  const { statusCode: status = 0, headers } = response;
  const problem = readProblemBody(await readText(response, errorBodyBytesMax).catch(() => ''));
  return { status, problem, retryAfterMs: parseRetryAfterMs(headers['retry-after']) };
}

/**
 * Closes the socket if the peer answers no pings, even if the operating system reports it as open.
 */
export async function sendHeartbeats(
  socket: WebSocket,
  { everyMs, clock, closed }: { everyMs: number; clock: Clock; closed: AbortSignal },
): Promise<void> {
  let missed = 0;
  const resetMissed = () => {
    missed = 0;
  };
  socket.on('pong', resetMissed).on('ping', resetMissed).on('message', resetMissed);
  for (;;) {
    await clock.wait(everyMs, closed);
    if (closed.aborted) return;
    if (missed >= missedPingsMax) {
      socket.terminate();
      return;
    }
    missed += 1;
    socket.ping();
  }
}

/** @throws an error of `errors` if no connection is made */
export function openWebsocket(
  target: WebsocketOptions,
  handlers: WebsocketHandlers,
): Promise<WebSocket> {
  const { url, tls, headers = {}, timeoutMs, clock, signal, heartbeatMs } = target;
  const { createError, createHandshakeError } = target.errors;
  return new Promise((resolve, reject) => {
    const rejectWith = (error: Error) =>
      reject(signal?.aborted === true ? createError(abortedFault) : error);
    if (signal?.aborted === true) {
      reject(createError(abortedFault));
      return;
    }
    const handshake = new AbortController();
    const closed = new AbortController();
    let isOpen = false;
    let rejection: IncomingMessage | undefined;
    const options = {
      ...tlsOptions(tls),
      headers,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: target.maxMessageBytes,
      // `ws` supports it from 8.19 on, but its types do not include it yet.
      closeTimeout: timeoutMs,
    };
    const socket = new WebSocket(url, options);
    const onAbort = () => {
      if (!isOpen) socket.terminate();
      else if (target.closesOnAbort === true) socket.close(normalClosure);
    };
    signal?.addEventListener('abort', onAbort, { signal: closed.signal });
    void clock.wait(timeoutMs, handshake.signal).then(() => {
      if (handshake.signal.aborted) return;
      if (rejection !== undefined) {
        rejection.destroy();
        return;
      }
      const message = 'the handshake did not arrive in time';
      reject(createError({ kind: 'NotSent', message, code: 'timeout', retryable: true }));
      socket.terminate();
    });
    socket.on('open', () => {
      isOpen = true;
      handshake.abort();
      if (heartbeatMs !== undefined) {
        void sendHeartbeats(socket, { everyMs: heartbeatMs, clock, closed: closed.signal });
      }
      resolve(socket);
    });
    socket.on('message', (data, isBinary) => handlers.onMessage(data as Buffer, isBinary));
    socket.on('unexpected-response', (request, response) => {
      rejection = response;
      void readRejection(response).then((read) => {
        rejectWith(createHandshakeError(read));
        request.destroy();
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      // The `close` event reports the fault of an open socket.
      if (isOpen || rejection !== undefined) return;
      const message = errorText(error);
      rejectWith(
        createError({
          kind: 'NotSent',
          message,
          code: 'unreachable',
          retryable: true,
          cause: error,
        }),
      );
    });
    socket.on('close', (code, reason) => {
      handshake.abort();
      closed.abort();
      if (isOpen) handlers.onClose({ code, reason: reason.toString('utf8') });
      else if (rejection === undefined) reject(createError(abortedFault));
    });
  });
}

/** @throws `NotSent` or `Invalid` if nothing was sent, else `Unknown` */
export async function sendOnWebsocket(
  socket: WebSocket | undefined,
  data: string | Uint8Array,
  { maxBytes, createError }: { maxBytes: number; createError: CreateError },
): Promise<void> {
  if (socket === undefined || socket.readyState !== socket.OPEN) {
    const message = 'the WebSocket is not connected';
    throw createError({ kind: 'NotSent', message, code: 'not_connected' });
  }
  const length = Buffer.byteLength(data);
  if (length > maxBytes) {
    const message = `the message has ${length} bytes; the limit is ${maxBytes}`;
    throw createError({ kind: 'Invalid', message, code: 'message_too_large' });
  }
  if (socket.bufferedAmount + length > queuedBytesMax) {
    const message = 'the connection is too slow: its send buffer is full';
    throw createError({ kind: 'NotSent', message, code: 'slow_connection', retryable: true });
  }
  await new Promise<void>((resolve, reject) => {
    socket.send(data, { binary: typeof data !== 'string' }, (error) => {
      if (!(error instanceof Error)) resolve();
      else {
        const message = errorText(error);
        reject(createError({ kind: 'Unknown', message, code: 'connection_lost' }));
      }
    });
  });
}
