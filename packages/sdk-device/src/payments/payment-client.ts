/** Card payments: one request for each call; a sale is retried until its outcome is known. */

import {
  type AcquirerAvailability,
  type AllowedOperations,
  type CancelRequest,
  type CaptureRequest,
  defined,
  type ProcessRequest,
  type RefundByWebRequest,
  type RefundRequest,
  type Transaction,
} from '@switchyard/contract';
import { type Clock, systemClock } from '@switchyard/sdk-core';
import type { TokenSource } from '../authentication/device-tokens.ts';
import type { DeviceTls } from '../network/http-client.ts';
import { DeviceError } from '../support/device-error.ts';
import type { DeviceLog } from '../support/device-log.ts';
import { type CallOptions, createPlatformApi } from './platform-api.ts';

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
  readonly saleAttempts?: number;
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
  getAvailability(signal?: AbortSignal): Promise<AcquirerAvailability>;
  close(): void;
};

const transactionsPath = '/payment/v1/transactions';
const defaultSaleAttempts = 3;
const retryMs = 1_000;
const availabilityTimeoutMs = 5_000;
const extraWaitMs = 10_000;
/**
 * Statuses about the caller, the address or a temporary state; they do not prove the outcome of a
 * sale.
 */
const inconclusiveStatuses: readonly number[] = [401, 403, 404, 408, 429];
const statusFirstOfServer = 500;

/**
 * True if the platform refused this sale. Earlier attempts with its identifier were not processed
 * either.
 */
function provesSaleRefused({ kind, retryable, problem, status = 0 }: DeviceError): boolean {
  if (kind !== 'Refused' || retryable || problem === undefined) return false;
  return status < statusFirstOfServer && !inconclusiveStatuses.includes(status);
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
  const { saleAttempts = defaultSaleAttempts, clock = systemClock, timeoutMs } = options;
  const api = createPlatformApi(options);
  const limits = defined({ timeoutMs });
  const transactionPath = (id: string, verb = '') =>
    `${transactionsPath}/${encodeURIComponent(id)}${verb}`;
  const post = <Body>(path: string, body: Body, signal?: AbortSignal): Promise<Transaction> =>
    api.post(path, body, { ...limits, signal });

  /**
   * If an attempt had an unknown outcome, a later attempt that was not sent does not change that.
   */
  async function sell(sale: ProcessRequest, signal?: AbortSignal): Promise<Transaction> {
    let unknownError: DeviceError | undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await post(`${transactionsPath}/process`, sale, signal);
      } catch (error) {
        if (!(error instanceof DeviceError)) throw error;
        if (error.kind === 'Unknown') unknownError = error;
        const mayPass = error.kind === 'Unknown' || (unknownError !== undefined && error.retryable);
        if (!mayPass || attempt >= saleAttempts || signal?.aborted === true) {
          throw unknownError === undefined || provesSaleRefused(error) ? error : unknownError;
        }
        await clock.wait(error.retryAfterMs ?? retryMs * attempt, signal);
      }
    }
  }

  return {
    sell,
    find(id, { waitSeconds, signal } = {}) {
      if (waitSeconds === undefined) return api.get(transactionPath(id), { ...limits, signal });
      const wait: CallOptions = { signal, timeoutMs: waitSeconds * 1000 + extraWaitMs };
      return api.get(transactionPath(id, `?wait=${waitSeconds}`), wait);
    },
    confirm: (id, signal) => post(transactionPath(id, '/confirm'), {}, signal),
    capture: (id, request = {}, signal) => post(transactionPath(id, '/capture'), request, signal),
    refund: (id, request = {}, signal) => post(transactionPath(id, '/refund'), request, signal),
    cancel: (id, request, signal) => post(transactionPath(id, '/cancel'), request, signal),
    refundByWeb: (id, request = {}, signal) =>
      post(transactionPath(id, '/refundbyweb'), request, signal),
    allowedOperations: (id, signal) =>
      api.get(transactionPath(id, '/allowedoperations'), { ...limits, signal }),
    getAvailability: (signal) =>
      api.get(`${transactionsPath}/technical/isAvailable`, {
        timeoutMs: availabilityTimeoutMs,
        signal,
      }),
    close: () => api.http.close(),
  };
}
