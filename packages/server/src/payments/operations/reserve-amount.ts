// Reserves the amount of an operation in the database before the acquirer is called.
import { defined, refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Acquiring } from '../../acquiring/index.ts';
import { type Clock, isoTime } from '../../platform/index.ts';
import {
  type ApprovalChecker,
  ApprovalCodeUsed,
  type ApprovedCode,
} from '../approvals/check-approval-code.ts';
import { queryRows } from '../repository/sql-statements.ts';
import {
  DuplicateOperationId,
  type TransactionRepository,
} from '../repository/transaction-repository.ts';
import { refuseConcurrentModification, updateWithRetry } from '../repository/update-with-retry.ts';
import { type ReversalPorts, reversalTransition } from '../reversals/create-reversal.ts';
import { allocateMessageReference } from '../runtime/acquirer-messages.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import {
  type OperationType,
  type PositionChanges,
  remainingAuthorized,
} from '../transaction/state-machine.ts';
import { commitGraceMs } from '../transaction/time-limits.ts';
import {
  authorizationContext,
  type OperationDetails,
  type StoredOperation,
  type TransactionChange,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import {
  applyTransition,
  clearingEntryTransition,
  type Transition,
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
import { reservedAmountFields } from './store-operation-outcome.ts';

export type ReservationPorts = ReversalPorts &
  ContractPorts & {
    transactions: Pick<TransactionRepository, 'findById' | 'update' | 'updateWith'>;
    approvals: Pick<ApprovalChecker, 'approve' | 'consume'>;
    acquiring: Pick<Acquiring, 'isLinkAvailable'>;
    inFlightTransactions: Pick<InFlightTransactions, 'inTurn' | 'notifyChange'>;
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
  return ports.inFlightTransactions.inTurn(transaction.row.transactionId, () =>
    updateWithRetry(
      ports.transactions,
      transaction,
      (current) => tryReserve(ports, current, operationType, input),
      refuseConcurrentModification,
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
  if (typeof decision === 'string') return withoutChange(transaction, decision);
  const { isVoidedLocally = false } = decision;
  const isInClearingFile = usesClearingFile(transaction, operationType);
  const needsLink = !isVoidedLocally && !isInClearingFile;
  const isReachable =
    !needsLink || ports.acquiring.isLinkAvailable(authorizationContext(transaction).linkId);
  // A reversal is accepted without the link; the server sends it later.
  if (!isReachable && operationType !== 'Reversal') {
    refuse('acquirer_unavailable', 'The acquirer link is not available. No message was sent.');
  }
  const { approval, clientOperationId } = input;
  const approvedCode =
    approval &&
    (await ports.approvals.approve(
      { operationType, approval, clientOperationId },
      transaction,
      decision.amount,
    ));
  const details = createOperationDetails(
    transaction,
    operationType,
    input,
    decision,
    approvedCode?.approvalCodeId,
  );
  const needsSending = needsLink && isReachable && !decision.isAfterOutcome;
  const plan = { ...decision, details, needsSending };
  let transition =
    operationType === 'Reversal'
      ? await reverseOnRequest(ports, transaction, input, plan)
      : await reservationTransition(ports, transaction, operationType, input, plan);
  if (isVoidedLocally) transition = voidUnsubmittedSale(transition);
  if (isInClearingFile) transition = clearingEntryTransition(transaction, transition);
  const change = applyTransition(transaction.row, transition);
  if (!(await commitReservation(ports, change, approvedCode))) return undefined;
  ports.inFlightTransactions.notifyChange(transaction.row.transactionId);
  const result = {
    transaction: withChange(transaction, change),
    operation: transition.operation,
    replayed: false,
  };
  return { needsSending, result };
}

function withoutChange(
  transaction: TransactionRecord,
  decision: 'NoOp' | 'ReturnExisting',
): Reservation {
  const replayed = decision === 'ReturnExisting';
  const lastReversal = transaction.operations.findLast(({ kind }) => kind === 'Reversal');
  const operation = replayed ? lastReversal : undefined;
  return { needsSending: false, result: { transaction, operation, replayed } };
}

type PlannedOperation = OperationDecision & {
  details: Omit<OperationDetails, 'reference'>;
  needsSending: boolean;
};

async function reverseOnRequest(
  ports: ReservationPorts,
  transaction: TransactionRecord,
  input: OperationInput,
  { amount, details, isAfterOutcome, needsSending }: PlannedOperation,
): Promise<Transition> {
  const at = ports.clock.now();
  const { job, operation, ...transition } = await reversalTransition(ports, transaction, {
    at,
    amount,
    reason: input.reversalReason ?? 'Technical',
    clientOperationId: input.clientOperationId,
    details,
    // A sale that the host still processes is reversed after its time-out.
    ...defined({
      notBefore: isAfterOutcome
        ? lastPossibleSendTime(ports.acquirerTimeoutMs, transaction, at)
        : undefined,
    }),
  });
  if (operation === undefined) throw new Error('a reversal has no operation');
  return needsSending
    ? { ...transition, operation: { ...operation, status: 'Sent' } }
    : { ...transition, operation, ...defined({ job }) };
}

async function reservationTransition(
  ports: ReservationPorts,
  transaction: TransactionRecord,
  operationType: Exclude<OperationType, 'Reversal'>,
  { actor, clientOperationId }: OperationInput,
  { amount, details }: PlannedOperation,
): Promise<Transition> {
  const at = ports.clock.now();
  const iso = isoTime(at);
  const messageKind = operationType === 'Cancel' ? 'Reversal' : operationType;
  const reference = await allocateMessageReference(ports, transaction, messageKind);
  const operation: StoredOperation = {
    operationNumber: transaction.row.operationCount + 1,
    operationId: ports.ids.uuid(),
    kind: operationType,
    status: 'Sent',
    amount,
    clientOperationId,
    details: { ...details, reference },
    deadline: at + ports.acquirerTimeoutMs + commitGraceMs,
    createdAt: iso,
    updatedAt: iso,
  };
  const changes: PositionChanges = { [reservedAmountFields[operationType]]: amount };
  if (details.releasedAmount !== undefined) changes.cancelReserved = details.releasedAmount;
  return {
    at,
    type: `transaction.${operationType.toLowerCase()}_pending`,
    changes,
    data: { amount, ...defined({ actor }) },
    operation,
  };
}

/** After this time the sale is not sent any more. An offline sale may be sent at any time. */
function lastPossibleSendTime(
  acquirerTimeoutMs: number,
  { row }: TransactionRecord,
  at: number,
): number {
  const isOffline = row.position.phase === 'Submitted';
  return isOffline ? at + acquirerTimeoutMs + commitGraceMs : row.deadline;
}

function createOperationDetails(
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
  { amount, isFinal }: OperationDecision,
  approvalCodeId: string | undefined,
): Omit<OperationDetails, 'reference'> {
  const { authorized, cancelled } = transaction.row.position;
  const releasedAmount = Math.max(0, remainingAuthorized(transaction.row.position) - amount);
  // DE95: the part of the authorization that stays, captured or not.
  const remainingAmount = authorized - cancelled - amount;
  return {
    request: operationFingerprint(input),
    ...defined({ actor: input.actor, approvalCodeId }),
    ...(isFinal ? { final: true, ...(releasedAmount > 0 ? { releasedAmount } : {}) } : {}),
    ...defined({
      cancelReason: input.cancelReason,
      reversalReason: input.reversalReason,
      chipData: input.chipData,
    }),
    ...(operationType === 'Cancel' && remainingAmount > 0 ? { remainingAmount } : {}),
  };
}

/**
 * By web one identifier names a refund or a cancel, of any transaction. A concurrent insert waits for the row of
 * the first one, also in another process.
 */
const claimWebOperationIdText = `INSERT INTO refund_by_web_ids
    (organization_id, client_operation_id, merchant_id, transaction_id, operation_number)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING operation_number`;

async function claimWebOperationId(
  trx: Kysely<unknown>,
  { after, operation }: TransactionChange,
): Promise<void> {
  const { organizationId, merchantId, transactionId } = after;
  const rows = await queryRows(trx, claimWebOperationIdText, [
    organizationId,
    operation?.clientOperationId,
    merchantId,
    transactionId,
    operation?.operationNumber,
  ]);
  if (rows.length === 0) throw new DuplicateOperationId();
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
): Promise<boolean> {
  const { operation } = change;
  const isWebOperation =
    operation?.details.actor !== undefined && operation.clientOperationId !== undefined;
  if (approvedCode === undefined && !isWebOperation) return transactions.update(change);
  try {
    return await transactions.updateWith(change, async (trx) => {
      if (isWebOperation) await claimWebOperationId(trx, change);
      if (approvedCode !== undefined) await approvals.consume(trx, approvedCode);
    });
  } catch (error) {
    if (error instanceof ApprovalCodeUsed) return false;
    throw error;
  }
}
