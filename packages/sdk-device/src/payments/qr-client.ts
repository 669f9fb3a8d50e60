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
import type { TokenSource } from '../authentication/device-tokens.ts';
import { createEventReader } from '../network/server-sent-events.ts';
import type { DeviceTls } from '../network/tls-settings.ts';
import { defaultPauses, pauseAfter } from '../support/backoff.ts';
import { type Chance, type Clock, systemChance, systemClock } from '../support/clock.ts';
import { aborted, DeviceError, textOf } from '../support/device-error.ts';
import type { DeviceLog } from '../support/device-log.ts';
import { createPlatformCalls, errorOf } from './platform-api.ts';

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
  readonly chance?: Chance;
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

const base = '/qrcode-payment/v1/transactions';
const nothingLeft = 204;
const ok = 200;
const unauthorized = 401;
/** The platform sends at least one line every 20 s. */
const silenceMs = 60_000;
const failuresMax = 60;

type OneStream = AsyncGenerator<QrEvent, boolean, undefined>;

async function bodyOf(answer: IncomingMessage): Promise<string> {
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
  const { clock = systemClock, chance = systemChance } = options;
  const calls = createPlatformCalls(options);
  const at = (id: string, verb = '') => `${base}/${encodeURIComponent(id)}${verb}`;

  /** @throws DeviceError for a refusal; returns undefined if there are no events left */
  async function open(id: string, after: number, signal: AbortSignal) {
    const token = await calls.token(signal);
    const answer = await calls.http.open({
      method: 'GET',
      url: `${calls.baseUrl}${at(id, '/events')}`,
      signal,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        'last-event-id': String(after),
      },
    });
    const { statusCode: status = 0, headers } = answer;
    if (status === ok) return answer;
    const error = errorOf({ status, headers, body: await bodyOf(answer) });
    if (status === nothingLeft) return undefined;
    if (status === unauthorized) calls.forget(token);
    throw error;
  }

  /** True for faults after which the client reconnects; false for a permanent refusal. */
  const mayPass = (error: unknown): boolean =>
    !(error instanceof DeviceError) ||
    // The caller's signal was checked before, so the silence limit aborted the stream.
    error.kind === 'Aborted' ||
    error.kind === 'NotSent' ||
    error.kind === 'Unknown' ||
    error.retryable ||
    error.status === unauthorized;

  /** Yields the events of one stream and returns whether the payment has ended. */
  async function* once(id: string, after: number, signal: AbortSignal | undefined): OneStream {
    const silence = new AbortController();
    const limit = signal === undefined ? silence.signal : AbortSignal.any([silence.signal, signal]);
    let alive = watchSilence(silence, limit);
    try {
      const answer = await open(id, after, limit);
      if (answer === undefined) return true;
      const reader = createEventReader();
      for await (const piece of answer as AsyncIterable<Buffer>) {
        alive.abort();
        alive = watchSilence(silence, limit);
        for (const { type, data } of reader.read(piece)) {
          if (type !== 'end') yield eventIn(data);
          else return (JSON.parse(data) as { reason?: string }).reason === 'completed';
        }
      }
      return false;
    } finally {
      alive.abort();
    }
  }

  async function* follow(id: string, { after = 0, signal }: FollowOptions = {}) {
    let heard = after;
    for (let failures = 0; ; failures += 1) {
      const stream = once(id, heard, signal);
      try {
        for (let next = await stream.next(); ; next = await stream.next()) {
          if (next.done === true && next.value) return;
          if (next.done === true) break;
          if (next.value.sequence <= heard) continue;
          heard = next.value.sequence;
          failures = 0;
          yield next.value;
        }
      } catch (error) {
        if (signal?.aborted === true) throw aborted();
        if (!mayPass(error) || failures >= failuresMax) throw lost(error);
      } finally {
        await stream.return(false);
      }
      await clock.wait(pauseAfter(failures, chance, defaultPauses), signal);
      if (signal?.aborted === true) throw aborted();
    }
  }

  function watchSilence(silence: AbortController, limit: AbortSignal): AbortController {
    const heard = new AbortController();
    void clock.wait(silenceMs, AbortSignal.any([heard.signal, limit])).then(() => {
      if (!heard.signal.aborted) silence.abort();
    });
    return heard;
  }

  return {
    create: (request, signal) => calls.post(base, request, { signal }),
    find: (id, signal) => calls.get(at(id), { signal }),
    cancel: (id, request = {}, signal) => calls.post(at(id, '/cancel'), request, { signal }),
    refund: (id, request = {}, signal) => calls.post(at(id, '/refund'), request, { signal }),
    follow,
    close: () => calls.http.close(),
  };
}

/** @throws Error for data without a sequence number */
function eventIn(data: string): QrEvent {
  const event = JSON.parse(data) as QrEvent | null;
  if (Number.isSafeInteger(event?.sequence)) return event as QrEvent;
  throw new Error('an event has no sequence');
}

const lost = (error: unknown): DeviceError =>
  error instanceof DeviceError
    ? error
    : new DeviceError('NotSent', textOf(error), {
        code: 'unreachable',
        retryable: true,
        cause: error,
      });
