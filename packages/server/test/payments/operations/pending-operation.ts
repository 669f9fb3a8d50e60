// A sent operation in memory, its retry job, and a host with outcomes that the test chooses.
import { throwProblem } from '@switchyard/contract';
import type {
  AcquirerOutcome,
  AcquirerReference,
  AcquirerRequest,
} from '../../../src/acquiring/index.ts';
import { resolutionTransition } from '../../../src/payments/operations/resolve-manually.ts';
import { storeOperationOutcome } from '../../../src/payments/operations/store-operation-outcome.ts';
import { createOperationRetry } from '../../../src/payments/recovery/send-pending-operations.ts';
import { recordLateResponse } from '../../../src/payments/reversals/late-response.ts';
import { createRetryDriver } from '../../../src/payments/runtime/send-queued-message.ts';
import { zeroAmounts } from '../../../src/payments/transaction/state-machine.ts';
import type {
  TransactionChange,
  TransactionRecord,
} from '../../../src/payments/transaction/transaction.ts';
import { applyTransition, withChange } from '../../../src/payments/transaction/transition.ts';
import type { Job } from '../../../src/platform/index.ts';
import { dueClockOf } from '../../support/movable-clock.ts';

export const declinedOutcome = (responseCode: string): AcquirerOutcome => ({
  outcome: 'Declined',
  responseCode,
});
export const duplicateOutcome = declinedOutcome('94');
export const noResponseOutcome: AcquirerOutcome = { outcome: 'Unknown', reason: 'Timeout' };
export const approvedOutcome: AcquirerOutcome = {
  outcome: 'Approved',
  responseCode: '00',
  amount: 60,
};

const now = 1_000_000;
const positions = {
  Refund: { phase: 'Approved', authorized: 100, captured: 100, refundReserved: 60 },
  Reversal: { phase: 'Reversing' },
} as const;

export const referenceWithStan = (stan: number) => ({ stan: String(stan) }) as AcquirerReference;

function transactionWith(
  kind: keyof typeof positions,
  request: Record<string, unknown>,
): TransactionRecord {
  const position = { ...zeroAmounts, ...positions[kind] };
  const context = { linkId: 'link', timeZone: 'UTC', card: {}, request };
  const createdAt = new Date(0).toISOString();
  return {
    row: {
      organizationId: 'o',
      transactionId: 't',
      merchantId: 'm',
      amount: 100,
      version: 1,
      position,
      operationCount: 1,
      deadline: 0,
    },
    events: [{ sequence: 1, type: 'transaction.received', at: '', data: { context } }],
    operations: [
      {
        kind,
        status: 'Sent',
        amount: 60,
        operationNumber: 1,
        createdAt,
        details: { reference: referenceWithStan(0) },
      },
    ],
  } as unknown as TransactionRecord;
}

/** @example const { storeOutcome, retry, status } = createPendingOperation('Refund'); */
export function createPendingOperation(kind: keyof typeof positions, request = {}) {
  let transaction = transactionWith(kind, request);
  let stan = 0;
  const sent: unknown[] = [];
  const requests: AcquirerRequest[] = [];
  const alerts: unknown[] = [];
  const jobs: TransactionChange['job'][] = [];
  let next: AcquirerOutcome = noResponseOutcome;
  let beforeSend: () => unknown = () => {};
  let duringSend: () => unknown = () => {};
  let failuresLeft = 0;
  function failIfRequested(): void {
    if (failuresLeft === 0) return;
    failuresLeft -= 1;
    throwProblem('database_unavailable', 'The database restarts.');
  }
  function apply(change: TransactionChange): void {
    if (change.job !== undefined) jobs.push(change.job);
    transaction = withChange(transaction, change);
  }
  const ports = {
    clock: { now: () => now },
    dueClock: dueClockOf({ now: () => now }),
    ids: { uuid: () => 'id' },
    acquirerTimeoutMs: 10_000,
    failPoints: { hit() {} },
    inFlightTransactions: {
      notifyChange() {},
      runExclusive: <T>(_key: string, work: () => Promise<T>) => work(),
    },
    jobs: { wake() {} },
    paymentMetrics: { recordFinished() {} },
    log: { error: (entry: unknown) => void alerts.push(entry) },
    approvals: { restore: async () => {} },
    linkQueue: {
      async isBlocked() {
        await beforeSend();
        return false;
      },
    },
    vault: { detokenizeCard: async () => ({ pan: '', expiry: '' }) },
    acquiring: {
      isLinkAvailable: () => true,
      async allocateReference() {
        stan += 1;
        return referenceWithStan(stan);
      },
      async send(request: AcquirerRequest) {
        requests.push(request);
        sent.push([request.reference, request.repeat]);
        await duringSend();
        return next;
      },
    },
    transactions: {
      async findById() {
        failIfRequested();
        return transaction;
      },
      async update(change: TransactionChange) {
        failIfRequested();
        if (change.before.version !== transaction.row.version) return false;
        apply(change);
        return true;
      },
      updateWith: async () => false,
    },
  };
  const retry = createRetryDriver(ports, createOperationRetry(ports));
  return {
    alerts,
    jobs,
    sent,
    requests,
    storeOutcome: (outcome: AcquirerOutcome) =>
      storeOperationOutcome(ports, transaction, 1, outcome),
    async retry(outcome: AcquirerOutcome, attempts = 0) {
      next = outcome;
      const { payload } = jobs[0] ?? {};
      return retry({ organizationId: 'o', jobId: 'j', queueId: 'l', attempts, payload } as Job);
    },
    /** A user resolves the operation manually. */
    resolve(outcome: 'Succeeded' | 'Failed') {
      const decision = { number: 1, outcome, note: 'Confirmed by the help desk.' };
      const resolution = resolutionTransition(transaction, decision, { at: now, actor: 'user' });
      if (resolution !== 'Done') apply(applyTransition(transaction.row, resolution));
    },
    late(lateKind: 'Sale' | 'Refund' | 'Capture', responseCode: string) {
      const key = { organizationId: 'o', transactionId: 't' };
      recordLateResponse(ports, { ...key, kind: lateKind, responseCode });
    },
    /** `onBeforeSend` runs before the job reads the operation, `onSend` during the send. */
    onBeforeSend: (action: () => unknown) => {
      beforeSend = action;
    },
    onSend: (action: () => unknown) => {
      duringSend = action;
    },
    /** The next `times` database calls fail. */
    failDatabase: (times: number) => {
      failuresLeft = times;
    },
    operation: () => transaction.operations[0],
    lastReason: () => transaction.events.at(-1)?.data.reason,
    status: () => transaction.operations[0]?.status,
    refunded: () => transaction.row.position.refunded,
    phase: () => transaction.row.position.phase,
    changes: () => transaction.row.version - 1,
  };
}

/** Waits until the condition is true, then for one more turn of the event loop. */
export async function waitUntil(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
}
