// Creates the transition that finishes an operation: its amount is booked or released. Pure.
import { defined } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import { settlementDayForContext } from '../transaction/contract-terms.ts';
import {
  type OperationType,
  type Position,
  type PositionChanges,
  reversibleAmount,
} from '../transaction/state-machine.ts';
import {
  authorizationContext,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import type { Transition } from '../transaction/transition.ts';

export const reservedAmountFields = {
  Capture: 'captureReserved',
  Cancel: 'cancelReserved',
  Refund: 'refundReserved',
} as const;

function bookedChanges(
  { row }: TransactionRecord,
  { kind, details }: StoredOperation,
  amount: number,
): PositionChanges {
  switch (kind) {
    case 'Capture':
      return { captured: amount, ...defined({ cancelled: details.releasedAmount }) };
    case 'Refund':
      return { refunded: amount };
    case 'Cancel':
      return { cancelled: amount };
    case 'Reversal':
      return reversalChanges(row.position);
  }
}

/** Releases the authorized amount, and the amount that an unconfirmed sale captured. */
function reversalChanges(position: Position): PositionChanges {
  const { captured } = position;
  return {
    phase: 'Reversed',
    cancelled: reversibleAmount(position),
    ...(captured > 0 ? { captured: -captured } : {}),
  };
}

/** Releases the reserved amount, and the reserved rest of a final capture. */
function releaseChanges({ kind, amount, details }: StoredOperation): PositionChanges {
  if (kind === 'Reversal') return {};
  const changes: PositionChanges = { [reservedAmountFields[kind]]: -amount };
  if (details.releasedAmount !== undefined) changes.cancelReserved = -details.releasedAmount;
  return changes;
}

const successEventTypes: Readonly<Record<OperationType, string>> = {
  Capture: 'transaction.captured',
  Refund: 'transaction.refunded',
  Cancel: 'transaction.cancelled',
  Reversal: 'transaction.reversed',
};

const failureEventTypes: Readonly<Record<OperationType, string>> = {
  Capture: 'transaction.capture_failed',
  Refund: 'transaction.refund_failed',
  Cancel: 'transaction.cancel_failed',
  Reversal: 'transaction.reversal_queued',
};

/** The store's settlement day of a capture: of its approval, or of its clearing file. */
function settlementDateOf(
  transaction: TransactionRecord,
  { kind, details }: StoredOperation,
  at: number,
): string | undefined {
  if (kind !== 'Capture') return undefined;
  return (
    details.settlementDate ?? settlementDayForContext(authorizationContext(transaction), at).date
  );
}

type FinalResult = {
  /** Epoch ms. */
  at: number;
  status: 'Succeeded' | 'Declined' | 'Failed';
  response: { code?: string; reason?: string };
  /** The part of a capture or refund that the host approved, in minor units; all if absent. */
  approvedAmount?: number | undefined;
};

export function finalTransition(
  transaction: TransactionRecord,
  operation: StoredOperation,
  { at, status, response, approvedAmount = operation.amount }: FinalResult,
): Transition {
  const isDone = status === 'Succeeded';
  const canBePartial = operation.kind === 'Capture' || operation.kind === 'Refund';
  const amount = canBePartial ? Math.min(operation.amount, approvedAmount) : operation.amount;
  // The acquirer has the chip data now.
  const { chipData: _chip, ...details } = operation.details;
  const settlementDate = isDone ? settlementDateOf(transaction, operation, at) : undefined;
  const outcomeMembers = { ...defined({ settlementDate }), response };
  return {
    at,
    type: (isDone ? successEventTypes : failureEventTypes)[operation.kind],
    changes: {
      ...releaseChanges(operation),
      ...(isDone ? bookedChanges(transaction, operation, amount) : {}),
    },
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
