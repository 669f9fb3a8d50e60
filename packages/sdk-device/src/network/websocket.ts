/** Opens a WebSocket and converts failures to errors of this package. */
import type { IncomingMessage } from 'node:http';
import { problemText, readProblemBody } from '@switchyard/contract';
import { WebSocket } from 'ws';
import { aborted, DeviceError, textOf } from '../support/device-error.ts';
import { textIn } from './http-client.ts';
import { type DeviceTls, tlsOptions } from './tls-settings.ts';
import type { SocketEnd } from './websocket-close.ts';

export type SocketEvents = {
  message(data: Buffer, isBinary: boolean): void;
  /** Called for every message, ping and pong. */
  alive(): void;
  /** Called once, after the socket was open. */
  closed(end: SocketEnd): void;
};

export type SocketTarget = {
  readonly url: string;
  readonly tls: DeviceTls;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

const secondsForm = /^\d{1,6}$/;
const secondMs = 1000;
const orderly = 1000;
const lastStatusOfClient = 499;
const refusalBytesMax = 16_384;
/** Temporary statuses: a new registration can succeed, although the same request would not. */
const passing = new Set([404, 408, 410, 421, 425, 429]);

/**
 * Reads an HTTP response to a handshake. A 4xx is permanent, except for temporary statuses. If the
 * body is incomplete, too long or late, it uses only the status.
 */
async function refusalOf(response: IncomingMessage, timeoutMs: number): Promise<DeviceError> {
  const { statusCode: status = 0, headers } = response;
  const limit = setTimeout(() => response.destroy(), timeoutMs);
  const refusal = readProblemBody(await textIn(response, refusalBytesMax).catch(() => ''));
  clearTimeout(limit);
  const after = headers['retry-after'];
  const message = `the handshake was answered with ${problemText(status, refusal)}`;
  return new DeviceError('Refused', message, {
    code: refusal.code ?? `http_${status}`,
    status,
    retryable: status > lastStatusOfClient || passing.has(status),
    ...(after !== undefined && secondsForm.test(after)
      ? { retryAfterMs: Number(after) * secondMs }
      : {}),
  });
}

/** @throws DeviceError */
export function openSocket(target: SocketTarget, events: SocketEvents): Promise<WebSocket> {
  const { url, tls, headers = {}, signal } = target;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(aborted());
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
    const onAbort = () => (isOpen ? socket.close(orderly) : socket.terminate());
    signal.addEventListener('abort', onAbort);
    socket.on('message', (data, isBinary) => {
      events.alive();
      events.message(data as Buffer, isBinary);
    });
    socket.on('ping', () => events.alive());
    socket.on('pong', () => events.alive());
    socket.on('open', () => {
      isOpen = true;
      resolve(socket);
    });
    socket.on('unexpected-response', (_request, response) => {
      isRefused = true;
      void refusalOf(response, target.timeoutMs).then((refusal) => {
        reject(signal.aborted ? aborted() : refusal);
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      // The `close` event reports the fault of an open socket.
      if (isOpen || isRefused) return;
      reject(
        signal.aborted
          ? aborted()
          : new DeviceError('NotSent', textOf(error), {
              code: 'unreachable',
              retryable: true,
              cause: error,
            }),
      );
    });
    socket.on('close', (code, reason) => {
      signal.removeEventListener('abort', onAbort);
      if (isOpen) events.closed({ code, reason: reason.toString('utf8') });
      else if (!isRefused) reject(aborted());
    });
  });
}
