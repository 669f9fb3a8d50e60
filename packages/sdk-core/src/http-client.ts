/** Sends requests over reused connections, with limits of time and size. */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { abortedFault, type CreateError, errorText, type Fault } from './fault.ts';
import { type TlsSettings, tlsOptions } from './tls-options.ts';

export type HttpRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
};

export type HttpResponse = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

export type HttpClient = {
  /** @throws `NotSent` if the server cannot have received the request, else `Unknown` */
  request(request: HttpRequest): Promise<HttpResponse>;
  /** Returns the response as a stream; the caller destroys it. */
  openStream(request: HttpRequest): Promise<IncomingMessage>;
  close(): void;
};

export type HttpClientOptions = {
  readonly tls: TlsSettings;
  readonly connectionsMax: number;
  readonly responseBytesMax: number;
  readonly createError: CreateError;
};

const defaultTimeoutMs = 30_000;
const secondsForm = /^\d{1,6}$/;

/** Reads a Retry-After in seconds; a date is ignored. */
export const parseRetryAfterSeconds = (header: string | undefined): number | undefined =>
  header !== undefined && secondsForm.test(header) ? Number(header) : undefined;

export function parseRetryAfterMs(header: string | undefined): number | undefined {
  const seconds = parseRetryAfterSeconds(header);
  return seconds === undefined ? undefined : seconds * 1000;
}

/** @throws Error for a body that is incomplete or longer than the limit */
export async function readText(response: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw new Error('the response is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A request on an open connection may have arrived; a request without a connection has not. */
function requestFault(error: unknown, wasSent: boolean, signal: AbortSignal | undefined): Fault {
  if (signal?.aborted === true && !wasSent) return abortedFault;
  const message = errorText(error);
  return wasSent
    ? { kind: 'Unknown', message, code: 'no_answer', retryable: true, cause: error }
    : { kind: 'NotSent', message, code: 'unreachable', retryable: true, cause: error };
}

export function createHttpClient(clientOptions: HttpClientOptions): HttpClient {
  const { tls, connectionsMax, responseBytesMax, createError } = clientOptions;
  const agentOptions = { keepAlive: true, maxSockets: connectionsMax };
  const plainAgent = new PlainAgent(agentOptions);
  const tlsAgent = new TlsAgent({ ...agentOptions, ...tlsOptions(tls) });
  /** Sockets with a completed handshake. */
  const connectedSockets = new WeakSet<Duplex>();

  function sendRequest(
    { method, url, headers = {}, body }: HttpRequest,
    limit: AbortSignal,
    onSent: () => void,
  ): Promise<IncomingMessage> {
    const isPlain = url.startsWith('http:');
    const send = isPlain ? plainRequest : tlsRequest;
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const agent = isPlain ? plainAgent : tlsAgent;
      const options = { method, agent, signal: limit, headers: { ...headers, ...length } };
      const request = send(url, options, resolve);
      request.on('error', reject);
      request.on('socket', (socket) => {
        const markConnected = () => {
          connectedSockets.add(socket);
          onSent();
        };
        // A reused connection is ready at once; a new one is ready after its handshake.
        // `reusedSocket` is false for a request that waited for a connection, so the set of sockets
        // decides too.
        if (request.reusedSocket || connectedSockets.has(socket)) markConnected();
        else socket.once(isPlain ? 'connect' : 'secureConnect', markConnected);
      });
      request.end(body);
    });
  }

  async function requestWith<Result>(
    request: HttpRequest,
    read: (answer: IncomingMessage) => Promise<Result>,
    limit: AbortSignal,
  ): Promise<Result> {
    let wasSent = false;
    try {
      const answer = await sendRequest(request, limit, () => {
        wasSent = true;
      });
      return await read(answer);
    } catch (error) {
      throw createError(requestFault(error, wasSent, request.signal));
    }
  }

  return {
    request(request) {
      const { signal, timeoutMs = defaultTimeoutMs } = request;
      const timeoutSignal = AbortSignal.timeout(timeoutMs);
      const limitedSignal =
        signal === undefined ? timeoutSignal : AbortSignal.any([timeoutSignal, signal]);
      const read = async (answer: IncomingMessage): Promise<HttpResponse> => ({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: await readText(answer, responseBytesMax),
      });
      return requestWith(request, read, limitedSignal);
    },
    openStream(request) {
      const never = new AbortController().signal;
      return requestWith(request, async (answer) => answer, request.signal ?? never);
    },
    close() {
      plainAgent.destroy();
      tlsAgent.destroy();
    },
  };
}
