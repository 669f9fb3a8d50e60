/** One POST over HTTPS: it is told apart whether the request can have arrived. */
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { aborted, PosError, textOf } from './errors.ts';

/**
 * TLS of a connection: the authority that is believed, where it is none that Node knows, and the name
 * in the certificate, where it is not the one in the address.
 *
 * @example
 * const tls: PosTls = { ca: readFileSync('ca.pem') };
 */
export type PosTls = {
  readonly ca?: string | Buffer | undefined;
  readonly servername?: string | undefined;
};

type TlsOptions = { minVersion: 'TLSv1.2'; ca?: string | Buffer; servername?: string };

/** Nothing before TLS 1.2. */
export function tlsOptions({ ca, servername }: PosTls): TlsOptions {
  return {
    minVersion: 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
    ...(servername === undefined ? {} : { servername }),
  };
}

export type Post = {
  readonly url: string;
  readonly tls: PosTls;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
};

export type HttpAnswer = {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | undefined;
};

const secondMs = 1000;
const secondsForm = /^\d{1,6}$/;
/** No byte of a request has left when one of these ends it. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
]);

async function textIn(answer: IncomingMessage, bytesMax: number): Promise<string> {
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

/** Whether a connection stood, so that the request may have been read. */
type Progress = { isConnected: boolean };

function faultOf(error: unknown, { isConnected }: Progress, signal: AbortSignal): PosError {
  const { code = '' } = error as { code?: string };
  const outcome = isConnected && !beforeSending.has(code) ? 'Unknown' : 'NotProcessed';
  if (signal.aborted) {
    const stopped = aborted();
    return new PosError('Aborted', stopped.message, { code: stopped.code, outcome });
  }
  return new PosError('Transport', textOf(error), {
    code: 'unreachable',
    outcome,
    retryable: true,
    cause: error,
  });
}

/** @throws PosError, whose outcome is `Unknown` where the request may have been read */
export async function post(wanted: Post): Promise<HttpAnswer> {
  const { url, tls, headers, body, bytesMax, signal } = wanted;
  const progress: Progress = { isConnected: false };
  const isPlain = url.startsWith('http:');
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = isPlain ? plainRequest : tlsRequest;
      const request = send(
        url,
        {
          ...{ method: 'POST', agent: false, signal },
          ...(isPlain ? {} : tlsOptions(tls)),
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        resolve,
      );
      request.on('socket', (socket) => {
        socket.once(isPlain ? 'connect' : 'secureConnect', () => {
          progress.isConnected = true;
        });
      });
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
