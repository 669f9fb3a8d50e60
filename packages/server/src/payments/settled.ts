// What an acquirer's answer makes of an operation: pure, one place for captures, refunds, cancels.

import type { AcquirerOutcome } from '../acquiring/index.ts';
import { isoTime } from '../platform/index.ts';
import type { LoadedTransaction, OperationStatus, StoredOperation } from './model.ts';
import { type Changes, openAmount } from './state.ts';
import type { Step } from './step.ts';

/** The host knows no such original: there is nothing that a reversal could still take back. */
const originalNotFound = '25';

function succeeded(loaded: LoadedTransaction, operation: StoredOperation): Changes {
  const { amount, details } = operation;
  const { released = 0 } = details;
  switch (operation.kind) {
    case 'Capture':
      return {
        captured: amount,
        captureReserved: -amount,
        ...(released > 0 ? { cancelled: released, cancelReserved: -released } : {}),
      };
    case 'Refund':
      return { refunded: amount, refundReserved: -amount };
    case 'Cancel':
      return { cancelled: amount, cancelReserved: -amount };
    case 'Reversal':
      return { phase: 'Reversed', cancelled: openAmount(loaded.row.position) };
  }
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

/**
 * The step that an outcome makes, or that it is no answer. A reversal ends only when the host has
 * taken it; what was refused, or may not have arrived, is sent again.
 */
export function settledStep(
  loaded: LoadedTransaction,
  operation: StoredOperation,
  outcome: AcquirerOutcome,
  at: number,
): Step | 'Unanswered' {
  const ends = (
    status: OperationStatus,
    changes: Changes,
    response?: { code?: string; reason?: string },
  ): Step => ({
    at,
    type: status === 'Succeeded' ? done[operation.kind] : notDone[operation.kind],
    changes,
    data: { amount: operation.amount, ...(response === undefined ? {} : { response }) },
    operation: {
      ...operation,
      status,
      details: { ...operation.details, ...(response === undefined ? {} : { response }) },
      updatedAt: isoTime(at),
    },
  });
  switch (outcome.outcome) {
    case 'Approved':
      return ends('Succeeded', succeeded(loaded, operation), { code: outcome.responseCode });
    case 'Declined':
      if (operation.kind !== 'Reversal') {
        return ends('Declined', given(operation), { code: outcome.responseCode });
      }
      if (outcome.responseCode !== originalNotFound) return 'Unanswered';
      return ends('Succeeded', succeeded(loaded, operation), { code: outcome.responseCode });
    case 'NotSent':
      // A first send that did not leave can be taken back; a repeat cannot, nor can a reversal.
      if (operation.status !== 'Sent' || operation.kind === 'Reversal') return 'Unanswered';
      return ends('Failed', given(operation), { reason: outcome.reason });
    default:
      return 'Unanswered';
  }
}
