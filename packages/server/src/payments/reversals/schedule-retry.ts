// Schedules retries of operations without a response and raises reconciliation alerts.
import { responseCodeFacts } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  type AcquirerRequestKind,
  isDuplicateDecline,
  isIndeterminate,
} from '../../acquiring/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { OperationType } from '../transaction/state-machine.ts';
import {
  authorizationContext,
  manualResolutionReason,
  type OperationStatus,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';
import { allocateMessageReference, createRetryJob } from './create-reversal.ts';
import { isApprovedSinceSend, isDuplicateOfOurMessage, isHostError } from './operation-outcome.ts';

/** Somebody has to look: a terminal counts where another one has counted before. */
export function alertReferenceCollision(
  { log }: Pick<PaymentsDeps, 'log'>,
  message: { transactionId: string; number?: number },
): void {
  log.error(
    message,
    'the acquirer reports a duplicate for the first message with these references',
  );
}

/** What an answer says became of an operation, where it says anything of it. */
function statusFromOutcome(
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  isRepeat: boolean,
): OperationStatus | undefined {
  if (outcome.outcome === 'Approved') return 'Succeeded';
  if (isDuplicateDecline(outcome))
    return isDuplicateOfOurMessage(operation, outcome, isRepeat) ? 'Succeeded' : undefined;
  const hasNoOutcome = isIndeterminate(outcome) || isHostError(outcome);
  return outcome.outcome === 'Declined' && !hasNoOutcome ? 'Declined' : undefined;
}

/**
 * Why an adapter sent nothing is for whoever looks for it, in its own words. A link that is away is warned of
 * once, and what it was not sent is counted: a line for each sale would be the same one for as long as it lasts.
 */
export function logNotSent(
  { log }: Pick<PaymentsDeps, 'log'>,
  outcome: AcquirerOutcome,
  message: { transactionId: string; number?: number },
): void {
  if (outcome.outcome !== 'NotSent') return;
  log.debug({ ...message, reason: outcome.reason }, 'no message was sent to the acquirer');
}

const contradictionMessage = 'the acquirer response contradicts the manual resolution';

/**
 * A message was under way while somebody ended its operation: the acquirer says something else of it after
 * all; or nothing, and may have booked what was ended as not done.
 */
export function alertContradiction(
  { log }: Pick<PaymentsDeps, 'log'>,
  operation: StoredOperation,
  { outcome, isRepeat }: { outcome: AcquirerOutcome; isRepeat: boolean },
  transactionId: string,
): void {
  const { number, status, details } = operation;
  if (details.response?.reason !== manualResolutionReason) return;
  const provenStatus = statusFromOutcome(operation, outcome, isRepeat);
  if (provenStatus !== undefined && provenStatus !== status) {
    log.error({ transactionId, number, status }, contradictionMessage);
    return;
  }
  const hasNoOutcome = outcome.outcome === 'Unknown' || isIndeterminate(outcome);
  if (status !== 'Declined' || !hasNoOutcome) return;
  log.error(
    { transactionId, number, status },
    'an operation that was resolved as not done may have been processed by the acquirer',
  );
}

const operationTypeByRequestKind: Readonly<Partial<Record<AcquirerRequestKind, OperationType>>> = {
  Capture: 'Capture',
  Refund: 'Refund',
  Reversal: 'Cancel',
};

/** An approval that comes late does not say of which message: of one of the kind that was ended as not done. */
export function alertLateContradiction(
  { log }: Pick<PaymentsDeps, 'log'>,
  { row, operations }: TransactionRecord,
  { kind, responseCode }: { kind: AcquirerRequestKind; responseCode: string },
): void {
  if (!responseCodeFacts(responseCode).approved) return;
  const resolvedOperation = operations.find(
    ({ details, ...each }) =>
      each.kind === operationTypeByRequestKind[kind] &&
      each.status === 'Declined' &&
      details.response?.reason === manualResolutionReason,
  );
  if (resolvedOperation === undefined) return;
  const { number, status } = resolvedOperation;
  log.error(
    { transactionId: row.transactionId, number, status, isLate: true },
    contradictionMessage,
  );
}

const maxReferenceRenewals = 6;

/**
 * A reversal whose numbers the host has had from something else gets new ones: what is taken back is named
 * by the message, so that they take nothing back twice. Not for ever: a host that has had all of them
 * means something else, and somebody has to look.
 */
export async function renewReferenceIfUsed(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operation: StoredOperation,
  input: { outcome: AcquirerOutcome; isRepeat: boolean; transactionWhenSent: TransactionRecord },
): Promise<StoredOperation> {
  const { details } = operation;
  const { renewals = 0 } = details;
  if (operation.kind !== 'Reversal') return operation;
  // Under the old numbers the host would say again what it has said, and do nothing.
  const isReversalAcceptedBefore =
    isApprovedSinceSend(transaction, operation, input.transactionWhenSent) &&
    statusFromOutcome(operation, input.outcome, input.isRepeat) === 'Succeeded';
  const isReferenceUsed = isDuplicateDecline(input.outcome) && renewals < maxReferenceRenewals;
  if (!isReversalAcceptedBefore && !isReferenceUsed) return operation;
  const reference = await allocateMessageReference(deps, transaction, 'Reversal');
  const newDetails = {
    reference,
    renewals: renewals + 1,
    ...(isReversalAcceptedBefore ? { takenBefore: isReversalAcceptedBefore } : {}),
  };
  return { ...operation, details: { ...details, ...newDetails } };
}

/** Leaves a sent operation to the jobs table, in one commit; that its numbers collide is noted on it. */
export function retryTransitionWithCollision(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operation: StoredOperation,
  isReferenceCollision: boolean,
): Transition {
  const details = {
    ...operation.details,
    ...(isReferenceCollision ? { collided: isReferenceCollision } : {}),
  };
  const { job, ...transition } = retryTransition(deps, transaction, { ...operation, details });
  // Where it is Pending already it has its job.
  return operation.status === 'Sent' && job !== undefined ? { ...transition, job } : transition;
}

/** Leaves a sent operation without an answer to the jobs table, in one commit. */
export function retryTransition(
  deps: PaymentsDeps,
  transaction: TransactionRecord,
  operation: StoredOperation,
): Transition {
  const at = deps.clock.now();
  return {
    at,
    type:
      operation.kind === 'Reversal'
        ? 'transaction.reversal_queued'
        : `transaction.${operation.kind.toLowerCase()}_pending`,
    changes: {},
    data: { amount: operation.amount, reason: 'Unanswered' },
    operation: { ...operation, status: 'Pending', updatedAt: isoTime(at) },
    job: createRetryJob(deps, transaction.row.transactionId, operation.number, at, {
      sent: true,
      lane: authorizationContext(transaction).linkId,
    }),
  };
}
