// The payments API of the platform, called with the token of the device.
import type { AllowedOperations, OperationAnswer, Transaction } from '@switchyard/contract';
import {
  createDeviceClient,
  type DeviceClient,
  type DeviceConnection,
} from './device-http-client.ts';

/**
 * The result of a request to the platform. `NotSent`: the request did not leave the terminal. `Unknown`: it may
 * have arrived.
 *
 * @example
 * const asked: Asked = await platform.sell(body);
 * if (asked.outcome === 'Answered') show(asked.transaction.state);
 */
export type PlatformAnswer =
  | { readonly outcome: 'Answered'; readonly transaction: Transaction & OperationAnswer }
  | {
      readonly outcome: 'Refused';
      readonly status: number;
      readonly code: string;
      /** The same request may succeed later. */
      readonly isRetryable?: true;
      /** The merchant of the request: another merchant does not see these transactions. */
      readonly merchant?: string;
    }
  | { readonly outcome: 'Unknown' | 'NotSent' };

/**
 * The requests of the terminal to the platform. Either identifier of a transaction is accepted.
 *
 * @example
 * const platform: TerminalPlatform = connectTerminalPlatform(options);
 */
export type TerminalPlatform = {
  /** The current merchant of the terminal; undefined where the platform is not reachable. */
  merchant(): Promise<string | undefined>;
  processSale(body: Readonly<Record<string, unknown>>): Promise<PlatformAnswer>;
  operate(
    id: string,
    verb: 'capture' | 'refund' | 'cancel',
    body: Readonly<Record<string, unknown>>,
  ): Promise<PlatformAnswer>;
  findTransaction(id: string): Promise<PlatformAnswer>;
  /** The operation that undoes a sale now; undefined where none does. */
  findUndoOperation(id: string): Promise<'refund' | 'cancel' | undefined>;
  isAvailable(): Promise<boolean>;
  close(): void;
};

const base = '/payment/v1/transactions';
const refusedFrom = 400;
const faultsFrom = 500;
const tooMany = 429;

type ProblemBody = {
  readonly code?: unknown;
  readonly outcome?: unknown;
  readonly retryable?: unknown;
};

/** Interprets a response. A server error without a problem body of the platform leaves the outcome unknown. */
export function platformAnswerOf({
  status,
  body,
}: {
  readonly status: number;
  readonly body: unknown;
}): PlatformAnswer {
  if (status < refusedFrom) {
    return { outcome: 'Answered', transaction: body as Transaction & OperationAnswer };
  }
  if (status === tooMany) return { outcome: 'NotSent' };
  const { code, outcome, retryable } = (body ?? {}) as ProblemBody;
  const isNothingDone = typeof code === 'string' && outcome === 'NotProcessed';
  if (outcome === 'Unknown') return { outcome };
  if (status >= faultsFrom && !isNothingDone) return { outcome: 'Unknown' };
  // An overloaded platform has done nothing. A transaction that it could not send is never sent under this identifier.
  if (status >= faultsFrom && retryable === true) return { outcome: 'NotSent' };
  return {
    outcome: 'Refused',
    status,
    code: typeof code === 'string' ? code : 'unknown',
    ...(retryable === true ? { isRetryable: true } : {}),
  };
}

function createPlatform(calls: DeviceClient): TerminalPlatform {
  async function request(method: string, path: string, body?: unknown): Promise<PlatformAnswer> {
    const answer = await calls.call(method, base + path, body);
    if (answer.outcome !== 'Answered') return { outcome: answer.outcome };
    const platformAnswer = platformAnswerOf(answer);
    const { merchant } = answer;
    return platformAnswer.outcome === 'Refused' && merchant !== undefined
      ? { ...platformAnswer, merchant }
      : platformAnswer;
  }
  return {
    merchant: calls.merchant,
    processSale: (body) => request('POST', '/process', body),
    operate: (id, verb, body) => request('POST', `/${encodeURIComponent(id)}/${verb}`, body),
    findTransaction: (id) => request('GET', `/${encodeURIComponent(id)}`),
    async findUndoOperation(id) {
      const path = `${base}/${encodeURIComponent(id)}/allowedoperations`;
      const answer = await calls.call('GET', path);
      if (answer.outcome !== 'Answered' || answer.status >= refusedFrom) return undefined;
      const { operation } = answer.body as AllowedOperations;
      return operation === null ? undefined : operation === 'Refund' ? 'refund' : 'cancel';
    },
    async isAvailable() {
      const answer = await calls.call('GET', `${base}/technical/isAvailable`);
      if (answer.outcome !== 'Answered' || answer.status >= refusedFrom) return false;
      return (answer.body as { available?: unknown }).available === true;
    },
    close: calls.close,
  };
}

/**
 * Connects to the platform with the certificate and the token of a device.
 *
 * @example
 * const platform = connectTerminalPlatform({ baseUrl, deviceAuthUrl, cert, key, ca, serialNumber }, Date.now);
 */
export function connectTerminalPlatform(
  facts: DeviceConnection,
  now: () => number,
): TerminalPlatform {
  return createPlatform(createDeviceClient(facts, { now }));
}
