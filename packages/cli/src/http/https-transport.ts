/** Sends HTTPS requests with limits of time and size, and checks the certificate. */

import { type IncomingMessage, Agent as PlainAgent, request as sendPlain } from 'node:http';
import { Agent, request as sendSecure } from 'node:https';
import { defined } from '@switchyard/contract';
import { CommandError, fail } from '../runtime/command-error.ts';

export type HttpRequest = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The longest time without data; by default the timeout of the response. */
  readonly idleTimeoutMs?: number;
};

export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
};

export type StreamedResponse = Omit<HttpResponse, 'body'> & { readonly stream: IncomingMessage };

export type Transport = {
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Returns the body as a stream of any size; it ends if no data comes for the idle timeout. */
  open(request: HttpRequest): Promise<StreamedResponse>;
  close(): void;
};

export type TransportOptions = {
  readonly ca?: string | undefined;
  /** The certificate and key for mutual TLS, as PEM. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string } | undefined;
  readonly timeoutMs: number;
};

const answerMaxBytes = 64 * 1024 * 1024;
const socketsMax = 32;
const loopbackHost = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

const certificateErrors: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'comes from an authority that this machine does not trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'comes from an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT: 'comes from an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'comes from an authority that this machine does not trust',
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'belongs to another host',
};

const networkErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be resolved',
  ECONNRESET: 'the connection was closed',
  EPIPE: 'the connection was closed',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it did not answer in time',
};

/** `wasSent`: the server may have processed the request. */
export class UnreachableError extends CommandError {
  readonly wasSent: boolean;

  constructor(message: string, wasSent: boolean, more: readonly string[] = []) {
    super('unreachable', message, { more });
    this.wasSent = wasSent;
  }
}

function toUnreachableError({ host }: URL, error: Error & { code?: string }): UnreachableError {
  const { code = '', message } = error;
  const certificate = certificateErrors[code];
  if (certificate !== undefined) {
    return new UnreachableError(`The certificate of ${host} ${certificate}.`, false, [
      'Sign in again with --ca-file and the certificate of its certificate authority.',
    ]);
  }
  const wasSent = !['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].includes(code);
  return new UnreachableError(
    `${host} could not be reached: ${networkErrors[code] ?? message}.`,
    wasSent,
  );
}

const timeoutError = (url: URL, timeoutMs: number): UnreachableError =>
  new UnreachableError(`${url.host} did not answer within ${timeoutMs / 1000} s.`, true);

async function readBody(stream: IncomingMessage, url: URL): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of stream as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > answerMaxBytes) {
      stream.destroy();
      fail('fault', `The answer of ${url.host} is larger than ${answerMaxBytes >> 20} MiB.`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Plain HTTP is allowed on loopback only: it would expose the token. */
export function requireSecureUrl(url: URL): void {
  if (url.protocol === 'https:') return;
  if (url.protocol === 'http:' && loopbackHost.test(url.hostname)) return;
  fail(
    'usage',
    `${url.origin} is not an https address. Use https; http is allowed on this machine only.`,
  );
}

/** @example const transport = createTransport({ ca, timeoutMs: 30_000 }); */
export function createTransport({ ca, clientCertificate, timeoutMs }: TransportOptions): Transport {
  const secure = new Agent({
    keepAlive: true,
    maxSockets: socketsMax,
    ...defined({ ca }),
    ...clientCertificate,
  });
  const plain = new PlainAgent({ keepAlive: true, maxSockets: socketsMax });

  function open(request: HttpRequest): Promise<StreamedResponse> {
    const { method, url, headers, body, idleTimeoutMs = timeoutMs } = request;
    requireSecureUrl(url);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = { method, headers: { ...headers, ...length } };
    return new Promise((resolve, reject) => {
      const sent =
        url.protocol === 'https:'
          ? sendSecure(url, { ...options, agent: secure })
          : sendPlain(url, { ...options, agent: plain });
      const timer = setTimeout(() => sent.destroy(timeoutError(url, timeoutMs)), timeoutMs);
      sent.on('response', (stream) => {
        clearTimeout(timer);
        stream.setTimeout(idleTimeoutMs, () => stream.destroy(timeoutError(url, idleTimeoutMs)));
        resolve({ status: stream.statusCode ?? 0, headers: stream.headers, stream });
      });
      sent.on('error', (error) => {
        clearTimeout(timer);
        reject(error instanceof CommandError ? error : toUnreachableError(url, error));
      });
      sent.end(body);
    });
  }

  return {
    open,
    async send(request) {
      const { stream, ...head } = await open(request);
      // A response that arrives byte by byte is never idle: the whole response has a limit too.
      const timer = setTimeout(
        () => stream.destroy(timeoutError(request.url, timeoutMs)),
        timeoutMs,
      );
      try {
        return { ...head, body: await readBody(stream, request.url) };
      } catch (error) {
        throw error instanceof CommandError
          ? error
          : toUnreachableError(request.url, error as Error);
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      secure.destroy();
      plain.destroy();
    },
  };
}
