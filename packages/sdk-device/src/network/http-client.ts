/** Sends requests to the platform over reused connections, with the certificate of the device. */
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { aborted, DeviceError, textOf } from '../support/device-error.ts';
import { type DeviceTls, tlsOptions } from './tls-settings.ts';

export type HttpRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
};

export type HttpAnswer = {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

export type Http = {
  /**
   * @throws DeviceError `NotSent` if the server cannot have received the request, else `Unknown`
   */
  ask(request: HttpRequest): Promise<HttpAnswer>;
  /** Returns the response as a stream; the caller destroys it. */
  open(request: HttpRequest): Promise<IncomingMessage>;
  close(): void;
};

const answerBytesMax = 4_194_304;
const connectionsMax = 16;
const defaultTimeoutMs = 30_000;

/** @throws Error for a body that is incomplete or longer than the limit */
export async function textIn(answer: IncomingMessage, bytesMax = answerBytesMax): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** A request on an open connection may have arrived; a request without a connection has not. */
function faultOf(error: unknown, wasSent: boolean, signal: AbortSignal | undefined): DeviceError {
  if (error instanceof DeviceError) return error;
  const facts = { code: wasSent ? 'no_answer' : 'unreachable', retryable: true, cause: error };
  if (signal?.aborted === true && !wasSent) return aborted();
  return new DeviceError(wasSent ? 'Unknown' : 'NotSent', textOf(error), facts);
}

export function createHttp(tls: DeviceTls = {}): Http {
  const kept = { keepAlive: true, maxSockets: connectionsMax };
  const plainAgent = new PlainAgent(kept);
  const tlsAgent = new TlsAgent({ ...kept, ...tlsOptions(tls) });
  /** Sockets with a completed handshake. */
  const standing = new WeakSet<Duplex>();

  function begin(
    { method, url, headers = {}, body }: HttpRequest,
    limit: AbortSignal,
    sent: () => void,
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
        const stands = () => {
          standing.add(socket);
          sent();
        };
        // A reused connection is ready at once; a new one is ready after its handshake.
        // `reusedSocket` is false for a request that waited for a connection, so the set of sockets
        // decides too.
        if (request.reusedSocket || standing.has(socket)) stands();
        else socket.once(isPlain ? 'connect' : 'secureConnect', stands);
      });
      request.end(body);
    });
  }

  async function run<Result>(
    request: HttpRequest,
    read: (answer: IncomingMessage) => Promise<Result>,
    limit: AbortSignal,
  ): Promise<Result> {
    let wasSent = false;
    try {
      const answer = await begin(request, limit, () => {
        wasSent = true;
      });
      return await read(answer);
    } catch (error) {
      throw faultOf(error, wasSent, request.signal);
    }
  }

  return {
    ask(request) {
      const { signal, timeoutMs = defaultTimeoutMs } = request;
      const limit = AbortSignal.timeout(timeoutMs);
      const both = signal === undefined ? limit : AbortSignal.any([limit, signal]);
      const read = async (answer: IncomingMessage): Promise<HttpAnswer> => ({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: await textIn(answer),
      });
      return run(request, read, both);
    },
    open(request) {
      const never = new AbortController().signal;
      return run(request, async (answer) => answer, request.signal ?? never);
    },
    close() {
      plainAgent.destroy();
      tlsAgent.destroy();
    },
  };
}
