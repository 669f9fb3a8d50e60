/** The platform as the terminal sees it: the payments API, in the name of the device that the page stands in for. */
import type { AllowedOperations, OperationAnswer, Transaction } from '@switchyard/contract';
import { isProblem } from '../../../../api/api-errors.ts';
import { api } from '../../../../api/client.ts';

/** What became of a question. `Unknown`: it may have arrived; `NotSent`: it was surely not taken. */
export type PlatformAnswer =
  | { readonly outcome: 'Answered'; readonly transaction: Transaction & OperationAnswer }
  | { readonly outcome: 'Refused'; readonly status: number; readonly code: string }
  | { readonly outcome: 'Unknown' | 'NotSent' };

type Members = Readonly<Record<string, unknown>>;

export type TerminalPlatform = {
  sell(body: Members): Promise<PlatformAnswer>;
  operate(id: string, verb: 'refund' | 'cancel', body: Members): Promise<PlatformAnswer>;
  /** Says that the sale counts: one that nobody confirms goes back by itself. */
  confirm(id: string): Promise<PlatformAnswer>;
  find(id: string): Promise<PlatformAnswer>;
  /** Which of refund and cancel takes a sale back now; nothing where neither does. */
  takesBack(id: string): Promise<'refund' | 'cancel' | undefined>;
  isAvailable(): Promise<boolean>;
};

const base = '/payment/v1/transactions';
const faultsFrom = 500;
const tooMany = 429;
const answerLimitMs = 45_000;

/** A fault of the platform says nothing of what was done before it, and a broken line as little. */
function answerOfError(error: unknown): PlatformAnswer {
  if (!isProblem(error)) return { outcome: 'Unknown' };
  const { status, code } = error.problem;
  if (status >= faultsFrom) return { outcome: 'Unknown' };
  return status === tooMany ? { outcome: 'NotSent' } : { outcome: 'Refused', status, code };
}

/** @example const platform = connectPlatform(deviceId); */
export function connectPlatform(deviceId: string): TerminalPlatform {
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
    async takesBack(id) {
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
        // Whatever the reason, it cannot be reached: that is what was asked.
        return false;
      }
    },
  };
}
