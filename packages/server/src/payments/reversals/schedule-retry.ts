// Leaves operations that have no answer to the jobs table.
import { responseCodeFacts } from '@switchyard/contract';
import {
  type AcquirerOutcome,
  type AcquirerRequestKind,
  isDuplicate,
  isUndecided,
} from '../../acquiring/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import {
  factsOf,
  type LoadedTransaction,
  type OperationKind,
  type OperationStatus,
  resolvedByHand,
  type StoredOperation,
} from '../transaction/transaction.ts';
import type { Step } from '../transaction/transition.ts';
import { nextReferenceFor, repeatJobFor } from './create-reversal.ts';
import { hasOurs, isMalfunction, wasApprovedMeanwhile } from './operation-outcome.ts';

/** Somebody has to look: a terminal counts where another one has counted before. */
export function alarmCollision(
  { log }: Pick<PaymentsDeps, 'log'>,
  of: { transactionId: string; number?: number },
): void {
  log.error(of, 'the acquirer has had the numbers of a message that was never sent before');
}

/** What an answer says became of an operation, where it says anything of it. */
function toldBy(
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  repeated: boolean,
): OperationStatus | undefined {
  if (outcome.outcome === 'Approved') return 'Succeeded';
  if (isDuplicate(outcome)) return hasOurs(operation, outcome, repeated) ? 'Succeeded' : undefined;
  const isOpen = isUndecided(outcome) || isMalfunction(outcome);
  return outcome.outcome === 'Declined' && !isOpen ? 'Declined' : undefined;
}

/**
 * Why an adapter sent nothing is for whoever looks for it, in its own words. A link that is away is warned of
 * once, and what it was not sent is counted: a line for each sale would be the same one for as long as it lasts.
 */
export function noteUnsent(
  { log }: Pick<PaymentsDeps, 'log'>,
  outcome: AcquirerOutcome,
  of: { transactionId: string; number?: number },
): void {
  if (outcome.outcome !== 'NotSent') return;
  log.debug({ ...of, reason: outcome.reason }, 'nothing was sent to the acquirer');
}

const contradiction = 'the acquirer contradicts what was resolved by hand';

/**
 * A message was under way while somebody ended its operation: the acquirer says something else of it after
 * all; or nothing, and may have booked what was ended as not done.
 */
export function alarmContradiction(
  { log }: Pick<PaymentsDeps, 'log'>,
  operation: StoredOperation,
  { outcome, repeated }: { outcome: AcquirerOutcome; repeated: boolean },
  transactionId: string,
): void {
  const { number, status, details } = operation;
  if (details.response?.reason !== resolvedByHand) return;
  const told = toldBy(operation, outcome, repeated);
  if (told !== undefined && told !== status) {
    log.error({ transactionId, number, status }, contradiction);
    return;
  }
  const isOpen = outcome.outcome === 'Unknown' || isUndecided(outcome);
  if (status !== 'Declined' || !isOpen) return;
  log.error(
    { transactionId, number, status },
    'what was resolved by hand as not done was under way, and may have been done',
  );
}

const operationKinds: Readonly<Partial<Record<AcquirerRequestKind, OperationKind>>> = {
  Capture: 'Capture',
  Refund: 'Refund',
  Reversal: 'Cancel',
};

/** An approval that comes late does not say of which message: of one of the kind that was ended as not done. */
export function alarmLateContradiction(
  { log }: Pick<PaymentsDeps, 'log'>,
  { row, operations }: LoadedTransaction,
  { kind, responseCode }: { kind: AcquirerRequestKind; responseCode: string },
): void {
  if (!responseCodeFacts(responseCode).approved) return;
  const ended = operations.find(
    ({ details, ...each }) =>
      each.kind === operationKinds[kind] &&
      each.status === 'Declined' &&
      details.response?.reason === resolvedByHand,
  );
  if (ended === undefined) return;
  const { number, status } = ended;
  log.error({ transactionId: row.transactionId, number, status, isLate: true }, contradiction);
}

const renewalsMax = 6;

/**
 * A reversal whose numbers the host has had from something else gets new ones: what is taken back is named
 * by the message, so that they take nothing back twice. Not for ever: a host that has had all of them
 * means something else, and somebody has to look.
 */
export async function renewedWhereTaken(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  operation: StoredOperation,
  of: { outcome: AcquirerOutcome; repeated: boolean; asSent: LoadedTransaction },
): Promise<StoredOperation> {
  const { details } = operation;
  const { renewals = 0 } = details;
  if (operation.kind !== 'Reversal') return operation;
  // Under the old numbers the host would say again what it has said, and do nothing.
  const takenBefore =
    wasApprovedMeanwhile(loaded, operation, of.asSent) &&
    toldBy(operation, of.outcome, of.repeated) === 'Succeeded';
  const isTaken = isDuplicate(of.outcome) && renewals < renewalsMax;
  if (!takenBefore && !isTaken) return operation;
  const reference = await nextReferenceFor(deps, loaded, 'Reversal');
  const renewed = { reference, renewals: renewals + 1, ...(takenBefore ? { takenBefore } : {}) };
  return { ...operation, details: { ...details, ...renewed } };
}

/** Leaves a sent operation to the jobs table, in one commit; that its numbers collide is noted on it. */
export function unansweredStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  operation: StoredOperation,
  collided: boolean,
): Step {
  const details = { ...operation.details, ...(collided ? { collided } : {}) };
  const { job, ...step } = pendingStep(deps, loaded, { ...operation, details });
  // Where it is Pending already it has its job.
  return operation.status === 'Sent' && job !== undefined ? { ...step, job } : step;
}

/** Leaves a sent operation without an answer to the jobs table, in one commit. */
export function pendingStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  operation: StoredOperation,
): Step {
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
    job: repeatJobFor(deps, loaded.row.transactionId, operation.number, at, {
      sent: true,
      lane: factsOf(loaded).linkId,
    }),
  };
}
