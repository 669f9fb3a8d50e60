// Runs captures, refunds and cancellations: reserves the amount, calls the acquirer, stores the outcome.
import { defined, refuse } from '@switchyard/contract';
import type { AcquirerOutcome, AcquirerRequest } from '../../acquiring/index.ts';
import type { ApprovalAttempt, ApproveFunction } from '../approvals/check-approval-code.ts';
import { requireStoredCard } from '../card-input/require-stored-card.ts';
import type { PaymentsDeps } from '../deps.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import {
  isReferenceCollision,
  originalNotFoundFinalAt,
  outcomeTransition,
} from '../reversals/operation-outcome.ts';
import { acquirerReversalReason } from '../reversals/reversal-reason.ts';
import {
  alertContradiction,
  alertReferenceCollision,
  logNotSent,
  renewReferenceIfUsed,
  retryTransitionWithCollision,
} from '../reversals/schedule-retry.ts';
import { markOutcomeUnknown } from '../runtime/unknown-outcome.ts';
import { clearingEntryTransition, usesClearingFile } from '../transaction/clearing-entry.ts';
import { isAuthorizationExpired } from '../transaction/contract-terms.ts';
import {
  type ContractTerms,
  calculateOverCaptureAllowance,
  type OperationType,
} from '../transaction/state-machine.ts';
import {
  authorizationContext,
  type OperationStatus,
  type StoredOperation,
  saleOutcome,
  type TransactionChange,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { applyTransition, withChange } from '../transaction/transition.ts';
import { voidUnsubmittedSale } from '../transaction/void-before-submission.ts';
import {
  decideOperation,
  type OperationRequest,
  operationKindByType,
} from '../validation/validate-sale-request.ts';
import { insertReservation } from './insert-reservation.ts';
import {
  OtherOperationTypeTaken,
  refuseIdOfOtherCancel,
  replayOperation,
  requireNewOperationId,
  requireSameOperationType,
} from './operation-idempotency.ts';
import { reservationTransition } from './reserve-amount.ts';

export type OperationInput = OperationRequest & {
  clientOperationId?: string | undefined;
  cancelReason?: 'Technical' | 'Functional';
  reversalReason?: string | undefined;
  /** Who did it, for what is done by web. */
  actor?: string;
  /** Of a reversal: what the chip said at last, for DE55. */
  chipData?: string | undefined;
  /** Left out where no approval code applies. */
  approval?: ApprovalAttempt;
};

export type OperationResult = {
  transaction: TransactionRecord;
  /** Undefined where nothing was to be done. */
  operation: StoredOperation | undefined;
  replayed: boolean;
};

const maxConflictRetries = 20;

/** What of the contract that the sale was made under bounds an operation on it. */
export async function getContractTerms(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
): Promise<ContractTerms> {
  const { organizationId, contractId, overCapture } = transaction.row;
  const contract = await deps.provisioning.contract(organizationId, contractId);
  if (contract === undefined)
    throw new Error('the acquirer contract of the transaction does not exist');
  const { partialCancel, multipleCapture, overCapturePercent } = contract;
  // Of what was approved, which may be less than what was asked for.
  const approved = calculateOverCaptureAllowance(
    transaction.row.position.authorized,
    overCapturePercent,
  );
  const lapsed = isAuthorizationExpired(
    transaction,
    authorizationContext(transaction),
    deps.dueClock.now(),
  );
  return {
    partialCancel,
    multipleCapture,
    overCapture: Math.min(overCapture, approved),
    isAuthorizationExpired: lapsed,
  };
}

/**
 * Does one operation on a transaction.
 *
 * @throws Refusal of the state, the amount or the configuration, acquirer_unavailable and not_sent
 */
export async function runOperation(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<OperationResult> {
  await refuseIdOfOtherCancel(deps, transaction, operationType, input.clientOperationId);
  const existingResult = await replayOrRefuseNotSent(deps, transaction, operationType, input);
  if (existingResult !== undefined) return existingResult;
  await requireStoredCard(deps, transaction);
  const { approval, clientOperationId } = input;
  const approvalRequest = {
    operationType,
    approval,
    kind: operationKindByType[operationType],
    clientOperationId,
  };
  const approve: ApproveFunction = (transaction, amount) =>
    deps.approvals.approve(approvalRequest, transaction, amount);
  try {
    const reservation = await reserveAmount(deps, transaction, operationType, input, approve);
    if (!reservation.needsSending) return reservation.result;
    return await sendAndSettle(deps, reservation.result);
  } catch (error) {
    if (!(error instanceof DuplicateOperationId)) throw error;
    await refuseIdOfOtherCancel(deps, transaction, operationType, clientOperationId);
    const result = await replayOrRefuseNotSent(deps, transaction, operationType, input);
    if (result !== undefined) return result;
    // By web it may be the other one of the two that has it, perhaps of another transaction.
    if (input.actor !== undefined) throw new OtherOperationTypeTaken();
    return refuse(
      'concurrent_modification',
      'Another request changed this transaction at the same time. Retry the request.',
    );
  }
}

/** @throws Refusal not_sent, which the first request was told too */
async function replayOrRefuseNotSent(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
): Promise<OperationResult | undefined> {
  const existingResult = await replayOperation(deps, transaction, operationType, input);
  if (existingResult?.operation?.status === 'Failed') refuseNotSent();
  return existingResult;
}

/**
 * The same for the platform's own captures: of a transaction that was read a moment ago, under an
 * identifier that no client can give. What has it already is told as it stands.
 */
export async function runSystemOperation(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operationType: OperationType,
  input: OperationInput & { clientOperationId: string },
): Promise<OperationResult> {
  const existingOperation = transaction.operations.find(
    (each) => each.clientOperationId === input.clientOperationId,
  );
  if (existingOperation !== undefined)
    return { transaction: transaction, operation: existingOperation, replayed: true };
  if (!usesClearingFile(transaction, operationType)) await requireStoredCard(deps, transaction);
  const { needsSending, result } = await reserveAmount(
    deps,
    transaction,
    operationType,
    input,
    noApproval,
    transaction,
  );
  return needsSending ? sendAndSettle(deps, result) : result;
}

const noApproval: ApproveFunction = async () => undefined;

function refuseNotSent(): never {
  return refuse('not_sent', 'No message was sent. Retry with a new clientOperationId.');
}

type Reservation = { needsSending: boolean; result: OperationResult };

function reserveAmount(
  deps: PaymentsDeps,
  initial: TransactionRecord,
  operationType: OperationType,
  input: OperationInput,
  approve: ApproveFunction,
  prefetched?: TransactionRecord,
): Promise<Reservation> {
  const { organizationId, transactionId } = initial.row;
  return deps.inFlightTransactions.inTurn(transactionId, async () => {
    for (let attempt = 0; attempt < maxConflictRetries; attempt += 1) {
      // What is stale does not pass the guard of the commit, and is read then.
      const cached = attempt === 0 ? prefetched : undefined;
      const transaction =
        cached ?? (await deps.transactions.findById(organizationId, transactionId));
      if (transaction === undefined) throw new Error('the transaction does not exist');
      requireSameOperationType(transaction, operationType, input);
      requireNewOperationId(transaction, operationType, input);
      const terms = await getContractTerms(deps, transaction);
      const decision = decideOperation(transaction, operationType, input, terms);
      if (typeof decision === 'string') return withoutChange(transaction, decision);
      const { isVoidedLocally = false } = decision;
      const isInClearingFile = usesClearingFile(transaction, operationType);
      const needsLink = !isVoidedLocally && !isInClearingFile;
      const isReachable =
        !needsLink || deps.acquiring.isLinkAvailable(authorizationContext(transaction).linkId);
      // A reversal is accepted without the link; the server sends it later.
      if (!isReachable && operationType !== 'Reverse') {
        refuse('acquirer_unavailable', 'The acquirer link is not available. No message was sent.');
      }
      const approved = await approve(transaction, decision.amount);
      const isDeferred = decision.isAfterOutcome || !needsLink || !isReachable;
      const reservation = {
        ...decision,
        isDeferred,
        approvalCodeId: approved?.approvalCodeId,
      };
      let transition = await reservationTransition(
        deps,
        transaction,
        operationType,
        input,
        reservation,
      );
      if (isVoidedLocally) transition = voidUnsubmittedSale(transition);
      if (isInClearingFile) transition = clearingEntryTransition(transaction, transition);
      const change = applyTransition(transaction.row, transition);
      if (!(await insertReservation(deps, change, approved))) continue;
      deps.inFlightTransactions.notifyChange(transactionId);
      const result = {
        transaction: withChange(transaction, change),
        operation: transition.operation,
        replayed: false,
      };
      return { needsSending: !isDeferred, result };
    }
    return refuse(
      'concurrent_modification',
      'Too many concurrent requests for this transaction. Retry the request.',
    );
  });
}

function withoutChange(
  transaction: TransactionRecord,
  decision: 'Nothing' | 'Replay',
): Reservation {
  const last = transaction.operations.findLast((each) => each.kind === 'Reversal');
  const operation = decision === 'Replay' ? last : undefined;
  return {
    needsSending: false,
    result: { transaction, operation, replayed: decision === 'Replay' },
  };
}

/** Sends a reserved operation and settles it; without a final answer it is left to the jobs. */
async function sendAndSettle(
  deps: PaymentsDeps,
  reservation: OperationResult,
): Promise<OperationResult> {
  const { transaction, operation } = reservation;
  if (operation === undefined) return reservation;
  deps.failPoints.hit('after-intent');
  const outcome = isPastSendDeadline(deps, operation)
    ? ({ outcome: 'NotSent', reason: 'send deadline has passed' } as const)
    : await markOutcomeUnknown(sendOperation(deps, transaction, operation, false));
  logNotSent(deps, outcome, {
    transactionId: transaction.row.transactionId,
    number: operation.number,
  });
  const current = await markOutcomeUnknown(
    settleOperation(deps, transaction, operation.number, outcome),
  );
  const settledOperation = current.operations.find((each) => each.number === operation.number);
  if (outcome.outcome === 'NotSent' && settledOperation?.status === 'Failed') refuseNotSent();
  return { transaction: current, operation: settledOperation, replayed: false };
}

/** Whether the sweep may have taken an operation over from a process that was stopped meanwhile. */
function isPastSendDeadline(deps: PaymentsDeps, { deadline }: { deadline: number }): boolean {
  return deps.clock.now() > deadline - deps.acquirerTimeoutMs;
}

const acquirerKinds = {
  Capture: 'Capture',
  Refund: 'Refund',
  Cancel: 'Reversal',
  Reversal: 'Reversal',
} as const;

/** Sends an operation to the acquirer; `repeat` where it may have been sent before. */
export async function sendOperation(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operation: StoredOperation,
  isRepeat: boolean,
  onPossiblySent?: () => void,
): Promise<AcquirerOutcome> {
  const { row } = transaction;
  const context = authorizationContext(transaction);
  const card = await deps.vault.reveal(row.organizationId, context.card.token, {
    purpose: operation.kind,
    actor: operation.details.actor ?? `merchant ${row.merchantId}`,
    subjectId: row.transactionId,
  });
  if (card === undefined) throw new Error('the vault does not know the card of a sale');
  const authorizationCode = saleOutcome(transaction)?.authorizationCode;
  const request: AcquirerRequest = {
    kind: acquirerKinds[operation.kind],
    repeat: isRepeat,
    organizationId: row.organizationId,
    transactionId: row.transactionId,
    linkId: context.linkId,
    reference: operation.details.reference,
    merchantNumber: context.merchantNumber,
    mcc: context.mcc,
    amount: operation.amount,
    currency: row.currency,
    entryMode: context.entryMode,
    card,
    original: context.reference,
    ...defined({
      amounts: context.amounts?.cashback === undefined ? undefined : context.amounts,
      authorizationCode,
      isRemoteOrder: context.request['orderChannel'] === undefined ? undefined : true,
      chipData: operation.details.chipData,
    }),
    ...(operation.details.final === true ? { final: true } : {}),
    ...defined({ remainingAmount: operation.details.remainingAmount }),
  };
  if (request.kind === 'Reversal') request.reversalReason = acquirerReversalReason(operation);
  return deps.acquiring.send(request, () => {
    onPossiblySent?.();
    deps.failPoints.hit('after-send');
  });
}

const unfinishedStatuses: ReadonlySet<OperationStatus> = new Set(['Sent', 'Pending', 'Filed']);

/** What has failed was not sent: the code that approved it approves the next try, from the same commit on. */
function updateWithFinalStatus(
  { transactions: store, approvals }: PaymentsDeps,
  change: TransactionChange,
): Promise<boolean> {
  const { status, details } = change.operation ?? {};
  const approvalCodeId = status === 'Failed' ? details?.approvalCodeId : undefined;
  if (approvalCodeId === undefined) return store.update(change);
  return store.updateWith(change, (trx) =>
    approvals.restore(trx, change.after.organizationId, approvalCodeId),
  );
}

/** Makes an operation's outcome durable, whatever else has happened to the transaction meanwhile. */
export async function settleOperation(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  number: number,
  outcome: AcquirerOutcome,
  { queued: isQueued = false, repeated: isRepeat = false } = {},
): Promise<TransactionRecord> {
  const { organizationId, transactionId } = transaction.row;
  let current: TransactionRecord | undefined = transaction;
  for (let attempt = 0; attempt < maxConflictRetries * 5 && current !== undefined; attempt += 1) {
    const operation = current.operations.find((each) => each.number === number);
    if (operation === undefined) throw new Error('the operation does not exist');
    if (!unfinishedStatuses.has(operation.status)) {
      alertContradiction(deps, operation, { outcome, isRepeat }, transactionId);
      return current;
    }
    const transition = outcomeTransition(current, operation, outcome, {
      at: deps.clock.now(),
      isRepeat,
      originalNotFoundFinalAt: originalNotFoundFinalAt(deps, current, operation),
      transactionWhenSent: transaction,
    });
    if (transition === 'Unanswered') {
      const hasCollision = !isRepeat && isReferenceCollision(operation, outcome);
      const operationWithReference = await renewReferenceIfUsed(deps, current, operation, {
        outcome,
        isRepeat,
        transactionWhenSent: transaction,
      });
      const hasChanges = hasCollision || operationWithReference !== operation;
      // Already Pending and the jobs table has it: nothing new to tell.
      if (!hasChanges && (isQueued || operation.status === 'Pending')) return current;
      const retryTransition = retryTransitionWithCollision(
        deps,
        current,
        operationWithReference,
        hasCollision,
      );
      const change = applyTransition(current.row, retryTransition);
      if (await deps.transactions.update(change)) {
        if (hasCollision) alertReferenceCollision(deps, { transactionId, number });
        return withChange(current, change);
      }
    } else {
      const change = applyTransition(current.row, transition);
      if (await updateWithFinalStatus(deps, change)) {
        deps.inFlightTransactions.notifyChange(transactionId);
        return withChange(current, change);
      }
    }
    current = await deps.transactions.findById(organizationId, transactionId);
  }
  throw new Error('the outcome could not be stored after all retries');
}
