// Stores the outcome of an operation: its amount is booked or released, or the message is sent again.
import { defined } from '@switchyard/contract';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { type Clock, isoTime, type Log, type Span } from '../../platform/index.ts';
import type { ApprovalChecker } from '../approvals/check-approval-code.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { commitTransition, updateWithRetry } from '../repository/update-with-retry.ts';
import { createRetryJob, type ReversalPorts } from '../reversals/create-reversal.ts';
import {
  classifyResponse,
  decideOutcome,
  type OutcomeResult,
} from '../reversals/operation-outcome.ts';
import { alertContradiction, alertReferenceCollision } from '../reversals/reconciliation-alerts.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { allocateMessageReference } from '../runtime/message-reference-and-unknown-outcome.ts';
import type { PaymentMetrics } from '../runtime/payment-metrics.ts';
import type { RetryTime } from '../runtime/send-queued-message.ts';
import { settlementDayForContext } from '../transaction/settlement-and-expiry.ts';
import {
  type OperationType,
  operationAmounts,
  type PositionChanges,
  reversibleAmount,
} from '../transaction/state-machine.ts';
import {
  authorizationContext,
  type OperationDetails,
  type OperationStatus,
  operationByNumber,
  type StoredOperation,
  type TransactionChange,
  type TransactionRecord,
  withAssignedReference,
} from '../transaction/transaction.ts';
import {
  applyTransition,
  type OperationTransition,
  withChange,
} from '../transaction/transition.ts';
import type { SendContext } from './send-operation.ts';

export type StoreOutcomePorts = ReversalPorts & {
  transactions: Pick<TransactionRepository, 'findById' | 'update' | 'updateWith'>;
  approvals: Pick<ApprovalChecker, 'restore'>;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  paymentMetrics: Pick<PaymentMetrics, 'recordFinished'>;
  clock: Clock;
  log: Pick<Log, 'error'>;
};

const unfinishedStatuses: ReadonlySet<OperationStatus> = new Set(['Sent', 'Pending', 'Filed']);

/** An operation that was not sent returns its approval code in the same commit. */
function updateFinished(
  { transactions, approvals }: StoreOutcomePorts,
  change: TransactionChange,
  span: Span | undefined,
): Promise<boolean> {
  const { status, details } = change.operation ?? {};
  const approvalCodeId = status === 'Failed' ? details?.approvalCodeId : undefined;
  if (approvalCodeId === undefined) return transactions.update(change, span);
  return transactions.updateWith(change, (trx) =>
    approvals.restore(trx, change.after.organizationId, approvalCodeId),
  );
}

/**
 * @param transactionWhenSent the transaction as it was when the message was sent
 * @returns without `retry` if the operation is finished
 */
export function storeOperationOutcome(
  ports: StoreOutcomePorts,
  transactionWhenSent: TransactionRecord,
  operationNumber: number,
  outcome: AcquirerOutcome,
  { isRepeat, span }: SendContext = { isRepeat: false, span: undefined },
): Promise<{ transaction: TransactionRecord; retry?: RetryTime }> {
  const { transactionId } = transactionWhenSent.row;
  return updateWithRetry(ports.transactions, transactionWhenSent, async (current, conflicts) => {
    const operation = operationByNumber(current, operationNumber);
    if (operation === undefined) throw new Error('the operation does not exist');
    if (!unfinishedStatuses.has(operation.status)) {
      alertContradiction(ports, operation, { outcome, isRepeat }, transactionId);
      return { transaction: current };
    }
    const at = ports.clock.now();
    const { acquirerTimeoutMs } = ports;
    const input = { at, isRepeat, acquirerTimeoutMs, transactionWhenSent };
    const result = decideOutcome(current, operation, outcome, input);
    if (result.status !== 'Pending') {
      const transition = finalTransition(current, operation, {
        at,
        status: result.status,
        response:
          'responseCode' in outcome
            ? { code: outcome.responseCode }
            : { reason: 'AcquirerUnavailable' },
        approvedAmount: outcome.outcome === 'Approved' ? outcome.amount : undefined,
        retrievalReference: 'responseCode' in outcome ? outcome.retrievalReference : undefined,
      });
      const change = applyTransition(current.row, transition, span);
      if (!(await updateFinished(ports, change, span))) return undefined;
      ports.paymentMetrics.recordFinished(current, operation, at);
      ports.inFlightTransactions.notifyChange(transactionId);
      return { transaction: withChange(current, change) };
    }
    const { retry } = result;
    const event = { at, reason: pendingReason(outcome) };
    const transition = await pendingTransition(ports, current, operation, result, event);
    if (transition === undefined) {
      // Without an update nothing checks the version: a user may have resolved the operation.
      return conflicts === 0 ? undefined : { transaction: current, retry };
    }
    const transaction = await commitTransition(ports.transactions, current, transition, span);
    if (transaction === undefined) return undefined;
    if (result.isCollision) alertReferenceCollision(ports, { transactionId, operationNumber });
    return { transaction, retry };
  });
}

/** Reason of the event of an operation that stays Pending: its response, as the outcome tables name it. */
function pendingReason(outcome: AcquirerOutcome): string {
  if (outcome.outcome === 'Unknown') return 'Unanswered';
  return outcome.outcome === 'NotSent' ? 'AcquirerUnavailable' : classifyResponse(outcome);
}

/** After this number of renewals an operator must find the cause. */
const maxReferenceRenewals = 6;

/** Undefined if the operation is already Pending and nothing changes. */
async function pendingTransition(
  ports: ReversalPorts,
  transaction: TransactionRecord,
  operation: StoredOperation,
  { isCollision, newReference, isAccepted, retry }: Extract<OutcomeResult, { status: 'Pending' }>,
  event: { at: number; reason: string },
): Promise<OperationTransition | undefined> {
  const { referenceRenewalCount = 0 } = operation.details;
  const details = { ...operation.details };
  if (isCollision) details.hasReferenceCollision = true;
  const needsReference =
    newReference === 'Always' ||
    (newReference === 'UpToLimit' && referenceRenewalCount < maxReferenceRenewals);
  if (needsReference) {
    details.reference = await allocateMessageReference(ports, transaction, 'Reversal');
    details.referenceRenewalCount = referenceRenewalCount + 1;
  }
  if (isAccepted) details.reversalAcceptedBefore = true;
  const isScheduled = operation.status === 'Pending';
  if (isScheduled && !isCollision && !needsReference) return undefined;
  // What was not sent must not travel as a repeat: its duplicate response would prove nothing.
  const isPossiblySent = retry !== 'WhenLinkIsUp';
  const retryEvent = { ...event, isPossiblySent };
  const transition = retryTransition(ports, transaction, { ...operation, details }, retryEvent);
  if (isScheduled) delete transition.job;
  return transition;
}

/** Makes a sent operation Pending, with the job that sends it again in the same commit. */
export function retryTransition(
  ports: ReversalPorts,
  transaction: TransactionRecord,
  operation: StoredOperation,
  { at, reason, isPossiblySent }: { at: number; reason: string; isPossiblySent: boolean },
): OperationTransition {
  const { kind, amount } = operation;
  return {
    at,
    type: eventTypes[kind][0],
    changes: {},
    data: { amount, reason },
    operation: { ...operation, status: 'Pending', updatedAt: isoTime(at) },
    job: createRetryJob(ports, transaction, operation, at, isPossiblySent),
  };
}

/** Events of each operation: it is pending, it succeeded, it failed. */
export const eventTypes: Readonly<Record<OperationType, readonly [string, string, string]>> = {
  Capture: ['transaction.capture_pending', 'transaction.captured', 'transaction.capture_failed'],
  Refund: ['transaction.refund_pending', 'transaction.refunded', 'transaction.refund_failed'],
  Cancel: ['transaction.cancel_pending', 'transaction.cancelled', 'transaction.cancel_failed'],
  Reversal: ['transaction.reversal_queued', 'transaction.reversed', 'transaction.reversal_queued'],
};

/**
 * Reserves the amount of the operation and the released rest of a final capture.
 *
 * @param sign -1 releases them
 */
export function reservationChanges(
  { kind, amount, details: { releasedAmount } }: StoredOperation,
  sign: 1 | -1,
): PositionChanges {
  if (kind === 'Reversal') return {};
  const changes: PositionChanges = { [operationAmounts[kind].reserved]: sign * amount };
  if (releasedAmount !== undefined) changes.cancelReserved = sign * releasedAmount;
  return changes;
}

function bookedChanges(
  { row: { position } }: TransactionRecord,
  { kind, details: { releasedAmount } }: StoredOperation,
  amount: number,
): PositionChanges {
  if (kind !== 'Reversal')
    return { [operationAmounts[kind].booked]: amount, ...defined({ cancelled: releasedAmount }) };
  // An unconfirmed sale may have captured its amount.
  const captured = position.captured > 0 ? -position.captured : undefined;
  return { phase: 'Reversed', cancelled: reversibleAmount(position), ...defined({ captured }) };
}

type FinalResult = {
  /** Epoch ms. */
  at: number;
  status: 'Succeeded' | 'Declined' | 'Failed';
  response: { code?: string; reason?: string };
  /** The part of a capture or refund that the host approved, in minor units; all if absent. */
  approvedAmount?: number | undefined;
  /** The number that the host assigned to the message. */
  retrievalReference?: string | undefined;
};

export function finalTransition(
  transaction: TransactionRecord,
  operation: StoredOperation,
  { at, status, response, approvedAmount = operation.amount, retrievalReference }: FinalResult,
): OperationTransition {
  const { kind } = operation;
  const isDone = status === 'Succeeded';
  const canBePartial = kind === 'Capture' || kind === 'Refund';
  const amount = canBePartial ? Math.min(operation.amount, approvedAmount) : operation.amount;
  // The acquirer has the chip data now.
  const { chipData: _chip, ...details } = operation.details;
  const outcomeMembers: Pick<OperationDetails, 'reference' | 'settlementDate' | 'response'> = {
    reference: withAssignedReference(details.reference, retrievalReference),
    response,
  };
  if (isDone && kind === 'Capture') {
    // The store's settlement day of the approval, or of the clearing file.
    outcomeMembers.settlementDate =
      details.settlementDate ?? settlementDayForContext(authorizationContext(transaction), at).date;
  }
  return {
    at,
    type: eventTypes[kind][isDone ? 1 : 2],
    changes: {
      ...reservationChanges(operation, -1),
      ...(isDone ? bookedChanges(transaction, operation, amount) : {}),
    },
    data: { amount, response, ...defined({ settlementDate: outcomeMembers.settlementDate }) },
    operation: {
      ...operation,
      amount,
      status,
      details: { ...details, ...outcomeMembers },
      updatedAt: isoTime(at),
    },
  };
}
