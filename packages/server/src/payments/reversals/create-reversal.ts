// Creates reversals. A sale with unknown outcome is not approved and is reversed.

import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { retryWhileUnavailable } from '../runtime/retry-while-database-down.ts';
import { commitGraceMs, databaseRetryMs } from '../transaction/timeouts.ts';
import {
  authorizationContext,
  type EventData,
  type JobRequest,
  type OperationDetails,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, type Transition, withChange } from '../transaction/transition.ts';

export const retryOperationJob = 'payments.retry-operation';

export type ReversalInput = {
  /** Epoch ms. */
  at: number;
  reason: string;
  /** Minor units; the whole sale where left out. */
  amount?: number;
  response?: { code: string };
  /** What the issuer says to the chip and of the address. */
  issuer?: Pick<EventData, 'issuerData' | 'addressResult'>;
  /** The host's, which its reversal names again. */
  authorizationCode?: string | undefined;
  /** Epoch ms before which the reversal is not sent; now where left out. */
  notBefore?: number;
  clientOperationId?: string | undefined;
  details?: Partial<OperationDetails>;
};

/** The job that sends an operation, and sends it again until it is answered. */
export function createRetryJob(
  deps: PaymentsDeps,
  transactionId: string,
  number: number,
  dueAt: number,
  { sent: isPossiblySent = false, lane }: { sent?: boolean; lane?: string } = {},
): JobRequest {
  return {
    jobId: deps.ids.uuid(),
    kind: retryOperationJob,
    // What may have been sent before travels with the repeat digit from the first job on.
    payload: { transactionId, number, ...(isPossiblySent ? { sent: isPossiblySent } : {}) },
    dueAt: isoTime(deps.dueClock.toDue(dueAt)),
    ...defined({ lane }),
  };
}

/** A new reference of the terminal that made the sale. */
export function allocateMessageReference(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  kind: 'Capture' | 'Refund' | 'Reversal',
) {
  const { row } = transaction;
  return deps.acquiring.allocateReference({
    organizationId: row.organizationId,
    contractId: row.contractId,
    terminalOwnerId: row.deviceId ?? row.contractId,
    kind,
    timeZone: authorizationContext(transaction).timeZone,
  });
}

/** Puts the reversal into the same commit as the decision that the sale is not approved. */
export async function reversalTransition(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  input: ReversalInput,
): Promise<Transition> {
  const { row } = transaction;
  const number = row.operationCount + 1;
  const at = isoTime(input.at);
  const reference = await allocateMessageReference(deps, transaction, 'Reversal');
  const operation: StoredOperation = {
    number,
    operationId: deps.ids.uuid(),
    kind: 'Reversal',
    status: 'Pending',
    amount: input.amount ?? row.amount,
    clientOperationId: input.clientOperationId,
    details: {
      request: {},
      cancelReason: 'Technical',
      cause: input.reason,
      ...input.details,
      reference,
    },
    deadline: input.at + deps.acquirerTimeoutMs + commitGraceMs,
    createdAt: at,
    updatedAt: at,
  };
  const dueAt = input.notBefore ?? input.at;
  return {
    at: input.at,
    type: 'transaction.reversal_queued',
    changes: { phase: 'Reversing' },
    data: {
      reason: input.reason,
      ...defined({ response: input.response }),
      ...input.issuer,
      ...defined({ authorizationCode: input.authorizationCode }),
    },
    operation,
    job: createRetryJob(deps, row.transactionId, number, dueAt, {
      lane: authorizationContext(transaction).linkId,
    }),
  };
}

const maxConflictRetries = 20;

/**
 * Reverses once more what was reversed before and may be held at the acquirer all the same.
 *
 * @returns the transaction as it stands then
 */
export async function reverseOnceMore(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  reason: string,
  { approvedAtHost }: { approvedAtHost: boolean },
): Promise<TransactionRecord> {
  const clock = deps.dueClock;
  const deadlineMs = clock.now() + databaseRetryMs;
  let current = transaction;
  for (let attempt = 0; attempt < maxConflictRetries; attempt += 1) {
    if (current.row.position.phase !== 'Reversed') return current;
    const details = approvedAtHost ? { approvedAtHost } : {};
    const transition = await reversalTransition(deps, current, {
      at: deps.clock.now(),
      reason,
      details,
    });
    const change = applyTransition(current.row, transition);
    if (
      await retryWhileUnavailable({ clock }, deadlineMs, () => deps.transactions.update(change))
    ) {
      deps.inFlightTransactions.notifyChange(current.row.transactionId);
      deps.jobs.poke();
      return withChange(current, change);
    }
    const { organizationId, transactionId } = current.row;
    const reloaded = await retryWhileUnavailable({ clock }, deadlineMs, () =>
      deps.transactions.findById(organizationId, transactionId),
    );
    current = reloaded ?? current;
  }
  throw new Error('the second reversal could not be stored after all retries');
}
