// What an acquirer's answer makes of an operation: pure, one place for captures, refunds, cancels.

import { type AcquirerOutcome, isDuplicate, isUndecided } from '../../acquiring/index.ts';
import { isoTime } from '../../platform/index.ts';
import { wasApprovedAtHost } from '../transaction/approval-evidence.ts';
import { settlementDayOf } from '../transaction/contract-terms.ts';
import { type Changes, type Position, wholeAmount } from '../transaction/state-machine.ts';
import {
  factsOf,
  type LoadedTransaction,
  type OperationStatus,
  type StoredOperation,
} from '../transaction/transaction.ts';
import type { Step } from '../transaction/transition.ts';

/** The host knows no such original; it may still be on its way there for a while. */
const originalNotFound = '25';
/** Nobody has judged the message: the host, or the way to the issuer, is out of order for a while. */
const malfunctions: ReadonlySet<string> = new Set([
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

/** The host says that it could not work, and nothing of what became of the money. */
export const isMalfunction = (outcome: AcquirerOutcome): boolean =>
  outcome.outcome === 'Declined' && malfunctions.has(outcome.responseCode);

/** The host has had our message, which was sent before: it has done what it was asked for. */
export const hasOurs = (
  { details }: StoredOperation,
  outcome: AcquirerOutcome,
  repeated: boolean,
): boolean => isDuplicate(outcome) && repeated && details.collided !== true;

/** The first message of an operation, and the host has its numbers: from somebody else. */
export const collides = (operation: StoredOperation, outcome: AcquirerOutcome): boolean =>
  isDuplicate(outcome) && operation.details.collided !== true;

/** Earlier reversals of the sale that have ended, but for those of a sale that the host did not know. */
const reversedBefore = ({ operations }: LoadedTransaction, { number }: StoredOperation) =>
  operations.filter(
    ({ kind, status, details, ...each }) =>
      kind === 'Reversal' &&
      each.number < number &&
      status === 'Succeeded' &&
      details.response?.code !== originalNotFound,
  );

/** The host has taken an earlier reversal, or its books say so: a second one may be a duplicate to it. */
const wasReversed = (loaded: LoadedTransaction, operation: StoredOperation): boolean =>
  operation.details.takenBefore === true || reversedBefore(loaded, operation).length > 0;

/** The host itself has said so: one that was ended by hand is no proof that a later approval is gone. */
const wasTakenByHost = (loaded: LoadedTransaction, operation: StoredOperation): boolean =>
  operation.details.takenBefore === true ||
  reversedBefore(loaded, operation).some(({ details }) => details.response?.code !== undefined);

function succeeded(loaded: LoadedTransaction, operation: StoredOperation, amount: number): Changes {
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
      return reversed(loaded.row.position);
  }
}

/** All that was approved is given back; of an unconfirmed sale that which was captured with it too. */
function reversed(position: Position): Changes {
  const { captured } = position;
  return {
    phase: 'Reversed',
    cancelled: wholeAmount(position),
    ...(captured > 0 ? { captured: -captured } : {}),
  };
}

function given(operation: StoredOperation): Changes {
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

const done: Readonly<Record<StoredOperation['kind'], string>> = {
  Capture: 'transaction.captured',
  Refund: 'transaction.refunded',
  Cancel: 'transaction.cancelled',
  Reversal: 'transaction.reversed',
};

const notDone: Readonly<Record<StoredOperation['kind'], string>> = {
  Capture: 'transaction.capture_failed',
  Refund: 'transaction.refund_failed',
  Cancel: 'transaction.cancel_failed',
  Reversal: 'transaction.reversal_queued',
};

export type Circumstances = {
  /** Epoch ms. */
  at: number;
  /** Whether the message may have been sent before. */
  repeated: boolean;
  /** Epoch ms after which an original that the host does not know will not come any more. */
  notFoundFinalAt: number;
  /** The transaction as it stood when the message was sent. */
  asSent: LoadedTransaction;
};

/** An offline sale may be sent until its reversal is queued, long behind its own deadline. */
export const notFoundFinalAt = (
  { acquirerTimeoutMs }: { acquirerTimeoutMs: number },
  { row }: LoadedTransaction,
  { createdAt }: StoredOperation,
): number => Math.max(row.deadline, Date.parse(createdAt)) + acquirerTimeoutMs;

/** The store's day that a capture belongs to: when it was approved, or went into a file. */
function settlementOf(
  loaded: LoadedTransaction,
  { kind, details }: StoredOperation,
  status: OperationStatus,
  at: number,
): { settlementDate?: string } {
  if (kind !== 'Capture' || status !== 'Succeeded') return {};
  const settlementDate = details.settlementDate ?? settlementDayOf(factsOf(loaded), at).date;
  return { settlementDate };
}

/**
 * A sale that was approved while its reversal was on its way: the host may have had the reversal first, and
 * holds the sale since.
 */
export const wasApprovedMeanwhile = (
  loaded: LoadedTransaction,
  { kind }: StoredOperation,
  asSent: LoadedTransaction,
): boolean => kind === 'Reversal' && wasApprovedAtHost(loaded) && !wasApprovedAtHost(asSent);

/** The part that a host approved of a capture or refund; all of what is taken back. */
function settledAmount(operation: StoredOperation, approved: number): number {
  const inParts = operation.kind === 'Capture' || operation.kind === 'Refund';
  return inParts ? Math.min(operation.amount, approved) : operation.amount;
}

/** The step that ends an operation: what was reserved is done, or free again. */
export function endedStep(
  loaded: LoadedTransaction,
  operation: StoredOperation,
  of: {
    /** Epoch ms. */
    at: number;
    status: 'Succeeded' | 'Declined' | 'Failed';
    response: { code?: string; reason?: string };
    amount?: number;
  },
): Step {
  const { at, status, response, amount = operation.amount } = of;
  const isDone = status === 'Succeeded';
  // Once the acquirer has it, what the chip said is nobody's any more.
  const { chipData: _chip, ...details } = operation.details;
  const told = { ...settlementOf(loaded, operation, status, at), response };
  return {
    at,
    type: (isDone ? done : notDone)[operation.kind],
    changes: isDone ? succeeded(loaded, operation, amount) : given(operation),
    data: { amount, ...told },
    operation: {
      ...operation,
      amount,
      status,
      details: { ...details, ...told },
      updatedAt: isoTime(at),
    },
  };
}

/**
 * The step that an outcome makes, or that it is no answer. A reversal ends only when the host has
 * taken it; what was refused, or may not have arrived, is sent again.
 */
export function settledStep(
  loaded: LoadedTransaction,
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  { at, repeated, notFoundFinalAt, asSent }: Circumstances,
): Step | 'Unanswered' {
  if (wasApprovedMeanwhile(loaded, operation, asSent)) return 'Unanswered';
  const ends = (
    status: 'Succeeded' | 'Declined' | 'Failed',
    response: { code?: string; reason?: string },
    amount = operation.amount,
  ) => endedStep(loaded, operation, { at, status, response, amount });
  switch (outcome.outcome) {
    case 'Approved': {
      const amount = settledAmount(operation, outcome.amount);
      return ends('Succeeded', { code: outcome.responseCode }, amount);
    }
    case 'Declined': {
      const code = outcome.responseCode;
      const taken = () => ends('Succeeded', { code });
      // A line that was not taken: whatever the code, nobody asks for it again.
      if (operation.status === 'Filed') return ends('Declined', { code });
      if (isDuplicate(outcome)) {
        const isSecond = operation.kind === 'Reversal' && wasReversed(loaded, operation);
        const isTaken = hasOurs(operation, outcome, repeated) || isSecond;
        return isTaken ? taken() : 'Unanswered';
      }
      if (operation.kind !== 'Reversal') {
        // The message before may have been booked: its amount is not free because of that.
        const isOpen = isUndecided(outcome) || (repeated && isMalfunction(outcome));
        return isOpen ? 'Unanswered' : ends('Declined', { code });
      }
      // It never came, or is gone since a reversal was taken. One that the host has approved is there else,
      // under whatever numbers it looks.
      const mayBeMissing = !wasApprovedAtHost(loaded) || wasTakenByHost(loaded, operation);
      const isGone = code === originalNotFound && at >= notFoundFinalAt && mayBeMissing;
      return isGone ? taken() : 'Unanswered';
    }
    case 'NotSent':
      // A first send that did not leave can be taken back; a repeat cannot, nor can a reversal.
      if (operation.status !== 'Sent' || operation.kind === 'Reversal') return 'Unanswered';
      return ends('Failed', { reason: 'AcquirerUnavailable' });
    default:
      return 'Unanswered';
  }
}
