// What an acquirer's answer makes of an operation: pure, one place for captures, refunds, cancels.

import type { AcquirerOutcome } from '../acquiring/index.ts';
import { isoTime } from '../platform/index.ts';
import {
  factsOf,
  type LoadedTransaction,
  type OperationStatus,
  type StoredOperation,
} from './model.ts';
import { settlementDayOf } from './settlement/index.ts';
import { type Changes, type Position, wholeAmount } from './state.ts';
import type { Step } from './step.ts';

/** The host knows no such original; it may still be on its way there for a while. */
const originalNotFound = '25';
/** The host has had a message with these numbers: ours, where it was sent before. */
const duplicates: ReadonlySet<string> = new Set(['94', '26']);

export const isDuplicate = (outcome: AcquirerOutcome): boolean =>
  outcome.outcome === 'Declined' && duplicates.has(outcome.responseCode);

/** The first message of an operation, and the host has its numbers: from somebody else. */
export const collides = (operation: StoredOperation, outcome: AcquirerOutcome): boolean =>
  isDuplicate(outcome) && operation.kind !== 'Reversal' && operation.details.collided !== true;

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
};

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

/** The part that a host approved of a capture or refund; all of what is taken back. */
function settledAmount(operation: StoredOperation, approved: number): number {
  const inParts = operation.kind === 'Capture' || operation.kind === 'Refund';
  return inParts ? Math.min(operation.amount, approved) : operation.amount;
}

/**
 * The step that an outcome makes, or that it is no answer. A reversal ends only when the host has
 * taken it; what was refused, or may not have arrived, is sent again.
 */
export function settledStep(
  loaded: LoadedTransaction,
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  { at, repeated, notFoundFinalAt }: Circumstances,
): Step | 'Unanswered' {
  const ends = (
    status: OperationStatus,
    changes: Changes,
    response?: { code?: string; reason?: string },
    amount = operation.amount,
  ): Step => {
    const settlement = settlementOf(loaded, operation, status, at);
    // Once the acquirer has it, what the chip said is nobody's any more.
    const { chipData: _chip, ...details } = operation.details;
    const told = { ...settlement, ...(response === undefined ? {} : { response }) };
    return {
      at,
      type: status === 'Succeeded' ? done[operation.kind] : notDone[operation.kind],
      changes,
      data: { amount, ...told },
      operation: {
        ...operation,
        amount,
        status,
        details: { ...details, ...told },
        updatedAt: isoTime(at),
      },
    };
  };
  switch (outcome.outcome) {
    case 'Approved': {
      const amount = settledAmount(operation, outcome.amount);
      const response = { code: outcome.responseCode };
      return ends('Succeeded', succeeded(loaded, operation, amount), response, amount);
    }
    case 'Declined': {
      const code = outcome.responseCode;
      const taken = () =>
        ends('Succeeded', succeeded(loaded, operation, operation.amount), { code });
      if (isDuplicate(outcome)) {
        const isOurs = repeated && operation.details.collided !== true;
        return isOurs || operation.kind === 'Reversal' ? taken() : 'Unanswered';
      }
      if (operation.kind !== 'Reversal') return ends('Declined', given(operation), { code });
      return code === originalNotFound && at >= notFoundFinalAt ? taken() : 'Unanswered';
    }
    case 'NotSent':
      // A first send that did not leave can be taken back; a repeat cannot, nor can a reversal.
      if (operation.status !== 'Sent' || operation.kind === 'Reversal') return 'Unanswered';
      return ends('Failed', given(operation), { reason: outcome.reason });
    default:
      return 'Unanswered';
  }
}
