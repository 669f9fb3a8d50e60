/** Opens a WebSocket and converts failures to errors of this package. */
import type { IncomingMessage } from 'node:http';
import { problemText, readProblemBody } from '@switchyard/contract';
import { WebSocket } from 'ws';
import { abortedError, DeviceError, errorText } from '../support/device-error.ts';
import { readText } from './http-client.ts';
import { type DeviceTls, tlsOptions } from './tls-settings.ts';
import type { WebsocketClose } from './websocket-close.ts';

export type WebsocketHandlers = {
  onMessage(data: Buffer, isBinary: boolean): void;
  /** Called for every message, ping and pong. */
  onActivity(): void;
  /** Called once, after the socket was open. */
  onClose(end: WebsocketClose): void;
};

export type WebsocketOptions = {
  readonly url: string;
  readonly tls: DeviceTls;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

const secondsForm = /^\d{1,6}$/;
const secondMs = 1000;
const normalClosure = 1000;
const lastStatusOfClient = 499;
const errorBodyBytesMax = 16_384;
/** Temporary statuses: a new registration can succeed, although the same request would not. */
const temporaryStatuses = new Set([404, 408, 410, 421, 425, 429]);

/**
 * Reads an HTTP response to a handshake. A 4xx is permanent, except for temporary statuses. If the
 * body is incomplete, too long or late, it uses only the status.
 */
async function handshakeError(response: IncomingMessage, timeoutMs: number): Promise<DeviceError> {
  const { statusCode: status = 0, headers } = response;
  const limit = setTimeout(() => response.destroy(), timeoutMs);
  const problem = readProblemBody(await readText(response, errorBodyBytesMax).catch(() => ''));
  clearTimeout(limit);
  const retryAfter = headers['retry-after'];
  const message = `the handshake was answered with ${problemText(status, problem)}`;
  return new DeviceError('Refused', message, {
    code: problem.code ?? `http_${status}`,
    status,
    retryable: status > lastStatusOfClient || temporaryStatuses.has(status),
    ...(retryAfter !== undefined && secondsForm.test(retryAfter)
      ? { retryAfterMs: Number(retryAfter) * secondMs }
      : {}),
  });
}

/** @throws DeviceError */
export function openWebsocket(
  target: WebsocketOptions,
  handlers: WebsocketHandlers,
): Promise<WebSocket> {
  const { url, tls, headers = {}, signal } = target;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(abortedError());
      return;
    }
    let isOpen = false;
    let isRefused = false;
    const options = {
      ...tlsOptions(tls),
      headers,
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: target.maxMessageBytes,
      handshakeTimeout: target.timeoutMs,
      // `ws` supports it from 8.19 on, but its types do not include it yet.
      closeTimeout: target.timeoutMs,
    };
    const socket = new WebSocket(url, options);
    // An open socket closes with a close frame; `closeTimeout` ends the wait for a peer that is
    // gone.
    const onAbort = () => (isOpen ? socket.close(normalClosure) : socket.terminate());
    signal.addEventListener('abort', onAbort);
    socket.on('message', (data, isBinary) => {
      handlers.onActivity();
      handlers.onMessage(data as Buffer, isBinary);
    });
    socket.on('ping', () => handlers.onActivity());
    socket.on('pong', () => handlers.onActivity());
    socket.on('open', () => {
      isOpen = true;
      resolve(socket);
    });
    socket.on('unexpected-response', (_request, response) => {
      isRefused = true;
      void handshakeError(response, target.timeoutMs).then((error) => {
        reject(signal.aborted ? abortedError() : error);
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      // The `close` event reports the fault of an open socket.
      if (isOpen || isRefused) return;
      reject(
        signal.aborted
          ? abortedError()
          : new DeviceError('NotSent', errorText(error), {
              code: 'unreachable',
              retryable: true,
              cause: error,
            }),
      );
    });
    socket.on('close', (code, reason) => {
      signal.removeEventListener('abort', onAbort);
      if (isOpen) handlers.onClose({ code, reason: reason.toString('utf8') });
      else if (!isRefused) reject(abortedError());
    });
  });
}
