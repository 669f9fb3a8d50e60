/** Card payments: one request for each call; a sale is retried until its outcome is known. */

import {
  type AllowedOperations,
  type Availability,
  type CancelRequest,
  type CaptureRequest,
  defined,
  type ProcessRequest,
  type RefundByWebRequest,
  type RefundRequest,
  type Transaction,
} from '@switchyard/contract';
import type { TokenSource } from '../authentication/device-tokens.ts';
import type { DeviceTls } from '../network/tls-settings.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { DeviceError } from '../support/device-error.ts';
import type { DeviceLog } from '../support/device-log.ts';
import { type CallOptions, createPlatformCalls } from './platform-api.ts';

/**
 * The options of a payment client.
 *
 * @example
 * const options: PaymentClientOptions = { baseUrl: 'https://pay.example', tokens, tls: { ca, cert, key } };
 */
export type PaymentClientOptions = {
  readonly baseUrl: string;
  readonly tokens: TokenSource;
  readonly tls?: DeviceTls;
  /** The time limit of one attempt; default 30,000. */
  readonly timeoutMs?: number;
  /** How often a sale without an answer is sent, with the same identifier; default 3. */
  readonly saleTries?: number;
  readonly log?: DeviceLog;
  readonly clock?: Clock;
};

/**
 * Card payments of a terminal. Every call accepts a signal. A call without an answer throws a
 * `DeviceError` of kind `Unknown`.
 *
 * @example
 * const payments: PaymentClient = createPaymentClient(options);
 */
export type PaymentClient = {
  /**
   * Makes a sale. If no answer arrives, it sends the sale again with the same
   * `clientTransactionId`, and the platform processes it once. A decline is an answer, not an
   * error.
   */
  sell(sale: ProcessRequest, signal?: AbortSignal): Promise<Transaction>;
  /** Finds a transaction by either identifier; `waitSeconds` waits for a change. */
  find(id: string, options?: { waitSeconds?: number; signal?: AbortSignal }): Promise<Transaction>;
  confirm(id: string, signal?: AbortSignal): Promise<Transaction>;
  capture(id: string, request?: CaptureRequest, signal?: AbortSignal): Promise<Transaction>;
  refund(id: string, request?: RefundRequest, signal?: AbortSignal): Promise<Transaction>;
  cancel(id: string, request: CancelRequest, signal?: AbortSignal): Promise<Transaction>;
  refundByWeb(id: string, request?: RefundByWebRequest, signal?: AbortSignal): Promise<Transaction>;
  allowedOperations(id: string, signal?: AbortSignal): Promise<AllowedOperations>;
  isAvailable(signal?: AbortSignal): Promise<Availability>;
  close(): void;
};

const base = '/payment/v1/transactions';
const defaultTries = 3;
const retryMs = 1_000;
const probeMs = 5_000;
const extraWaitMs = 10_000;
/**
 * Statuses about the caller, the address or a temporary state; they do not prove the outcome of a
 * sale.
 */
const statusesOfTheCall: readonly number[] = [401, 403, 404, 408, 429];
const statusFirstOfServer = 500;

/**
 * True if the platform refused this sale. Earlier attempts with its identifier were not processed
 * either.
 */
function isOfTheSale({ kind, retryable, problem, status = 0 }: DeviceError): boolean {
  if (kind !== 'Refused' || retryable || problem === undefined) return false;
  return status < statusFirstOfServer && !statusesOfTheCall.includes(status);
}

/**
 * Makes a client of the card payments.
 *
 * @param options - the address of the platform and the token source
 * @returns the client; call `close` when it is no longer needed
 * @throws DeviceError `address_invalid`
 * @example
 * ```ts
 * const payments = createPaymentClient({ baseUrl, tokens, tls: { ca, cert, key } });
 * const sale = await payments.sell({
 *   clientTransactionId: crypto.randomUUID(), amount: 1250, currency: 'EUR',
 *   entryMode: 'ContactlessChip', instrument: { emvData },
 * });
 * if (sale.approved) print(sale.receipt?.cardholder);
 * ```
 */
export function createPaymentClient(options: PaymentClientOptions): PaymentClient {
  const { saleTries = defaultTries, clock = systemClock, timeoutMs } = options;
  const calls = createPlatformCalls(options);
  const limits = defined({ timeoutMs });
  const at = (id: string, verb = '') => `${base}/${encodeURIComponent(id)}${verb}`;
  const post = <Body>(path: string, body: Body, signal?: AbortSignal): Promise<Transaction> =>
    calls.post(path, body, { ...limits, signal });

  /**
   * If an attempt had an unknown outcome, a later attempt that was not sent does not change that.
   */
  async function sell(sale: ProcessRequest, signal?: AbortSignal): Promise<Transaction> {
    let unknown: DeviceError | undefined;
    for (let tried = 1; ; tried += 1) {
      try {
        return await post(`${base}/process`, sale, signal);
      } catch (error) {
        if (!(error instanceof DeviceError)) throw error;
        if (error.kind === 'Unknown') unknown = error;
        const mayPass = error.kind === 'Unknown' || (unknown !== undefined && error.retryable);
        if (!mayPass || tried >= saleTries || signal?.aborted === true) {
          throw unknown === undefined || isOfTheSale(error) ? error : unknown;
        }
        await clock.wait(error.retryAfterMs ?? retryMs * tried, signal);
      }
    }
  }

  return {
    sell,
    find(id, { waitSeconds, signal } = {}) {
      if (waitSeconds === undefined) return calls.get(at(id), { ...limits, signal });
      const wait: CallOptions = { signal, timeoutMs: waitSeconds * 1000 + extraWaitMs };
      return calls.get(at(id, `?wait=${waitSeconds}`), wait);
    },
    confirm: (id, signal) => post(at(id, '/confirm'), {}, signal),
    capture: (id, request = {}, signal) => post(at(id, '/capture'), request, signal),
    refund: (id, request = {}, signal) => post(at(id, '/refund'), request, signal),
    cancel: (id, request, signal) => post(at(id, '/cancel'), request, signal),
    refundByWeb: (id, request = {}, signal) => post(at(id, '/refundbyweb'), request, signal),
    allowedOperations: (id, signal) =>
      calls.get(at(id, '/allowedoperations'), { ...limits, signal }),
    isAvailable: (signal) =>
      calls.get(`${base}/technical/isAvailable`, { timeoutMs: probeMs, signal }),
    close: () => calls.http.close(),
  };
}
