/** Sends JSON or forms to the platform over reused connections, with limits of time and size. */

import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { defined } from '@switchyard/contract';

/**
 * A request to the platform.
 *
 * @example
 * const request: PlatformRequest = { url, headers: { authorization }, body };
 */
export type PlatformRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/**
 * The response of the platform.
 *
 * @example
 * const { status, retryAfterSeconds }: PlatformAnswer = await transport(request);
 */
export type PlatformAnswer = {
  readonly status: number;
  readonly body: string;
  readonly retryAfterSeconds?: number;
};

/**
 * Posts to the platform; throws if no complete response arrives.
 *
 * @example
 * const transport: Transport = async ({ url, headers, body }) => {
 *   const answer = await fetch(url, { method: 'POST', headers, body });
 *   return { status: answer.status, body: await answer.text() };
 * };
 */
export type Transport = (request: PlatformRequest) => Promise<PlatformAnswer>;

const answerBytesMax = 65_536;
const connectionsMax = 32;
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

async function readText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > answerBytesMax) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const parseSeconds = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : undefined;

/** Requires TLS except to this machine, because these requests contain tokens and secrets. */
export function requireSafeUrl(text: string, name: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlainOnLoopback = url?.protocol === 'http:' && loopback.test(url.hostname);
  if (url === undefined || (url.protocol !== 'https:' && !isPlainOnLoopback)) {
    throw new TypeError(`${name} must be an https address`);
  }
  return url;
}

export function createTransport(options: { ca?: string | Buffer; timeoutMs: number }): {
  post: Transport;
  close(): void;
} {
  const { ca, timeoutMs } = options;
  const agentOptions = { keepAlive: true, maxSockets: connectionsMax };
  const plainAgent = new PlainAgent(agentOptions);
  const tlsAgent = new TlsAgent({ ...agentOptions, ...defined({ ca }) });

  async function post({ url, headers, body }: PlatformRequest): Promise<PlatformAnswer> {
    const signal = AbortSignal.timeout(timeoutMs);
    const isPlain = url.startsWith('http:');
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const send = isPlain ? plainRequest : tlsRequest;
      const request = send(
        url,
        {
          method: 'POST',
          agent: isPlain ? plainAgent : tlsAgent,
          signal,
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        resolve,
      );
      request.on('error', reject);
      request.end(body);
    });
    const retryAfterSeconds = parseSeconds(answer.headers['retry-after']);
    return {
      status: answer.statusCode ?? 0,
      body: await readText(answer),
      ...defined({ retryAfterSeconds }),
    };
  }

  return {
    post,
    close() {
      plainAgent.destroy();
      tlsAgent.destroy();
    },
  };
}
