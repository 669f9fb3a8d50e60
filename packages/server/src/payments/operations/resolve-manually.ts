// Manual resolution of an operation without a response, after a check with the acquirer.
import {
  defined,
  type OperationResolveRequest,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { type AuditRecorder, actorOf } from '../../audit/index.ts';
import type { Caller } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { throwConcurrentModification, updateWithRetry } from '../repository/update-with-retry.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import type { PaymentMetrics } from '../runtime/payment-metrics.ts';
import {
  manualResolutionReason,
  operationByNumber,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import {
  applyTransition,
  type OperationTransition,
  withChange,
} from '../transaction/transition.ts';
import type { OperationResult } from './operation-decision.ts';
import { finalTransition } from './store-operation-outcome.ts';

/** Longer than the attempts before the alert take: until then a response may still arrive. */
const resolvableAfterMs = 600_000;

export type ManualResolution = OperationResolveRequest & { number: number };

/** A Pending operation with an alert, for its attempts or for a reference collision. */
function isResolvable({ status, details, createdAt }: StoredOperation, now: number): boolean {
  if (status !== 'Pending') return false;
  return details.hasReferenceCollision === true || now >= Date.parse(createdAt) + resolvableAfterMs;
}

/** @throws ProblemError resolution_not_possible, transaction_not_found */
export function resolutionTransition(
  current: TransactionRecord,
  { number, outcome, note }: ManualResolution,
  { at, actor }: { at: number; actor: string },
): OperationTransition | 'Done' {
  const operation = operationByNumber(current, number);
  if (operation === undefined) {
    return throwProblem(
      'transaction_not_found',
      'The transaction has no operation with this number.',
    );
  }
  const status = outcome === 'Succeeded' ? 'Succeeded' : 'Declined';
  const isResolved = operation.details.response?.reason === manualResolutionReason;
  if (isResolved && operation.status === status) return 'Done';
  if (!isResolvable(operation, at)) {
    throwProblem(
      'resolution_not_possible',
      'The operation is finished, or it can still receive a response.',
    );
  }
  if (operation.kind === 'Reversal' && outcome === 'Failed') {
    throwProblem('resolution_not_possible', 'A reversal can be resolved as Succeeded only.');
  }
  const response = { reason: manualResolutionReason };
  const transition = finalTransition(current, operation, { at, status, response });
  return { ...transition, data: { ...transition.data, actor, note } };
}

const auditView = ({ kind, status, amount }: StoredOperation) => ({ kind, status, amount });

export type ResolvePorts = {
  transactions: Pick<TransactionRepository, 'findById' | 'updateWith'>;
  audit: Pick<AuditRecorder, 'record'>;
  inFlightTransactions: Pick<InFlightTransactions, 'notifyChange'>;
  paymentMetrics: Pick<PaymentMetrics, 'recordFinished'>;
  clock: Clock;
};

/**
 * Finishes an operation as the records of the acquirer say, with an audit record. A repeated request has no effect.
 *
 * @throws ProblemError resolution_not_possible, transaction_not_found, field_invalid, concurrent_modification
 */
export async function resolveManually(
  { transactions, audit, inFlightTransactions, paymentMetrics, clock }: ResolvePorts,
  { caller, id }: { caller: Caller; id: string },
  transaction: TransactionRecord,
  resolution: ManualResolution,
): Promise<OperationResult> {
  if (holdsCardNumber(resolution.note))
    throwFieldProblem(
      'field_invalid',
      '/note',
      'The note contains text that looks like a card number.',
    );
  const { organizationId, transactionId, merchantId } = transaction.row;
  const attempt = async (current: TransactionRecord): Promise<OperationResult | undefined> => {
    const actorAndTime = { at: clock.now(), actor: caller.subject };
    const transition = resolutionTransition(current, resolution, actorAndTime);
    const operationBefore = operationByNumber(current, resolution.number);
    if (transition === 'Done')
      return { transaction: current, operation: operationBefore, replayed: true };
    const { operation } = transition;
    const change = applyTransition(current.row, transition);
    const isUpdated = await transactions.updateWith(change, (trx) =>
      audit.record(trx, {
        ...actorOf(caller, id),
        organizationId,
        action: 'operation.resolved',
        entity: { type: 'transaction', id: transactionId, merchantId },
        ...defined({ before: operationBefore && auditView(operationBefore) }),
        after: { ...auditView(operation), note: resolution.note },
      }),
    );
    if (!isUpdated) return undefined;
    inFlightTransactions.notifyChange(transactionId);
    paymentMetrics.recordFinished(current, operation, actorAndTime.at);
    return { transaction: withChange(current, change), operation, replayed: false };
  };
  return updateWithRetry(transactions, transaction, attempt, throwConcurrentModification);
}
