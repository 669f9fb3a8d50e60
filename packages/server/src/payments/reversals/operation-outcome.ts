// Decides the transition of an operation from the acquirer outcome. Pure.

import {
  type AcquirerOutcome,
  isDuplicateDecline,
  isIndeterminate,
} from '../../acquiring/index.ts';
import { isoTime } from '../../platform/index.ts';
import { wasApprovedAtHost } from '../transaction/approval-evidence.ts';
import { settlementDayForContext } from '../transaction/contract-terms.ts';
import {
  type Position,
  type PositionChanges,
  reversibleAmount,
} from '../transaction/state-machine.ts';
import {
  authorizationContext,
  type OperationStatus,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';

/** The host knows no such original; it may still be on its way there for a while. */
const originalNotFoundCode = '25';
/** Nobody has judged the message: the host, or the way to the issuer, is out of order for a while. */
const hostErrorCodes: ReadonlySet<string> = new Set([
  '06',
  '09',
  '19',
  '68',
  '90',
  '91',
  '92',
  '96',
  'N0',
]);

/** The host reports a technical error that does not decide the operation. */
export const isHostError = (outcome: AcquirerOutcome): boolean =>
  outcome.outcome === 'Declined' && hostErrorCodes.has(outcome.responseCode);

/** The host reports a duplicate of our earlier message, so the operation is done. */
export const isDuplicateOfOurMessage = (
  { details }: StoredOperation,
  outcome: AcquirerOutcome,
  isRepeat: boolean,
): boolean => isDuplicateDecline(outcome) && isRepeat && details.collided !== true;

/** The host reports a duplicate of a first message: another message used the references. */
export const isReferenceCollision = (
  operation: StoredOperation,
  outcome: AcquirerOutcome,
): boolean => isDuplicateDecline(outcome) && operation.details.collided !== true;

/** Earlier reversals of the sale that have ended, but for those of a sale that the host did not know. */
const earlierSucceededReversals = (
  { operations }: TransactionRecord,
  { number }: StoredOperation,
) =>
  operations.filter(
    ({ kind, status, details, ...each }) =>
      kind === 'Reversal' &&
      each.number < number &&
      status === 'Succeeded' &&
      details.response?.code !== originalNotFoundCode,
  );

/** The host has taken an earlier reversal, or its books say so: a second one may be a duplicate to it. */
const hasEarlierReversal = (transaction: TransactionRecord, operation: StoredOperation): boolean =>
  operation.details.takenBefore === true ||
  earlierSucceededReversals(transaction, operation).length > 0;

/** The host itself has said so: one that was ended by hand is no proof that a later approval is gone. */
const isReversalAcceptedByHost = (
  transaction: TransactionRecord,
  operation: StoredOperation,
): boolean =>
  operation.details.takenBefore === true ||
  earlierSucceededReversals(transaction, operation).some(
    ({ details }) => details.response?.code !== undefined,
  );

function successChanges(
  transaction: TransactionRecord,
  operation: StoredOperation,
  amount: number,
): PositionChanges {
  const { details } = operation;
  const { released = 0 } = details;
  switch (operation.kind) {
    case 'Capture':
      return {
        captured: amount,
        captureReserved: -operation.amount,
        ...(released > 0 ? { cancelled: released, cancelReserved: -released } : {}),
      };
    case 'Refund':
      return { refunded: amount, refundReserved: -operation.amount };
    case 'Cancel':
      return { cancelled: operation.amount, cancelReserved: -operation.amount };
    case 'Reversal':
      return reversalChanges(transaction.row.position);
  }
}

/** All that was approved is given back; of an unconfirmed sale that which was captured with it too. */
function reversalChanges(position: Position): PositionChanges {
  const { captured } = position;
  return {
    phase: 'Reversed',
    cancelled: reversibleAmount(position),
    ...(captured > 0 ? { captured: -captured } : {}),
  };
}

function releaseChanges(operation: StoredOperation): PositionChanges {
  const { released = 0 } = operation.details;
  switch (operation.kind) {
    case 'Capture':
      return {
        captureReserved: -operation.amount,
        ...(released > 0 ? { cancelReserved: -released } : {}),
      };
    case 'Refund':
      return { refundReserved: -operation.amount };
    case 'Cancel':
      return { cancelReserved: -operation.amount };
    case 'Reversal':
      return {};
  }
}

const successEventTypes: Readonly<Record<StoredOperation['kind'], string>> = {
  Capture: 'transaction.captured',
  Refund: 'transaction.refunded',
  Cancel: 'transaction.cancelled',
  Reversal: 'transaction.reversed',
};

const failureEventTypes: Readonly<Record<StoredOperation['kind'], string>> = {
  Capture: 'transaction.capture_failed',
  Refund: 'transaction.refund_failed',
  Cancel: 'transaction.cancel_failed',
  Reversal: 'transaction.reversal_queued',
};

export type OutcomeInput = {
  /** Epoch ms. */
  at: number;
  /** Whether the message may have been sent before. */
  isRepeat: boolean;
  /** Epoch ms after which an original that the host does not know will not come any more. */
  originalNotFoundFinalAt: number;
  /** The transaction as it stood when the message was sent. */
  transactionWhenSent: TransactionRecord;
};

/** An offline sale may be sent until its reversal is queued, long behind its own deadline. */
export const originalNotFoundFinalAt = (
  { acquirerTimeoutMs }: { acquirerTimeoutMs: number },
  { row }: TransactionRecord,
  { createdAt }: StoredOperation,
): number => Math.max(row.deadline, Date.parse(createdAt)) + acquirerTimeoutMs;

/** The store's day that a capture belongs to: when it was approved, or went into a file. */
function settlementMembers(
  transaction: TransactionRecord,
  { kind, details }: StoredOperation,
  status: OperationStatus,
  at: number,
): { settlementDate?: string } {
  if (kind !== 'Capture' || status !== 'Succeeded') return {};
  const settlementDate =
    details.settlementDate ?? settlementDayForContext(authorizationContext(transaction), at).date;
  return { settlementDate };
}

/**
 * A sale that was approved while its reversal was on its way: the host may have had the reversal first, and
 * holds the sale since.
 */
export const isApprovedSinceSend = (
  transaction: TransactionRecord,
  { kind }: StoredOperation,
  transactionWhenSent: TransactionRecord,
): boolean =>
  kind === 'Reversal' && wasApprovedAtHost(transaction) && !wasApprovedAtHost(transactionWhenSent);

/** The part that a host approved of a capture or refund; all of what is taken back. */
function finalAmount(operation: StoredOperation, approved: number): number {
  const isPartial = operation.kind === 'Capture' || operation.kind === 'Refund';
  return isPartial ? Math.min(operation.amount, approved) : operation.amount;
}

/** The step that ends an operation: what was reserved is done, or free again. */
export function finalTransition(
  transaction: TransactionRecord,
  operation: StoredOperation,
  result: {
    /** Epoch ms. */
    at: number;
    status: 'Succeeded' | 'Declined' | 'Failed';
    response: { code?: string; reason?: string };
    amount?: number;
  },
): Transition {
  const { at, status, response, amount = operation.amount } = result;
  const isDone = status === 'Succeeded';
  // Once the acquirer has it, what the chip said is nobody's any more.
  const { chipData: _chip, ...details } = operation.details;
  const outcomeMembers = { ...settlementMembers(transaction, operation, status, at), response };
  return {
    at,
    type: (isDone ? successEventTypes : failureEventTypes)[operation.kind],
    changes: isDone ? successChanges(transaction, operation, amount) : releaseChanges(operation),
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

/**
 * The step that an outcome makes, or that it is no answer. A reversal ends only when the host has
 * taken it; what was refused, or may not have arrived, is sent again.
 */
export function outcomeTransition(
  transaction: TransactionRecord,
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  { at, isRepeat, originalNotFoundFinalAt: notFoundFinalAtMs, transactionWhenSent }: OutcomeInput,
): Transition | 'Unanswered' {
  if (isApprovedSinceSend(transaction, operation, transactionWhenSent)) return 'Unanswered';
  const endWith = (
    status: 'Succeeded' | 'Declined' | 'Failed',
    response: { code?: string; reason?: string },
    amount = operation.amount,
  ) => finalTransition(transaction, operation, { at, status, response, amount });
  switch (outcome.outcome) {
    case 'Approved': {
      const amount = finalAmount(operation, outcome.amount);
      return endWith('Succeeded', { code: outcome.responseCode }, amount);
    }
    case 'Declined': {
      const code = outcome.responseCode;
      const succeed = () => endWith('Succeeded', { code });
      // A line that was not taken: whatever the code, nobody asks for it again.
      if (operation.status === 'Filed') return endWith('Declined', { code });
      if (isDuplicateDecline(outcome)) {
        const isSecondReversal =
          operation.kind === 'Reversal' && hasEarlierReversal(transaction, operation);
        const isAccepted =
          isDuplicateOfOurMessage(operation, outcome, isRepeat) || isSecondReversal;
        return isAccepted ? succeed() : 'Unanswered';
      }
      if (operation.kind !== 'Reversal') {
        // The message before may have been booked: its amount is not free because of that.
        const hasNoOutcome = isIndeterminate(outcome) || (isRepeat && isHostError(outcome));
        return hasNoOutcome ? 'Unanswered' : endWith('Declined', { code });
      }
      // It never came, or is gone since a reversal was taken. One that the host has approved is there else,
      // under whatever numbers it looks.
      const isOriginalPossiblyMissing =
        !wasApprovedAtHost(transaction) || isReversalAcceptedByHost(transaction, operation);
      const isOriginalGone =
        code === originalNotFoundCode && at >= notFoundFinalAtMs && isOriginalPossiblyMissing;
      return isOriginalGone ? succeed() : 'Unanswered';
    }
    case 'NotSent':
      // A first send that did not leave can be taken back; a repeat cannot, nor can a reversal.
      if (operation.status !== 'Sent' || operation.kind === 'Reversal') return 'Unanswered';
      return endWith('Failed', { reason: 'AcquirerUnavailable' });
    default:
      return 'Unanswered';
  }
}
