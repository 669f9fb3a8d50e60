// Reserves the amount of an operation in the database before the acquirer is called.
import { defined, throwProblem } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import type { Clock, Span } from '../../platform/index.ts';
import {
  type ApprovalChecker,
  ApprovalCodeUsed,
  type ApprovedCode,
} from '../approvals/check-approval-code.ts';
import type { TransactionRepository } from '../repository/transaction-repository.ts';
import { throwConcurrentModification, updateWithRetry } from '../repository/update-with-retry.ts';
import {
  createOperation,
  type ReversalPorts,
  reversalTransition,
} from '../reversals/create-reversal.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import { type OperationType, remainingAuthorized } from '../transaction/state-machine.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type OperationDetails,
  type TransactionChange,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import {
  applyTransition,
  clearingEntryTransition,
  type OperationTransition,
  usesClearingFile,
  voidUnsubmittedSale,
  withChange,
} from '../transaction/transition.ts';
import {
  type ContractPorts,
  decideOperation,
  getContractTerms,
  type OperationDecision,
  type OperationInput,
  type OperationResult,
} from './operation-decision.ts';
import { operationFingerprint, requireNewOperationId } from './operation-idempotency.ts';
import { eventTypes, reservationChanges } from './store-operation-outcome.ts';

export type ReservationPorts = ReversalPorts &
  ContractPorts & {
    transactions: Pick<
      TransactionRepository,
      'findById' | 'update' | 'updateWith' | 'claimWebOperationId'
    >;
    approvals: Pick<ApprovalChecker, 'approve' | 'consume'>;
    acquiring: Pick<Acquiring, 'isLinkAvailable'>;
    inFlightTransactions: Pick<InFlightTransactions, 'runExclusive' | 'notifyChange'>;
    clock: Clock;
  };

type Reservation = { needsSending: boolean; result: OperationResult };

/**
 * Decides and reserves, one request of a transaction after the other.
 *
 * @param transaction a recent read; an update from an older one fails its version check and reads again
 */
export function reserveAmount(
  ports: ReservationPorts,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<Reservation> {
  return ports.inFlightTransactions.runExclusive(transaction.row.transactionId, () =>
    updateWithRetry(
      ports.transactions,
      transaction,
      (current) => tryReserve(ports, current, operationType, input),
      throwConcurrentModification,
    ),
  );
}

async function tryReserve(
  ports: ReservationPorts,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<Reservation | undefined> {
  requireNewOperationId(transaction, operationType, input);
  const terms = await getContractTerms(ports, transaction);
  const decision = decideOperation(transaction, operationType, input, terms);
  if (typeof decision === 'string') {
    const replayed = decision === 'ReturnExisting';
    const lastReversal = transaction.operations.findLast(({ kind }) => kind === 'Reversal');
    const operation = replayed ? lastReversal : undefined;
    return { needsSending: false, result: { transaction, operation, replayed } };
  }
  const isInClearingFile = usesClearingFile(transaction, operationType);
  const needsLink = !decision.isVoidedLocally && !isInClearingFile;
  const isReachable =
    !needsLink || ports.acquiring.isLinkAvailable(authorizationContext(transaction).linkId);
  // A reversal is accepted without the link; the server sends it later.
  if (!isReachable && operationType !== 'Reversal') {
    throwProblem(
      'acquirer_unavailable',
      'The acquirer link is not available. No message was sent.',
    );
  }
  const { approval, clientOperationId } = input;
  const request = approval && { operationType, approval, clientOperationId };
  const approvedCode =
    request && (await ports.approvals.approve(request, transaction, decision.amount));
  const details = {
    ...createOperationDetails(transaction, operationType, input, decision),
    ...defined({ approvalCodeId: approvedCode?.approvalCodeId }),
  };
  const needsSending = needsLink && isReachable && !decision.isAfterOutcome;
  const plan = { ...decision, details, needsSending };
  let transition =
    operationType === 'Reversal'
      ? await reverseOnRequest(ports, transaction, input, plan)
      : await reservationTransition(ports, transaction, operationType, input, plan);
  if (decision.isVoidedLocally) transition = voidUnsubmittedSale(transition);
  if (isInClearingFile) transition = clearingEntryTransition(transaction, transition);
  const change = applyTransition(transaction.row, transition, input.span);
  if (!(await commitReservation(ports, change, approvedCode, input.span))) return undefined;
  ports.inFlightTransactions.notifyChange(transaction.row.transactionId);
  const { operation } = transition;
  const result = { transaction: withChange(transaction, change), operation, replayed: false };
  return { needsSending, result };
}

type PlannedOperation = OperationDecision & {
  details: Omit<OperationDetails, 'reference'>;
  needsSending: boolean;
};

async function reverseOnRequest(
  ports: ReservationPorts,
  transaction: TransactionRecord,
  { reversalReason, clientOperationId }: OperationInput,
  { amount, details, isAfterOutcome, needsSending }: PlannedOperation,
): Promise<OperationTransition> {
  const at = ports.clock.now();
  const { position, deadline } = transaction.row;
  // A sale that the host still processes is reversed after its time-out. An offline sale may be sent at any time.
  const sentBy =
    position.phase === 'Submitted' ? at + ports.acquirerTimeoutMs + commitGraceMs : deadline;
  const { job, ...transition } = await reversalTransition(ports, transaction, {
    at,
    amount,
    reason: reversalReason ?? 'Technical',
    clientOperationId,
    details,
    notBefore: isAfterOutcome ? sentBy : at,
  });
  return needsSending
    ? { ...transition, operation: { ...transition.operation, status: 'Sent' } }
    : { ...transition, ...defined({ job }) };
}

async function reservationTransition(
  ports: ReservationPorts,
  transaction: TransactionRecord,
  kind: Exclude<OperationType, 'Reversal'>,
  { actor, clientOperationId }: OperationInput,
  { amount, details }: PlannedOperation,
): Promise<OperationTransition> {
  const at = ports.clock.now();
  const newOperation = { kind, status: 'Sent', amount, clientOperationId, details } as const;
  const operation = await createOperation(ports, transaction, at, newOperation);
  return {
    at,
    type: eventTypes[kind][0],
    changes: reservationChanges(operation, 1),
    data: { amount, ...defined({ actor }) },
    operation,
  };
}

function createOperationDetails(
  { row: { position } }: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
  { amount, isFinal }: OperationDecision,
): Omit<OperationDetails, 'reference'> {
  const { actor, cancelReason, reversalReason, chipData } = input;
  const releasedAmount = Math.max(0, remainingAuthorized(position) - amount);
  // DE95: the part of the authorization that stays, captured or not.
  const remainingAmount = position.authorized - position.cancelled - amount;
  return {
    request: operationFingerprint(input),
    ...defined({ actor, cancelReason, reversalReason, chipData }),
    ...(isFinal ? { final: true, ...(releasedAmount > 0 ? { releasedAmount } : {}) } : {}),
    ...(operationType === 'Cancel' && remainingAmount > 0 ? { remainingAmount } : {}),
  };
}

/**
 * Commits the reservation with the use of its approval code and of its identifier by web. False after a concurrent
 * change of the transaction or of the approval code.
 *
 * @throws DuplicateOperationId
 */
async function commitReservation(
  { transactions, approvals }: ReservationPorts,
  change: TransactionChange,
  approvedCode: ApprovedCode | undefined,
  span: Span | undefined,
): Promise<boolean> {
  const { operation } = change;
  const isWebOperation =
    operation?.details.actor !== undefined && operation.clientOperationId !== undefined;
  if (approvedCode === undefined && !isWebOperation) return transactions.update(change, span);
  try {
    return await transactions.updateWith(change, async (trx) => {
      if (isWebOperation) await transactions.claimWebOperationId(trx, change);
      if (approvedCode !== undefined) await approvals.consume(trx, approvedCode);
    });
  } catch (error) {
    if (error instanceof ApprovalCodeUsed) return false;
    throw error;
  }
}
