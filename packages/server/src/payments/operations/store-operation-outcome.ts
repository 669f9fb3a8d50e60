// Stores the outcome of an operation: its amount is booked or released, or the message is sent again.

import { defined } from '@switchyard/contract';
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import { type Clock, isoTime, type Log } from '../../platform/index.ts';
import type { ApprovalChecker } from '../approvals/check-approval-code.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { commitTransition, updateWithRetry } from '../repository/update-with-retry.ts';
import { createRetryJob, type ReversalPorts } from '../reversals/create-reversal.ts';
import { decideOutcome, type OutcomeResult } from '../reversals/operation-outcome.ts';
import { alertContradiction, alertReferenceCollision } from '../reversals/reconciliation-alerts.ts';
import { allocateMessageReference } from '../runtime/acquirer-messages.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import type { RetryTime } from '../runtime/send-queued-message.ts';
import { settlementDayForContext } from '../transaction/settlement-and-expiry.ts';
import {
  type OperationType,
  type Position,
  type PositionChanges,
  reversibleAmount,
} from '../transaction/state-machine.ts';
import {
  authorizationContext,
  type OperationStatus,
  operationByNumber,
  type StoredOperation,
  type TransactionChange,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, type Transition, withChange } from '../transaction/transition.ts';

export type StoreOutcomePorts = ReversalPorts & {
  transactions: Pick<TransactionRepository, 'findById' | 'update' | 'updateWith'>;
  approvals: Pick<ApprovalChecker, 'restore'>;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  clock: Clock;
  log: Pick<Log, 'error'>;
};

type StoredOutcome = {
  transaction: TransactionRecord;
  /** Undefined if the operation is finished. */
  retry?: RetryTime;
};

const unfinishedStatuses: ReadonlySet<OperationStatus> = new Set(['Sent', 'Pending', 'Filed']);

/** An operation that was not sent returns its approval code in the same commit. */
function updateFinished(
  { transactions, approvals }: StoreOutcomePorts,
  change: TransactionChange,
): Promise<boolean> {
  const { status, details } = change.operation ?? {};
  const approvalCodeId = status === 'Failed' ? details?.approvalCodeId : undefined;
  if (approvalCodeId === undefined) return transactions.update(change);
  return transactions.updateWith(change, (trx) =>
    approvals.restore(trx, change.after.organizationId, approvalCodeId),
  );
}

function responseOf(outcome: AcquirerOutcome): { code?: string; reason?: string } {
  return 'responseCode' in outcome
    ? { code: outcome.responseCode }
    : { reason: 'AcquirerUnavailable' };
}

/** @param transactionWhenSent the transaction as it was when the message was sent */
export function storeOperationOutcome(
  ports: StoreOutcomePorts,
  transactionWhenSent: TransactionRecord,
  operationNumber: number,
  outcome: AcquirerOutcome,
  isRepeat = false,
): Promise<StoredOutcome> {
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
        response: responseOf(outcome),
        approvedAmount: outcome.outcome === 'Approved' ? outcome.amount : undefined,
      });
      const change = applyTransition(current.row, transition);
      if (!(await updateFinished(ports, change))) return undefined;
      ports.inFlightTransactions.notifyChange(transactionId);
      return { transaction: withChange(current, change) };
    }
    const { retry } = result;
    const transition = await pendingTransition(ports, at, current, operation, result);
    if (transition === undefined) {
      // Without an update nothing checks the version: a user may have resolved the operation.
      return conflicts === 0 ? undefined : { transaction: current, retry };
    }
    const transaction = await commitTransition(ports.transactions, current, transition);
    if (transaction === undefined) return undefined;
    if (result.isCollision) alertReferenceCollision(ports, { transactionId, operationNumber });
    return { transaction, retry };
  });
}

/** After this number of renewals an operator must find the cause. */
const maxReferenceRenewals = 6;

/** Undefined if the operation is already Pending and nothing changes. */
async function pendingTransition(
  ports: ReversalPorts,
  at: number,
  transaction: TransactionRecord,
  operation: StoredOperation,
  { isCollision, newReference, isAccepted, retry }: Extract<OutcomeResult, { status: 'Pending' }>,
): Promise<Transition | undefined> {
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
  const transition = retryTransition(
    ports,
    at,
    transaction,
    { ...operation, details },
    isPossiblySent,
  );
  if (!isScheduled) return transition;
  const { job: _job, ...withoutJob } = transition;
  return withoutJob;
}

/** Makes a sent operation Pending, with the job that sends it again in the same commit. */
export function retryTransition(
  ports: ReversalPorts,
  at: number,
  transaction: TransactionRecord,
  operation: StoredOperation,
  isPossiblySent = true,
): Transition {
  return {
    at,
    type:
      operation.kind === 'Reversal'
        ? 'transaction.reversal_queued'
        : `transaction.${operation.kind.toLowerCase()}_pending`,
    changes: {},
    data: { amount: operation.amount, reason: 'Unanswered' },
    operation: { ...operation, status: 'Pending', updatedAt: isoTime(at) },
    job: createRetryJob(ports, transaction, operation.operationNumber, {
      dueAt: at,
      isPossiblySent,
    }),
  };
}

export const reservedAmountFields = {
  Capture: 'captureReserved',
  Cancel: 'cancelReserved',
  Refund: 'refundReserved',
} as const;

function bookedChanges(
  { row }: TransactionRecord,
  { kind, details }: StoredOperation,
  amount: number,
): PositionChanges {
  switch (kind) {
    case 'Capture':
      return { captured: amount, ...defined({ cancelled: details.releasedAmount }) };
    case 'Refund':
      return { refunded: amount };
    case 'Cancel':
      return { cancelled: amount };
    case 'Reversal':
      return reversalChanges(row.position);
  }
}

/** Releases the authorized amount, and the amount that an unconfirmed sale captured. */
function reversalChanges(position: Position): PositionChanges {
  const { captured } = position;
  return {
    phase: 'Reversed',
    cancelled: reversibleAmount(position),
    ...(captured > 0 ? { captured: -captured } : {}),
  };
}

/** Releases the reserved amount, and the reserved rest of a final capture. */
function releaseChanges({ kind, amount, details }: StoredOperation): PositionChanges {
  if (kind === 'Reversal') return {};
  const changes: PositionChanges = { [reservedAmountFields[kind]]: -amount };
  if (details.releasedAmount !== undefined) changes.cancelReserved = -details.releasedAmount;
  return changes;
}

const successEventTypes: Readonly<Record<OperationType, string>> = {
  Capture: 'transaction.captured',
  Refund: 'transaction.refunded',
  Cancel: 'transaction.cancelled',
  Reversal: 'transaction.reversed',
};

const failureEventTypes: Readonly<Record<OperationType, string>> = {
  Capture: 'transaction.capture_failed',
  Refund: 'transaction.refund_failed',
  Cancel: 'transaction.cancel_failed',
  Reversal: 'transaction.reversal_queued',
};

/** The store's settlement day of a capture: of its approval, or of its clearing file. */
function settlementDateOf(
  transaction: TransactionRecord,
  { kind, details }: StoredOperation,
  at: number,
): string | undefined {
  if (kind !== 'Capture') return undefined;
  return (
    details.settlementDate ?? settlementDayForContext(authorizationContext(transaction), at).date
  );
}

type FinalResult = {
  /** Epoch ms. */
  at: number;
  status: 'Succeeded' | 'Declined' | 'Failed';
  response: { code?: string; reason?: string };
  /** The part of a capture or refund that the host approved, in minor units; all if absent. */
  approvedAmount?: number | undefined;
};

export function finalTransition(
  transaction: TransactionRecord,
  operation: StoredOperation,
  { at, status, response, approvedAmount = operation.amount }: FinalResult,
): Transition {
  const isDone = status === 'Succeeded';
  const canBePartial = operation.kind === 'Capture' || operation.kind === 'Refund';
  const amount = canBePartial ? Math.min(operation.amount, approvedAmount) : operation.amount;
  // The acquirer has the chip data now.
  const { chipData: _chip, ...details } = operation.details;
  const settlementDate = isDone ? settlementDateOf(transaction, operation, at) : undefined;
  const outcomeMembers = { ...defined({ settlementDate }), response };
  return {
    at,
    type: (isDone ? successEventTypes : failureEventTypes)[operation.kind],
    changes: {
      ...releaseChanges(operation),
      ...(isDone ? bookedChanges(transaction, operation, amount) : {}),
    },
    data: { amount, ...outcomeMembers },
    operation: {
      ...operation,
      amount,
      status,
      details: { ...details, ...outcomeMembers },
      updatedAt: isoTime(at),
    },
  };
}
