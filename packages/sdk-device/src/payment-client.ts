/** Card payments: each call once, and the sale until it is known what became of it. */

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
import { type Clock, systemClock } from './clock.ts';
import { DeviceError } from './errors.ts';
import type { DeviceLog } from './log.ts';
import { type CallOptions, createPlatformCalls } from './platform-calls.ts';
import type { DeviceTls } from './tls.ts';
import type { TokenSource } from './tokens.ts';

/**
 * What a client of payments needs.
 *
 * @example
 * const options: PaymentClientOptions = { baseUrl: 'https://pay.example', tokens, tls: { ca, cert, key } };
 */
export type PaymentClientOptions = {
  readonly baseUrl: string;
  readonly tokens: TokenSource;
  readonly tls?: DeviceTls;
  /** Of one try; 30,000 where it is left out. */
  readonly timeoutMs?: number;
  /** Tries of a sale whose answer was lost, each under the same identifier; 3 where it is left out. */
  readonly saleTries?: number;
  readonly log?: DeviceLog;
  readonly clock?: Clock;
};

/**
 * Card payments of a terminal. Every call takes a signal. A call whose answer was lost throws a
 * `DeviceError` of kind `Unknown`.
 *
 * @example
 * const payments: PaymentClient = createPaymentClient(options);
 */
export type PaymentClient = {
  /**
   * A sale. Where the answer is lost it is asked again under the same `clientTransactionId`: it is
   * processed once. A decline is an answer, no error.
   */
  sell(sale: ProcessRequest, signal?: AbortSignal): Promise<Transaction>;
  /** By either identifier; `waitSeconds` waits for a change. */
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
/** They speak of the caller, of the address or of the moment, and say nothing of what came before. */
const statusesOfTheCall: readonly number[] = [401, 403, 404, 408, 429];
const statusFirstOfServer = 500;

/** A refusal of this very sale: what was sent before under its identifier was none either. */
function isOfTheSale({ kind, retryable, problem, status = 0 }: DeviceError): boolean {
  if (kind !== 'Refused' || retryable || problem === undefined) return false;
  return status < statusFirstOfServer && !statusesOfTheCall.includes(status);
}

/**
 * Makes a client of the card payments.
 *
 * @param options - where the platform is, and whose token counts
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

  /** What came before makes it unknown: a try that was not sent does not make it known again. */
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
