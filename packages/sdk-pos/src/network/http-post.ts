/** One POST over HTTPS that reports whether the server may have received the request. */

import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { defined } from '@switchyard/contract';
import type { Clock } from '../support/clock.ts';
import { aborted, late, PosError, textOf } from '../support/pos-error.ts';

/**
 * The TLS settings of a connection.
 *
 * - `ca`: the certificate authority, if Node does not know it
 * - `servername`: the name in the certificate, if it differs from the address
 * - `cert` and `key`: the till's own certificate, if the server requires one
 *
 * @example
 * const tls: PosTls = { ca: readFileSync('ca.pem') };
 * const shown: PosTls = { ...tls, cert: readFileSync('till.pem'), key: readFileSync('till.key') };
 */
export type PosTls = {
  readonly ca?: string | Buffer | undefined;
  readonly servername?: string | undefined;
  /** The till's certificate, with `key`, for a terminal that requires a client certificate. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
};

type TlsOptions = { minVersion: 'TLSv1.2' } & {
  [Name in keyof PosTls]?: NonNullable<PosTls[Name]>;
};

/** Requires TLS 1.2 or later. */
export function tlsOptions({ ca, servername, cert, key }: PosTls): TlsOptions {
  return {
    minVersion: 'TLSv1.2',
    ...defined({ ca, cert, key, servername }),
  };
}

export type Post = {
  readonly url: string;
  readonly tls: PosTls;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
  /** Aborts the request if no connection is open by then. */
  readonly connecting?: { readonly mostMs: number; readonly clock: Clock };
  /** The caller can pass its own object to read `isConnected`. */
  readonly progress?: Progress;
};

export type HttpAnswer = {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
};

const secondMs = 1000;
const secondsForm = /^\d{1,6}$/;

export async function textIn(answer: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export const retryAfterOf = (header: string | undefined): number | undefined =>
  header !== undefined && secondsForm.test(header) ? Number(header) * secondMs : undefined;

/**
 * Whether a connection was open, so that the server may have read the request. The error code does
 * not say this: a network that fails later gives the same code.
 */
export type Progress = { isConnected: boolean };

function faultOf(error: unknown, { isConnected }: Progress, signal: AbortSignal): PosError {
  const outcome = isConnected ? 'Unknown' : 'NotProcessed';
  if (signal.aborted) {
    const stopped = aborted();
    return new PosError('Aborted', stopped.message, { code: stopped.code, outcome });
  }
  if (error instanceof PosError) return error;
  return new PosError('Transport', textOf(error), {
    code: 'unreachable',
    outcome,
    retryable: true,
    cause: error,
  });
}

/** `over` aborts when the connection is open or the request has ended. */
async function limitConnecting(
  request: ClientRequest,
  { mostMs, clock }: NonNullable<Post['connecting']>,
  over: AbortSignal,
): Promise<void> {
  await clock.wait(mostMs, over);
  if (!over.aborted) request.destroy(late('the connection'));
}

/** @throws PosError with outcome `Unknown` if the server may have read the request */
export async function post(wanted: Post): Promise<HttpAnswer> {
  const { url, tls, headers, body, bytesMax, signal, connecting } = wanted;
  const progress = wanted.progress ?? { isConnected: false };
  const connected = new AbortController();
  const isPlain = url.startsWith('http:');
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
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
      status: answer.statusCode ?? 0,
      body: await textIn(answer, bytesMax),
      retryAfterMs: retryAfterOf(answer.headers['retry-after']),
    };
  } catch (error) {
    throw faultOf(error, progress, signal);
  }
}
