// Stores the outcome of an operation.
import type { AcquirerOutcome } from '../../acquiring/index.ts';
import type { Clock, Log } from '../../platform/index.ts';
import type { ApprovalChecker } from '../approvals/check-approval-code.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { commitTransition, updateWithRetry } from '../repository/update-with-retry.ts';
import type { ReversalPorts } from '../reversals/create-reversal.ts';
import { decideOutcome } from '../reversals/operation-outcome.ts';
import { alertContradiction, alertReferenceCollision } from '../reversals/reconciliation-alerts.ts';
import { pendingTransition } from '../reversals/schedule-retry.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import type { RetryTime } from '../runtime/send-queued-message.ts';
import {
  type OperationStatus,
  operationByNumber,
  type TransactionChange,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, withChange } from '../transaction/transition.ts';
import { finalTransition } from './finish-operation.ts';

export type SettlePorts = ReversalPorts & {
  transactions: Pick<TransactionRepository, 'findById' | 'update' | 'updateWith'>;
  approvals: Pick<ApprovalChecker, 'restore'>;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  clock: Clock;
  log: Pick<Log, 'error'>;
};

type SettledOperation = {
  transaction: TransactionRecord;
  /** Undefined if the operation is finished. */
  retry?: RetryTime;
};

const unfinishedStatuses: ReadonlySet<OperationStatus> = new Set(['Sent', 'Pending', 'Filed']);

/** An operation that was not sent returns its approval code in the same commit. */
function updateFinished(
  { transactions, approvals }: SettlePorts,
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
export function settleOperation(
  ports: SettlePorts,
  transactionWhenSent: TransactionRecord,
  operationNumber: number,
  outcome: AcquirerOutcome,
  isRepeat = false,
): Promise<SettledOperation> {
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
