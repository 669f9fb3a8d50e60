/** QR payments: create, follow across connection breaks until the end, cancel and refund. */
import type { IncomingMessage } from 'node:http';
import type {
  QrCancelRequest,
  QrEvent,
  QrOperationAnswer,
  QrRefundRequest,
  QrRequest,
  QrTransaction,
  QrTransactionWithEvents,
} from '@switchyard/contract';
import {
  backoffDelay,
  type Clock,
  errorText,
  type RandomSource,
  systemClock,
  systemRandom,
} from '@switchyard/sdk-core';
import type { TokenSource } from '../authentication/device-tokens.ts';
import type { DeviceTls } from '../network/http-client.ts';
import { createEventParser } from '../network/server-sent-events.ts';
import { abortedError, DeviceError } from '../support/device-error.ts';
import type { DeviceLog } from '../support/device-log.ts';
import { createPlatformApi, responseError } from './platform-api.ts';

/**
 * The options of a QR client; the token must belong to a device.
 *
 * @example
 * const options: QrClientOptions = { baseUrl: 'https://pay.example', tokens, tls: { ca, cert, key } };
 */
export type QrClientOptions = {
  readonly baseUrl: string;
  readonly tokens: TokenSource;
  readonly tls?: DeviceTls;
  readonly log?: DeviceLog;
  readonly clock?: Clock;
  readonly random?: RandomSource;
};

/**
 * The sequence after which to start, and a signal to stop.
 *
 * @example
 * const options: FollowOptions = { after: lastSequence, signal };
 */
export type FollowOptions = { readonly after?: number; readonly signal?: AbortSignal };

/**
 * QR payments of a terminal.
 *
 * @example
 * const qr: QrClient = createQrClient(options);
 */
export type QrClient = {
  create(request: QrRequest, signal?: AbortSignal): Promise<QrTransaction>;
  find(id: string, signal?: AbortSignal): Promise<QrTransactionWithEvents>;
  cancel(id: string, request?: QrCancelRequest, signal?: AbortSignal): Promise<QrOperationAnswer>;
  refund(id: string, request?: QrRefundRequest, signal?: AbortSignal): Promise<QrOperationAnswer>;
  /** Yields each event once and in order, across connection breaks, until the payment has ended. */
  follow(id: string, options?: FollowOptions): AsyncGenerator<QrEvent, void, undefined>;
  close(): void;
};

const transactionsPath = '/qrcode-payment/v1/transactions';
const noContent = 204;
const ok = 200;
const unauthorized = 401;
/** The platform sends at least one line every 20 s. */
const silenceLimitMs = 60_000;
const failuresMax = 60;

type EventStream = AsyncGenerator<QrEvent, boolean, undefined>;

async function readText(answer: IncomingMessage): Promise<string> {
  answer.setEncoding('utf8');
  let text = '';
  for await (const piece of answer as AsyncIterable<string>) text += piece.slice(0, 65_536);
  return text;
}

/**
 * Makes a client of the QR payments.
 *
 * @param options - the address of the platform and the token source of the device
 * @returns the client; call `close` when it is no longer needed
 * @throws DeviceError `address_invalid`
 * @example
 * ```ts
 * const payment = await qr.create({
 *   paymentType: 'demopay', paymentScenario: 'consumerscan', clientTransactionId: crypto.randomUUID(),
 *   paymentAmount: { amount: 1250, currency: 'EUR' },
 * });
 * show(payment.display);
 * for await (const { type, display } of qr.follow(payment.transactionId)) {
 *   if (type === 'qr.display') show(display);
 *   if (type === 'qr.completed') paid();
 * }
 * ```
 */
export function createQrClient(options: QrClientOptions): QrClient {
  const { clock = systemClock, random = systemRandom } = options;
  const api = createPlatformApi(options);
  const transactionPath = (id: string, verb = '') =>
    `${transactionsPath}/${encodeURIComponent(id)}${verb}`;

  /** @throws DeviceError for a refusal; returns undefined if there are no events left */
  async function openStream(id: string, after: number, signal: AbortSignal) {
    const token = await api.token(signal);
    const answer = await api.http.openStream({
      method: 'GET',
      url: `${api.baseUrl}${transactionPath(id, '/events')}`,
      signal,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        'last-event-id': String(after),
      },
    });
    const { statusCode: status = 0, headers } = answer;
    if (status === ok) return answer;
    const error = responseError({ status, headers, body: await readText(answer) });
    if (status === noContent) return undefined;
    if (status === unauthorized) api.invalidateToken(token);
    throw error;
  }

  /** True for faults after which the client reconnects; false for a permanent refusal. */
  const canReconnect = (error: unknown): boolean =>
    !(error instanceof DeviceError) ||
    // The caller's signal was checked before, so the silence limit aborted the stream.
    error.kind === 'Aborted' ||
    error.kind === 'NotSent' ||
    error.kind === 'Unknown' ||
    error.retryable ||
    error.status === unauthorized;

  /** Yields the events of one stream and returns whether the payment has ended. */
  async function* readStream(
    id: string,
    after: number,
    signal: AbortSignal | undefined,
  ): EventStream {
    const silence = new AbortController();
    const limit = signal === undefined ? silence.signal : AbortSignal.any([silence.signal, signal]);
    let silenceTimer = watchSilence(silence, limit);
    try {
      const answer = await openStream(id, after, limit);
      if (answer === undefined) return true;
      const reader = createEventParser();
      for await (const piece of answer as AsyncIterable<Buffer>) {
        silenceTimer.abort();
        silenceTimer = watchSilence(silence, limit);
        for (const { type, data } of reader.parse(piece)) {
          if (type !== 'end') yield parseEvent(data);
          else return (JSON.parse(data) as { reason?: string }).reason === 'completed';
        }
      }
      return false;
    } finally {
      silenceTimer.abort();
    }
  }

  async function* follow(id: string, { after = 0, signal }: FollowOptions = {}) {
    let lastSequence = after;
    for (let failures = 0; ; failures += 1) {
      const stream = readStream(id, lastSequence, signal);
      try {
        for (let next = await stream.next(); ; next = await stream.next()) {
          if (next.done === true && next.value) return;
          if (next.done === true) break;
          if (next.value.sequence <= lastSequence) continue;
          lastSequence = next.value.sequence;
          failures = 0;
          yield next.value;
        }
      } catch (error) {
        if (signal?.aborted === true) throw abortedError();
        if (!canReconnect(error) || failures >= failuresMax) throw unreachableError(error);
      } finally {
        await stream.return(false);
      }
      await clock.wait(backoffDelay(failures, random), signal);
      if (signal?.aborted === true) throw abortedError();
    }
  }

  function watchSilence(silence: AbortController, limit: AbortSignal): AbortController {
    const received = new AbortController();
    void clock.wait(silenceLimitMs, AbortSignal.any([received.signal, limit])).then(() => {
      if (!received.signal.aborted) silence.abort();
    });
    return received;
  }

  return {
    create: (request, signal) => api.post(transactionsPath, request, { signal }),
    find: (id, signal) => api.get(transactionPath(id), { signal }),
    cancel: (id, request = {}, signal) =>
      api.post(transactionPath(id, '/cancel'), request, { signal }),
    refund: (id, request = {}, signal) =>
      api.post(transactionPath(id, '/refund'), request, { signal }),
    follow,
    close: () => api.http.close(),
  };
}

/** @throws Error for data without a sequence number */
function parseEvent(data: string): QrEvent {
  const event = JSON.parse(data) as QrEvent | null;
  if (Number.isSafeInteger(event?.sequence)) return event as QrEvent;
  throw new Error('an event has no sequence');
}

const unreachableError = (error: unknown): DeviceError =>
  error instanceof DeviceError
    ? error
    : new DeviceError('NotSent', errorText(error), {
        code: 'unreachable',
        retryable: true,
        cause: error,
      });
