// One request to a server of others: its answer within time and size, or what went wrong and whether it may have left.
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { onConnection } from './request-connection.ts';
import { whenOver } from './response-timeout.ts';

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
      /** Whether any of it may have reached them: where not, nothing happened there. */
      readonly isSent: boolean;
    };

export type AnswerLimits = {
  readonly timeoutMs: number;
  readonly answerLimitBytes: number;
  /** The start of a long answer will do, and so does one whose end is not worth waiting for. */
  readonly keepsStart: boolean;
  readonly signal?: AbortSignal;
};

/** A connection that was kept, and that the other side closed before it saw the request. */
export const wasStale = Symbol('a kept connection was closed');

/** How long the body is waited for where the status is what counts. */
const startWaitMs = 1_000;

/** Thrown by the look-up of an address. */
export const addressRefusedCode = 'ADDRESS_REFUSED';

const tlsCode =
  /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|INVALID_(?:CA|PURPOSE)|EPROTO$)/;

function faultOfError({ code = '' }: NodeJS.ErrnoException): CallFault {
  if (code === addressRefusedCode) return 'address_refused';
  return tlsCode.test(code) ? 'tls_failed' : 'unreachable';
}

/**
 * Sends it and waits. Never rejects: whatever the other side does is an answer or a fault.
 *
 * @param request opened, and not ended yet
 */
export function exchange(
  request: ClientRequest,
  body: string | undefined,
  { timeoutMs, answerLimitBytes, keepsStart, signal }: AnswerLimits,
): Promise<CallResult | typeof wasStale> {
  const { promise, resolve } = Promise.withResolvers<CallResult | typeof wasStale>();
  const start = performance.now();
  const chunks: Buffer[] = [];
  let length = 0;
  let answer: IncomingMessage | undefined;
  let isSent = false;
  let isKept = false;
  let isDone = false;

  const giveUp = () => fail('timed_out');
  const inTime = whenOver(timeoutMs, giveUp);
  signal?.addEventListener('abort', giveUp, { once: true });
  let waiting: NodeJS.Timeout | undefined;

  function settle(result: CallResult | typeof wasStale): void {
    if (isDone) return;
    isDone = true;
    inTime();
    clearTimeout(waiting);
    signal?.removeEventListener('abort', giveUp);
    resolve(result);
    // A connection whose answer was not read to its end serves nobody else.
    if (answer?.complete !== true) request.destroy();
  }

  const msSoFar = () => Math.round(performance.now() - start);

  function finish({ statusCode = 0, headers }: IncomingMessage): void {
    const text = Buffer.concat(chunks).subarray(0, answerLimitBytes).toString('utf8');
    settle({ status: statusCode, headers, body: text, ms: msSoFar() });
  }

  function fail(fault: CallFault): void {
    if (keepsStart && answer !== undefined) finish(answer);
    else settle({ fault, ms: msSoFar(), isSent });
  }

  onConnection(request, {
    opened(isReused) {
      isSent = true;
      isKept = isReused;
    },
  });
  request.on('response', (incoming) => {
    answer = incoming;
    if (keepsStart) waiting = setTimeout(() => finish(incoming), startWaitMs);
    incoming.on('data', (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > answerLimitBytes) fail('answer_too_large');
    });
    incoming.on('end', () => finish(incoming));
    incoming.on('error', () => fail('unreachable'));
  });
  request.on('error', (error: NodeJS.ErrnoException) => {
    const isStale = isKept && answer === undefined;
    if (isStale && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) settle(wasStale);
    else fail(faultOfError(error));
  });
  // An answer that turns the connection into another protocol is none.
  request.on('close', () => fail('unreachable'));
  if (signal?.aborted === true) giveUp();
  else request.end(body);
  return promise;
}
