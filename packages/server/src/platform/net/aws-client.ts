// Calls one AWS service with signed requests over persistent connections, and returns errors as values.
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { defined } from '@switchyard/contract';
import type { Clock } from '../time/clock.ts';
import { type AwsCredentials, signAwsRequest } from './aws-signature.ts';
import { onConnectionOpened } from './on-connection-opened.ts';

const maxResponseBytes = 262_144;
const idleMs = 20_000;

export type AwsClientOptions = {
  readonly service: string;
  readonly region: string;
  /** The URL of the service. Plain http is for tests on this machine. */
  readonly endpoint: string;
  readonly credentials: AwsCredentials;
  readonly clock: Clock;
  /** For one call, including the wait for a connection. */
  readonly timeoutMs: number;
  readonly connections: number;
  /** Certificate authorities to trust besides those of the machine, PEM. */
  readonly ca?: string;
};

export type AwsCall = {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
};

type Json = Readonly<Record<string, unknown>>;

/**
 * `exceptionName`: the exception that the service returned. `failure`: no usable response, so it is
 * unknown whether the service acted.
 */
export type AwsResult =
  | { readonly response: Json; readonly exceptionName?: undefined; readonly failure?: undefined }
  | {
      readonly exceptionName: string;
      readonly status: number;
      readonly message: string;
      readonly failure?: undefined;
    }
  | {
      readonly failure: 'timed_out' | 'unreachable' | 'unreadable';
      readonly exceptionName?: undefined;
    };

export type AwsClient = { call(call: AwsCall): Promise<AwsResult>; close(): void };

async function readBody(response: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxResponseBytes) {
      response.destroy();
      return undefined;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

const textOrEmpty = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `x-amzn-errortype: ValidationException:http://…`, or `__type` with a namespace before `#`. */
function describeException({ headers, statusCode = 0 }: IncomingMessage, body: Json | undefined) {
  const errorType = textOrEmpty(headers['x-amzn-errortype']) || textOrEmpty(body?.['__type']);
  const exceptionName = errorType.split(':')[0]?.split('#').at(-1) || `HTTP ${statusCode}`;
  const message = textOrEmpty(body?.['message']) || textOrEmpty(body?.['Message']);
  return { exceptionName, status: statusCode, message };
}

/** The service closed a reused connection and did not read the request. */
const isStaleConnectionError = (error: unknown, isReused: boolean): boolean => {
  const { code } = error as NodeJS.ErrnoException;
  return isReused && (code === 'ECONNRESET' || code === 'EPIPE');
};

/** @example const kms = createAwsClient({ service: 'kms', region, endpoint, credentials, clock, timeoutMs: 2000, connections: 4 }); */
export function createAwsClient(options: AwsClientOptions): AwsClient {
  const { service, region, credentials, clock, timeoutMs, connections, ca } = options;
  const isPlain = options.endpoint.startsWith('http:');
  const pool = { keepAlive: true, maxSockets: connections, timeout: idleMs };
  const agent = isPlain ? new PlainAgent(pool) : new TlsAgent({ ...pool, ...defined({ ca }) });

  async function sendRequest(call: AwsCall, signal: AbortSignal): Promise<IncomingMessage> {
    const url = new URL(call.path, options.endpoint);
    const body = JSON.stringify(call.body);
    const headers = await signAwsRequest(
      {
        method: 'POST',
        url,
        headers: { 'content-type': 'application/json', ...call.headers },
        body,
      },
      { service, region, credentials, now: clock.now() },
    );
    headers['content-length'] = String(Buffer.byteLength(body));
    return new Promise((resolve, reject) => {
      const send = isPlain ? plainRequest : tlsRequest;
      const request = send(url, { method: 'POST', agent, signal, headers }, resolve);
      let hasReusedConnection = false;
      onConnectionOpened(request, {
        opened(isReused) {
          hasReusedConnection = isReused;
        },
      });
      request.on('error', (error) => {
        if (isStaleConnectionError(error, hasReusedConnection) && !signal.aborted) {
          resolve(sendRequest(call, signal));
        } else reject(error);
      });
      request.end(body);
    });
  }

  return {
    async call(call) {
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        const response = await sendRequest(call, signal);
        const body = parseJson(await readBody(response));
        if (response.statusCode !== 200) return describeException(response, body);
        return body === undefined ? { failure: 'unreadable' } : { response: body };
      } catch {
        // No usable response: a refused connection, an invalid certificate, an incomplete response.
        return { failure: signal.aborted ? 'timed_out' : 'unreachable' };
      }
    },
    close: () => agent.destroy(),
  };
}
