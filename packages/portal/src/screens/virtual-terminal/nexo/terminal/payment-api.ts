/** The payments API for the terminal; the page acts as the device. */
import type { AllowedOperations, OperationAnswer, Transaction } from '@switchyard/contract';
import { isProblem } from '../../../../api/api-errors.ts';
import { api } from '../../../../api/client.ts';

/**
 * The answer of the platform. `Unknown`: the request may have arrived. `NotSent`: the platform did
 * not process it.
 */
export type PlatformAnswer =
  | { readonly outcome: 'Answered'; readonly transaction: Transaction & OperationAnswer }
  | { readonly outcome: 'Refused'; readonly status: number; readonly code: string }
  | { readonly outcome: 'Unknown' | 'NotSent' };

type Members = Readonly<Record<string, unknown>>;

export type PaymentApi = {
  sell(body: Members): Promise<PlatformAnswer>;
  operate(id: string, verb: 'refund' | 'cancel', body: Members): Promise<PlatformAnswer>;
  /** Confirms the sale; the platform reverses an unconfirmed sale. */
  confirm(id: string): Promise<PlatformAnswer>;
  find(id: string): Promise<PlatformAnswer>;
  /** Whether a refund or a cancellation reverses the sale now; undefined if neither is allowed. */
  reversalOperation(id: string): Promise<'refund' | 'cancel' | undefined>;
  isAvailable(): Promise<boolean>;
};

const base = '/payment/v1/transactions';
const faultsFrom = 500;
const tooMany = 429;
const answerLimitMs = 45_000;

/** After a server error or a lost connection the outcome is unknown. */
function answerOfError(error: unknown): PlatformAnswer {
  if (!isProblem(error)) return { outcome: 'Unknown' };
  const { status, code } = error.problem;
  if (status >= faultsFrom) return { outcome: 'Unknown' };
  return status === tooMany ? { outcome: 'NotSent' } : { outcome: 'Refused', status, code };
}

/** @example const platform = createPaymentApi(deviceId); */
export function createPaymentApi(deviceId: string): PaymentApi {
  const headers = { 'x-switchyard-device': deviceId };
  const options = { headers, limitMs: answerLimitMs };

  async function answerOf(work: Promise<Transaction & OperationAnswer>): Promise<PlatformAnswer> {
    try {
      return { outcome: 'Answered', transaction: await work };
    } catch (error) {
      return answerOfError(error);
    }
  }

  return {
    sell: (body) => answerOf(api.post(`${base}/process`, { ...options, body })),
    operate: (id, verb, body) =>
      answerOf(api.post(`${base}/${encodeURIComponent(id)}/${verb}`, { ...options, body })),
    confirm: (id) => answerOf(api.post(`${base}/${encodeURIComponent(id)}/confirm`, options)),
    find: (id) =>
      answerOf(api.get(`${base}/${encodeURIComponent(id)}`, { ...options, isBackground: true })),
    async reversalOperation(id) {
      try {
        const path = `${base}/${encodeURIComponent(id)}/allowedoperations`;
        const { operation } = await api.get<AllowedOperations>(path, options);
        return operation === null ? undefined : operation === 'Refund' ? 'refund' : 'cancel';
      } catch (error) {
        if (isProblem(error)) return undefined;
        throw error;
      }
    },
    async isAvailable() {
      try {
        const path = `${base}/technical/isAvailable`;
        return (await api.get<{ available: boolean }>(path, options)).available;
      } catch {
        // Any error means that the platform is not available.
        return false;
      }
    },
  };
}
