// Sends one request and reads the response within limits of time and size. Errors are returned as values.
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { onConnectionOpened } from './on-connection-opened.ts';
import { startResponseTimeout } from './response-timeout.ts';

export type CallFault =
  | 'address_refused'
  | 'unreachable'
  | 'tls_failed'
  | 'timed_out'
  | 'answer_too_large';

export type CallResult =
  | {
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: string;
      readonly ms: number;
      readonly fault?: undefined;
    }
  | {
      readonly fault: CallFault;
      readonly ms: number;
      /** False if no part of the request can have reached the server. */
      readonly possiblySent: boolean;
    };

export type ResponseLimits = {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** A truncated body is enough, and so is a body whose end takes too long. */
  readonly acceptsTruncatedBody: boolean;
  readonly signal?: AbortSignal;
};

/** The server closed a reused connection without a response; it may have read the request. */
export const staleConnection = Symbol('the server closed a reused connection');

/** How long to wait for the body if only the status matters. */
const truncatedBodyWaitMs = 1_000;

/** Error code of the address lookup. */
export const addressRefusedCode = 'ADDRESS_REFUSED';

const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|INVALID_(?:CA|PURPOSE)|EPROTO$)/;

function classifyError({ code = '' }: NodeJS.ErrnoException): CallFault {
  if (code === addressRefusedCode) return 'address_refused';
  return tlsCode.test(code) ? 'tls_failed' : 'unreachable';
}

/**
 * Never rejects: each outcome is a response or a fault.
 *
 * @param request created, and not ended
 */
export function sendRequest(
  request: ClientRequest,
  body: string | undefined,
  { timeoutMs, maxResponseBytes, acceptsTruncatedBody, signal }: ResponseLimits,
): Promise<CallResult | typeof staleConnection> {
  const { promise, resolve } = Promise.withResolvers<CallResult | typeof staleConnection>();
  const start = performance.now();
  const chunks: Buffer[] = [];
  let length = 0;
  let response: IncomingMessage | undefined;
  let possiblySent = false;
  let hasReusedConnection = false;
  let isDone = false;

  const failTimedOut = () => fail('timed_out');
  const stopTimeout = startResponseTimeout(timeoutMs, failTimedOut);
  signal?.addEventListener('abort', failTimedOut, { once: true });
  let bodyTimer: NodeJS.Timeout | undefined;

  function settle(result: CallResult | typeof staleConnection): void {
    if (isDone) return;
    isDone = true;
    stopTimeout();
    clearTimeout(bodyTimer);
    signal?.removeEventListener('abort', failTimedOut);
    resolve(result);
    // The next request cannot use a connection whose response was not read completely.
    if (response?.complete !== true) request.destroy();
  }

  const elapsedMs = () => Math.round(performance.now() - start);

  function finish({ statusCode = 0, headers }: IncomingMessage): void {
    const text = Buffer.concat(chunks).subarray(0, maxResponseBytes).toString('utf8');
    settle({ status: statusCode, headers, body: text, ms: elapsedMs() });
  }

  function fail(fault: CallFault): void {
    if (acceptsTruncatedBody && response !== undefined) finish(response);
    else settle({ fault, ms: elapsedMs(), possiblySent });
  }

  onConnectionOpened(request, {
    opened(isReused) {
      possiblySent = true;
      hasReusedConnection = isReused;
    },
  });
  request.on('response', (incoming) => {
    response = incoming;
    if (acceptsTruncatedBody) bodyTimer = setTimeout(() => finish(incoming), truncatedBodyWaitMs);
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > maxResponseBytes) fail('answer_too_large');
    });
    incoming.on('end', () => finish(incoming));
    incoming.on('error', () => fail('unreachable'));
  });
  request.on('error', (error: NodeJS.ErrnoException) => {
    const isStale = hasReusedConnection && response === undefined;
    if (isStale && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) settle(staleConnection);
    else fail(classifyError(error));
  });
  // A response that switches to another protocol is not a response.
  request.on('close', () => fail('unreachable'));
  if (signal?.aborted === true) failTimedOut();
  else request.end(body);
  return promise;
}
