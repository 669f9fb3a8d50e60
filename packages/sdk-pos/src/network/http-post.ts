/** Sends one POST over HTTPS and reports whether the server may have received it. */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import {
  type Clock,
  errorText,
  parseRetryAfterMs,
  readText,
  tlsOptions,
} from '@switchyard/sdk-core';
import { abortedError, PosError, timeoutError } from '../support/pos-error.ts';

/**
 * The TLS settings of a connection.
 *
 * - `ca`: the certificate authority, if Node does not know it
 * - `servername`: the name in the certificate, if it differs from the address
 * - `cert` and `key`: the till's own certificate, if the server requires one
 *
 * @example
 * const tls: PosTls = { ca: readFileSync('ca.pem') };
 * const withCertificate: PosTls = { ...tls, cert: readFileSync('till.pem'), key: readFileSync('till.key') };
 */
export type PosTls = {
  readonly ca?: string | Buffer | undefined;
  readonly servername?: string | undefined;
  /** The till's certificate, with `key`, for a terminal that requires a client certificate. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
};

export type PostRequest = {
  readonly url: string;
  readonly tls: PosTls;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  /** Aborts the request if no connection is open by then. */
  readonly connectLimit?: { readonly mostMs: number; readonly clock: Clock };
  /** The caller can pass its own object to read `isConnected`. */
  readonly progress?: ConnectProgress;
};

export type HttpResponse = {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
};

/**
 * Whether a connection was open, so that the server may have read the request. The error code does
 * not say this: a network that fails later gives the same code.
 */
export type ConnectProgress = { isConnected: boolean };

function toPosError(
  error: unknown,
  { isConnected }: ConnectProgress,
  signal: AbortSignal,
): PosError {
  const outcome = isConnected ? 'Unknown' : 'NotProcessed';
  if (signal.aborted) {
    const abortError = abortedError();
    return new PosError('Aborted', abortError.message, { code: abortError.code, outcome });
  }
  if (error instanceof PosError) return error;
  return new PosError('Transport', errorText(error), {
    code: 'unreachable',
    outcome,
    retryable: true,
    cause: error,
  });
}

/** `over` aborts when the connection is open or the request has ended. */
async function limitConnecting(
  request: ClientRequest,
  { mostMs, clock }: NonNullable<PostRequest['connectLimit']>,
  connected: AbortSignal,
): Promise<void> {
  await clock.wait(mostMs, connected);
  if (!connected.aborted) request.destroy(timeoutError('the connection'));
}

/** @throws PosError with outcome `Unknown` if the server may have read the request */
export async function post(postRequest: PostRequest): Promise<HttpResponse> {
  const { url, tls, headers, body, bytesMax, signal, connectLimit: connecting } = postRequest;
  const progress = postRequest.progress ?? { isConnected: false };
  const connected = new AbortController();
  const isPlain = url.startsWith('http:');
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = isPlain ? plainRequest : tlsRequest;
      const request = send(
        url,
        {
          method: 'POST',
          agent: false,
          signal,
          ...(isPlain ? {} : tlsOptions(tls)),
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        resolve,
      );
      request.on('socket', (socket) => {
        socket.once(isPlain ? 'connect' : 'secureConnect', () => {
          progress.isConnected = true;
          connected.abort();
        });
      });
      request.on('close', () => connected.abort());
      if (connecting !== undefined) void limitConnecting(request, connecting, connected.signal);
      request.on('error', reject);
      request.end(body);
    });
    return {
      status: response.statusCode ?? 0,
      body: await readText(response, bytesMax),
      retryAfterMs: parseRetryAfterMs(response.headers['retry-after']),
    };
  } catch (error) {
    throw toPosError(error, progress, signal);
  }
}
