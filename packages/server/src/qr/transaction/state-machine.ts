// Defines the states of a QR payment and their transitions as tables.
import { defined } from '@switchyard/contract';

/** The progress of the payment itself; refunds change the amounts and not the phase. */
export type PaymentPhase =
  | 'Created'
  | 'Pending'
  | 'Scanned'
  | 'Authorized'
  | 'Completed'
  | 'Declined'
  | 'Cancelled'
  | 'Expired'
  | 'Failed';

export type PaymentStatus = PaymentPhase | 'PartiallyRefunded' | 'Refunded';

/** Why a payment ends: a cancel at the till, the expiry, or a provider that does not know it. */
export type EndCause = 'Merchant' | 'Expiry' | 'Unknown';

/** The final phase for each cause. */
const endPhases: Readonly<Record<EndCause, PaymentPhase>> = {
  Merchant: 'Cancelled',
  Expiry: 'Expired',
  Unknown: 'Failed',
};

/** Why a payment needs a decision by an operator. */
export type ReviewReason =
  | 'AmountDiffers'
  | 'CurrencyDiffers'
  | 'RefundDeclined'
  | 'RefundUnanswered';

export type PaymentPosition = {
  phase: PaymentPhase;
  /** The requested amount in minor units of `currency`. */
  amount: number;
  currency: string;
  /** The amount that the consumer has paid, as far as the server knows. */
  paid: number;
  refunded: number;
  /** The sum of refunds without a final answer; the provider may have made them. */
  refundReserved: number;
  /** The amount that an operator settled outside the platform in place of a refund. */
  settled: number;
  /** The cause of a stored cancel that has no answer yet. */
  ending: EndCause | null;
  hold: ReviewReason | null;
  /** The sequence number of the newest judged provider event. */
  sequence: number;
};

/** The changes of an event: new values, and differences to add to the amounts. */
export type PositionChanges = {
  phase?: PaymentPhase;
  paid?: number;
  refunded?: number;
  refundReserved?: number;
  settled?: number;
  ending?: EndCause | null;
  hold?: ReviewReason | null;
  sequence?: number;
};

/** Applies an event's changes; replaying all events of a payment gives its stored position. */
export function applyChanges(position: PaymentPosition, changes: PositionChanges): PaymentPosition {
  const { paid = 0, refunded = 0, refundReserved = 0, settled = 0, ...newValues } = changes;
  return {
    ...position,
    ...newValues,
    paid: position.paid + paid,
    refunded: position.refunded + refunded,
    refundReserved: position.refundReserved + refundReserved,
    settled: position.settled + settled,
  };
}

/** The paid amount less the refunded, reserved and settled amounts. */
export const refundableAmount = ({
  paid,
  refunded,
  refundReserved,
  settled,
}: PaymentPosition): number => paid - refunded - refundReserved - settled;

/** The status of a position. An ended payment keeps its status when late money arrives. */
export function statusOf({ phase, paid, refunded }: PaymentPosition): PaymentStatus {
  if (phase !== 'Completed' || refunded === 0) return phase;
  return refunded === paid ? 'Refunded' : 'PartiallyRefunded';
}

const livePhases: ReadonlySet<PaymentPhase> = new Set([
  'Created',
  'Pending',
  'Scanned',
  'Authorized',
]);

/** Whether the consumer may still pay. */
export const isLive = ({ phase }: Pick<PaymentPosition, 'phase'>): boolean => livePhases.has(phase);

/** The statuses that a provider can report. */
export type ReportedStatus = PaymentPhase | 'PartiallyRefunded' | 'Refunded';

/**
 * The effect of a provider's report. `Advance` changes the phase, and `Stay` is already known.
 * `RefundLatePayment` refunds money for an ended payment. `Ignore` comes after the end. `Contradict` is
 * impossible and raises an alarm.
 */
export type ReportTransition = 'Advance' | 'Stay' | 'RefundLatePayment' | 'Ignore' | 'Contradict';

const finalTransitions = {
  Declined: 'Advance',
  Cancelled: 'Advance',
  Expired: 'Advance',
  Failed: 'Advance',
} as const;
const afterEndTransitions: Readonly<Record<PaymentPhase, ReportTransition>> = {
  Created: 'Ignore',
  Pending: 'Ignore',
  Scanned: 'Ignore',
  Authorized: 'Ignore',
  Completed: 'RefundLatePayment',
  Declined: 'Ignore',
  Cancelled: 'Ignore',
  Expired: 'Ignore',
  Failed: 'Ignore',
};

export const reportTransitions: Readonly<
  Record<PaymentPhase, Readonly<Record<PaymentPhase, ReportTransition>>>
> = {
  Created: {
    Created: 'Stay',
    Pending: 'Advance',
    Scanned: 'Advance',
    Authorized: 'Advance',
    Completed: 'Advance',
    ...finalTransitions,
  },
  Pending: {
    Created: 'Stay',
    Pending: 'Stay',
    Scanned: 'Advance',
    Authorized: 'Advance',
    Completed: 'Advance',
    ...finalTransitions,
  },
  Scanned: {
    Created: 'Stay',
    Pending: 'Stay',
    Scanned: 'Stay',
    Authorized: 'Advance',
    Completed: 'Advance',
    ...finalTransitions,
  },
  Authorized: {
    Created: 'Stay',
    Pending: 'Stay',
    Scanned: 'Stay',
    Authorized: 'Stay',
    Completed: 'Advance',
    ...finalTransitions,
  },
  Completed: {
    Created: 'Ignore',
    Pending: 'Ignore',
    Scanned: 'Ignore',
    Authorized: 'Ignore',
    Completed: 'Stay',
    Declined: 'Contradict',
    Cancelled: 'Contradict',
    Expired: 'Contradict',
    Failed: 'Contradict',
  },
  Declined: afterEndTransitions,
  Cancelled: afterEndTransitions,
  Expired: afterEndTransitions,
  Failed: afterEndTransitions,
};

/** A provider's report on the status of a payment. */
export type StatusReport = {
  status: ReportedStatus;
  /** The sequence number of an event; an answer to a call has none. */
  sequence?: number;
  amount?: number;
  currency?: string;
};

export type ReportDecision =
  | {
      kind: 'Nothing';
      cause: 'Older' | 'Known' | 'AfterEnd' | 'Held' | 'Contradicts';
      changes: PositionChanges;
    }
  | { kind: 'Move'; changes: PositionChanges }
  /** The paid amount or currency differs from the requested one. */
  | { kind: 'Hold'; changes: PositionChanges }
  /** The provider reports that nothing was paid, and the hold ends. */
  | { kind: 'Retract'; changes: PositionChanges }
  /** The server refunds the money; the changes reserve the amount. */
  | { kind: 'RefundLatePayment'; changes: PositionChanges; amount: number };

/**
 * A full refund by the provider itself means that nothing was paid, unless the phase is Completed.
 */
function effectivePhase(status: ReportedStatus, { phase }: PaymentPosition): PaymentPhase {
  if (status === 'PartiallyRefunded') return 'Completed';
  if (status !== 'Refunded') return status;
  return phase === 'Completed' ? 'Completed' : 'Cancelled';
}

type PaidAmount = { paid: number; fits: boolean; reason: ReviewReason };

/**
 * The paid amount. A report without an amount means the requested one. An amount in another
 * currency is unknown in ours, so the requested one replaces it.
 */
function paidAmountOf(position: PaymentPosition, { amount, currency }: StatusReport): PaidAmount {
  const sameCurrency = currency === undefined || currency === position.currency;
  const paid = amount === undefined || !sameCurrency ? position.amount : amount;
  const reason = sameCurrency ? 'AmountDiffers' : 'CurrencyDiffers';
  return { paid, fits: sameCurrency && paid === position.amount, reason };
}

/** Whether the report names another amount for a payment that is already paid. */
function isDifferentAmount(position: PaymentPosition, { amount, currency }: StatusReport): boolean {
  if (position.paid === 0 || amount === undefined) return false;
  return amount !== position.paid || (currency ?? position.currency) !== position.currency;
}

function decideLatePayment(
  position: PaymentPosition,
  report: StatusReport,
  changes: PositionChanges,
): ReportDecision {
  // The provider repeats its report: the server already refunds the same money.
  if (position.paid > 0) {
    const why = isDifferentAmount(position, report) ? 'Contradicts' : 'AfterEnd';
    return { kind: 'Nothing', cause: why, changes };
  }
  const { paid, reason } = paidAmountOf(position, report);
  const changed: PositionChanges = { ...changes, paid, ending: null };
  if (reason === 'CurrencyDiffers') return { kind: 'Hold', changes: { ...changed, hold: reason } };
  return { kind: 'RefundLatePayment', changes: { ...changed, refundReserved: paid }, amount: paid };
}

function decideCompletion(
  position: PaymentPosition,
  report: StatusReport,
  changes: PositionChanges,
): ReportDecision {
  // The merchant has cancelled and gives no goods, so the server refunds the payment.
  if (position.ending === 'Merchant') {
    return decideLatePayment(position, report, { ...changes, phase: 'Cancelled' });
  }
  const { paid, fits, reason } = paidAmountOf(position, report);
  if (!fits) return { kind: 'Hold', changes: { ...changes, paid, ending: null, hold: reason } };
  return { kind: 'Move', changes: { ...changes, phase: 'Completed', paid, ending: null } };
}

/** The final phase of a payment with an open cancel; a decline or a failure takes priority. */
function finalPhase(phase: PaymentPhase, { ending }: PaymentPosition): PaymentPhase {
  if (phase === 'Declined' || phase === 'Failed' || ending === null) return phase;
  return endPhases[ending];
}

/**
 * The effect of a newer report on a payment on hold. `Keep` changes nothing, and `UpdateAmount` takes the
 * newest amount. `Retract` means that nothing was paid, and ends the hold. `Contradict` raises an
 * alarm: the provider did not make a refund and now reports no payment.
 */
export type ReviewTransition = 'Keep' | 'UpdateAmount' | 'Retract' | 'Contradict';

const liveTransitions = {
  Created: 'Keep',
  Pending: 'Keep',
  Scanned: 'Keep',
  Authorized: 'Keep',
} as const;
const amountTransitions: Readonly<Record<PaymentPhase, ReviewTransition>> = {
  ...liveTransitions,
  Completed: 'UpdateAmount',
  Declined: 'Retract',
  Cancelled: 'Retract',
  Expired: 'Retract',
  Failed: 'Retract',
};

const refundTransitions: Readonly<Record<PaymentPhase, ReviewTransition>> = {
  ...liveTransitions,
  Completed: 'Keep',
  Declined: 'Contradict',
  Cancelled: 'Contradict',
  Expired: 'Contradict',
  Failed: 'Contradict',
};

export const reviewTransitions: Readonly<
  Record<ReviewReason, Readonly<Record<PaymentPhase, ReviewTransition>>>
> = {
  AmountDiffers: amountTransitions,
  CurrencyDiffers: amountTransitions,
  RefundDeclined: refundTransitions,
  RefundUnanswered: refundTransitions,
};

/** During a hold the provider's events still count; an answer may be older than they are. */
function decideUnderReview(
  position: PaymentPosition & { hold: ReviewReason },
  report: StatusReport,
  changes: PositionChanges,
): ReportDecision {
  const { hold, paid } = position;
  const phaseNow = effectivePhase(report.status, position);
  const move = reviewTransitions[hold][phaseNow];
  const paidAmount = paidAmountOf(position, report);
  const isDifferent =
    report.amount !== undefined && (paidAmount.paid !== paid || paidAmount.reason !== hold);
  const isNumbered = report.sequence !== undefined;
  const contradicts = {
    Keep: phaseNow === 'Completed' && isDifferentAmount(position, report),
    UpdateAmount: isDifferent && !isNumbered,
    Retract: !isNumbered,
    Contradict: true,
  }[move];
  if (contradicts) return { kind: 'Nothing', cause: 'Contradicts', changes };
  if (move === 'Retract') {
    const wasLive = isLive(position);
    const end: PositionChanges = wasLive ? { phase: finalPhase(phaseNow, position) } : {};
    return { kind: 'Retract', changes: { ...changes, ...end, paid: -paid, hold: null } };
  }
  if (move === 'Keep' || !isDifferent) return { kind: 'Nothing', cause: 'Held', changes };
  const difference = paidAmount.paid - paid;
  return { kind: 'Hold', changes: { ...changes, paid: difference, hold: paidAmount.reason } };
}

/** Judges a provider's report on a payment. Pure. */
export function decideReport(position: PaymentPosition, report: StatusReport): ReportDecision {
  const { sequence } = report;
  if (sequence !== undefined && sequence <= position.sequence) {
    return { kind: 'Nothing', cause: 'Older', changes: {} };
  }
  const changes: PositionChanges = defined({ sequence });
  const { hold } = position;
  if (hold !== null) return decideUnderReview({ ...position, hold }, report, changes);
  const phaseNow = effectivePhase(report.status, position);
  switch (reportTransitions[position.phase][phaseNow]) {
    case 'Stay':
      return {
        kind: 'Nothing',
        cause: isDifferentAmount(position, report) ? 'Contradicts' : 'Known',
        changes,
      };
    case 'Ignore':
      return { kind: 'Nothing', cause: 'AfterEnd', changes };
    case 'Contradict':
      return { kind: 'Nothing', cause: 'Contradicts', changes };
    case 'RefundLatePayment':
      return decideLatePayment(position, report, changes);
    default:
  }
  if (phaseNow === 'Completed') return decideCompletion(position, report, changes);
  if (phaseNow === 'Authorized' && !paidAmountOf(position, report).fits) {
    // Nothing is paid yet; the completion has its own amount, and the server judges it then.
    return { kind: 'Nothing', cause: 'Contradicts', changes };
  }
  if (livePhases.has(phaseNow)) return { kind: 'Move', changes: { ...changes, phase: phaseNow } };
  return {
    kind: 'Move',
    changes: { ...changes, phase: finalPhase(phaseNow, position), ending: null },
  };
}

export type PaymentOperation = 'Cancel' | 'Refund';

export type RejectionCode =
  | 'already_completed'
  | 'already_refunded'
  | 'not_completed'
  | 'payment_held'
  | 'transaction_declined'
  | 'transaction_in_progress';

/**
 * The effect of an operation in a status. `Send` calls the provider, `Refundable` allows amounts up to a
 * limit, and `Nothing` succeeds without a change. All others are refusal codes.
 */
export type OperationRule = 'Send' | 'Refundable' | 'Nothing' | RejectionCode;

export const operationTable: Readonly<
  Record<PaymentStatus, Readonly<Record<PaymentOperation, OperationRule>>>
> = {
  Created: { Cancel: 'Send', Refund: 'transaction_in_progress' },
  Pending: { Cancel: 'Send', Refund: 'not_completed' },
  Scanned: { Cancel: 'Send', Refund: 'not_completed' },
  Authorized: { Cancel: 'Send', Refund: 'not_completed' },
  Completed: { Cancel: 'already_completed', Refund: 'Refundable' },
  PartiallyRefunded: { Cancel: 'already_completed', Refund: 'Refundable' },
  Refunded: { Cancel: 'already_completed', Refund: 'already_refunded' },
  Declined: { Cancel: 'Nothing', Refund: 'transaction_declined' },
  Cancelled: { Cancel: 'Nothing', Refund: 'not_completed' },
  Expired: { Cancel: 'Nothing', Refund: 'not_completed' },
  Failed: { Cancel: 'Nothing', Refund: 'not_completed' },
};

/** Replaces the row of the status while the payment is on hold. */
export const underReviewRules: Readonly<Record<PaymentOperation, OperationRule>> = {
  Cancel: 'payment_held',
  Refund: 'payment_held',
};

export type OperationDecision =
  | { allowed: true; mode: 'Send' | 'Nothing'; maxAmount: 0 }
  | { allowed: true; mode: 'Refundable'; maxAmount: number }
  | { allowed: false; reason: RejectionCode; maxAmount: 0 };

export function operationRulesOf(
  position: PaymentPosition,
): Readonly<Record<PaymentOperation, OperationRule>> {
  return position.hold === null ? operationTable[statusOf(position)] : underReviewRules;
}

/** Whether a verb is allowed now, and up to which amount. */
export function decideOperation(
  position: PaymentPosition,
  operation: PaymentOperation,
): OperationDecision {
  const rule = operationRulesOf(position)[operation];
  if (rule === 'Send' || rule === 'Nothing') return { allowed: true, mode: rule, maxAmount: 0 };
  if (rule !== 'Refundable') return { allowed: false, reason: rule, maxAmount: 0 };
  return { allowed: true, mode: 'Refundable', maxAmount: refundableAmount(position) };
}

/** Ends a payment whose provider does not answer; the server refunds money that comes later. */
export function endUnansweredPayment({ ending }: PaymentPosition): PositionChanges {
  return { phase: endPhases[ending ?? 'Expiry'], ending: null };
}
