/** Sends JSON or forms to the platform over reused connections, with limits of time and size. */

import { defined } from '@switchyard/contract';
import { createHttpClient, parseRetryAfterSeconds, parseSecureUrl } from '@switchyard/sdk-core';

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

const responseBytesMax = 65_536;
const connectionsMax = 32;

/** Requires TLS except to this machine, because these requests contain tokens and secrets. */
export function requireSafeUrl(text: string, name: string): URL {
  const url = parseSecureUrl(text, 'https');
  if (url === undefined) throw new TypeError(`${name} must be an https address`);
  return url;
}

export function createTransport({ ca, timeoutMs }: { ca?: string | Buffer; timeoutMs: number }): {
  post: Transport;
  close(): void;
} {
  const http = createHttpClient({
    tls: { ca },
    connectionsMax,
    responseBytesMax,
    createError: ({ message, cause }) => new Error(message, { cause }),
  });
  return {
    async post(request) {
      const { status, headers, body } = await http.request({
        ...request,
        method: 'POST',
        timeoutMs,
      });
      const retryAfterSeconds = parseRetryAfterSeconds(headers['retry-after']);
      return { status, body, ...defined({ retryAfterSeconds }) };
    },
    close: () => http.close(),
  };
}
