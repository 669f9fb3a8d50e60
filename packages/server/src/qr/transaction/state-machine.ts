// Defines the states of a QR payment and their transitions as tables.
import { defined } from '@switchyard/contract';

/** The progress of the payment itself; refunds change the amounts and not the phase. */
export type Phase =
  | 'Created'
  | 'Pending'
  | 'Scanned'
  | 'Authorized'
  | 'Completed'
  | 'Declined'
  | 'Cancelled'
  | 'Expired'
  | 'Failed';

export type Status = Phase | 'PartiallyRefunded' | 'Refunded';

/** Why a payment ends: a cancel at the till, the expiry, or a provider that does not know it. */
export type EndCause = 'Merchant' | 'Expiry' | 'Unknown';

/** The final phase for each cause. */
const endNames: Readonly<Record<EndCause, Phase>> = {
  Merchant: 'Cancelled',
  Expiry: 'Expired',
  Unknown: 'Failed',
};

/** Why a payment needs a decision by an operator. */
export type HoldReason =
  | 'AmountDiffers'
  | 'CurrencyDiffers'
  | 'RefundDeclined'
  | 'RefundUnanswered';

export type Position = {
  phase: Phase;
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
  hold: HoldReason | null;
  /** The sequence number of the newest judged provider event. */
  sequence: number;
};

/** The changes of an event: new values, and differences to add to the amounts. */
export type Changes = {
  phase?: Phase;
  paid?: number;
  refunded?: number;
  refundReserved?: number;
  settled?: number;
  ending?: EndCause | null;
  hold?: HoldReason | null;
  sequence?: number;
};

/** Applies an event's changes; replaying all events of a payment gives its stored position. */
export function apply(position: Position, changes: Changes): Position {
  const { paid = 0, refunded = 0, refundReserved = 0, settled = 0, ...words } = changes;
  return {
    ...position,
    ...words,
    paid: position.paid + paid,
    refunded: position.refunded + refunded,
    refundReserved: position.refundReserved + refundReserved,
    settled: position.settled + settled,
  };
}

/** The paid amount less the refunded, reserved and settled amounts. */
export const leftOf = ({ paid, refunded, refundReserved, settled }: Position): number =>
  paid - refunded - refundReserved - settled;

/** The status of a position. An ended payment keeps its status when late money arrives. */
export function statusOf({ phase, paid, refunded }: Position): Status {
  if (phase !== 'Completed' || refunded === 0) return phase;
  return refunded === paid ? 'Refunded' : 'PartiallyRefunded';
}

const livePhases: ReadonlySet<Phase> = new Set(['Created', 'Pending', 'Scanned', 'Authorized']);

/** Whether the consumer may still pay. */
export const isLive = ({ phase }: Pick<Position, 'phase'>): boolean => livePhases.has(phase);

/** The statuses that a provider can report. */
export type Said = Phase | 'PartiallyRefunded' | 'Refunded';

/**
 * The effect of a provider's report. `Go` changes the phase, and `Stay` is already known.
 * `TakeBack` refunds money for an ended payment. `Ignore` comes after the end. `Contradict` is
 * impossible and raises an alarm.
 */
export type Move = 'Go' | 'Stay' | 'TakeBack' | 'Ignore' | 'Contradict';

const ends = { Declined: 'Go', Cancelled: 'Go', Expired: 'Go', Failed: 'Go' } as const;
const over: Readonly<Record<Phase, Move>> = {
  Created: 'Ignore',
  Pending: 'Ignore',
  Scanned: 'Ignore',
  Authorized: 'Ignore',
  Completed: 'TakeBack',
  Declined: 'Ignore',
  Cancelled: 'Ignore',
  Expired: 'Ignore',
  Failed: 'Ignore',
};

export const moveTable: Readonly<Record<Phase, Readonly<Record<Phase, Move>>>> = {
  Created: {
    Created: 'Stay',
    Pending: 'Go',
    Scanned: 'Go',
    Authorized: 'Go',
    Completed: 'Go',
    ...ends,
  },
  Pending: {
    Created: 'Stay',
    Pending: 'Stay',
    Scanned: 'Go',
    Authorized: 'Go',
    Completed: 'Go',
    ...ends,
  },
  Scanned: {
    Created: 'Stay',
    Pending: 'Stay',
    Scanned: 'Stay',
    Authorized: 'Go',
    Completed: 'Go',
    ...ends,
  },
  Authorized: {
    Created: 'Stay',
    Pending: 'Stay',
    Scanned: 'Stay',
    Authorized: 'Stay',
    Completed: 'Go',
    ...ends,
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
  Declined: over,
  Cancelled: over,
  Expired: over,
  Failed: over,
};

/** A provider's report on the status of a payment. */
export type Report = {
  said: Said;
  /** The sequence number of an event; an answer to a call has none. */
  sequence?: number;
  amount?: number;
  currency?: string;
};

export type Verdict =
  | {
      kind: 'Nothing';
      why: 'Older' | 'Known' | 'AfterEnd' | 'Held' | 'Contradicts';
      changes: Changes;
    }
  | { kind: 'Move'; changes: Changes }
  /** The paid amount or currency differs from the requested one. */
  | { kind: 'Hold'; changes: Changes }
  /** The provider reports that nothing was paid, and the hold ends. */
  | { kind: 'Retract'; changes: Changes }
  /** The server refunds the money; the changes reserve the amount. */
  | { kind: 'TakeBack'; changes: Changes; amount: number };

/**
 * A full refund by the provider itself means that nothing was paid, unless the phase is Completed.
 */
function meantBy(said: Said, { phase }: Position): Phase {
  if (said === 'PartiallyRefunded') return 'Completed';
  if (said !== 'Refunded') return said;
  return phase === 'Completed' ? 'Completed' : 'Cancelled';
}

type Paid = { paid: number; fits: boolean; reason: HoldReason };

/**
 * The paid amount. A report without an amount means the requested one. An amount in another
 * currency is unknown in ours, so the requested one replaces it.
 */
function paidBy(position: Position, { amount, currency }: Report): Paid {
  const sameCurrency = currency === undefined || currency === position.currency;
  const paid = amount === undefined || !sameCurrency ? position.amount : amount;
  const reason = sameCurrency ? 'AmountDiffers' : 'CurrencyDiffers';
  return { paid, fits: sameCurrency && paid === position.amount, reason };
}

/** Whether the report names another amount for a payment that is already paid. */
function isOtherSum(position: Position, { amount, currency }: Report): boolean {
  if (position.paid === 0 || amount === undefined) return false;
  return amount !== position.paid || (currency ?? position.currency) !== position.currency;
}

function takenBack(position: Position, report: Report, changes: Changes): Verdict {
  // The provider repeats its report: the server already refunds the same money.
  if (position.paid > 0) {
    const why = isOtherSum(position, report) ? 'Contradicts' : 'AfterEnd';
    return { kind: 'Nothing', why, changes };
  }
  const { paid, reason } = paidBy(position, report);
  const changed: Changes = { ...changes, paid, ending: null };
  if (reason === 'CurrencyDiffers') return { kind: 'Hold', changes: { ...changed, hold: reason } };
  return { kind: 'TakeBack', changes: { ...changed, refundReserved: paid }, amount: paid };
}

function completed(position: Position, report: Report, changes: Changes): Verdict {
  // The merchant has cancelled and gives no goods, so the server refunds the payment.
  if (position.ending === 'Merchant') {
    return takenBack(position, report, { ...changes, phase: 'Cancelled' });
  }
  const { paid, fits, reason } = paidBy(position, report);
  if (!fits) return { kind: 'Hold', changes: { ...changes, paid, ending: null, hold: reason } };
  return { kind: 'Move', changes: { ...changes, phase: 'Completed', paid, ending: null } };
}

/** The final phase of a payment with an open cancel; a decline or a failure takes priority. */
function endOf(phase: Phase, { ending }: Position): Phase {
  if (phase === 'Declined' || phase === 'Failed' || ending === null) return phase;
  return endNames[ending];
}

/**
 * The effect of a newer report on a payment on hold. `Keep` changes nothing, and `Sum` takes the
 * newest amount. `Retract` means that nothing was paid, and ends the hold. `Contradict` raises an
 * alarm: the provider did not make a refund and now reports no payment.
 */
export type HeldMove = 'Keep' | 'Sum' | 'Retract' | 'Contradict';

const keeps = { Created: 'Keep', Pending: 'Keep', Scanned: 'Keep', Authorized: 'Keep' } as const;
const differs: Readonly<Record<Phase, HeldMove>> = {
  ...keeps,
  Completed: 'Sum',
  Declined: 'Retract',
  Cancelled: 'Retract',
  Expired: 'Retract',
  Failed: 'Retract',
};

const paidFor: Readonly<Record<Phase, HeldMove>> = {
  ...keeps,
  Completed: 'Keep',
  Declined: 'Contradict',
  Cancelled: 'Contradict',
  Expired: 'Contradict',
  Failed: 'Contradict',
};

export const heldTable: Readonly<Record<HoldReason, Readonly<Record<Phase, HeldMove>>>> = {
  AmountDiffers: differs,
  CurrencyDiffers: differs,
  RefundDeclined: paidFor,
  RefundUnanswered: paidFor,
};

/** During a hold the provider's events still count; an answer may be older than they are. */
function judgeHeld(
  position: Position & { hold: HoldReason },
  report: Report,
  changes: Changes,
): Verdict {
  const { hold, paid } = position;
  const meant = meantBy(report.said, position);
  const move = heldTable[hold][meant];
  const told = paidBy(position, report);
  const isOther = report.amount !== undefined && (told.paid !== paid || told.reason !== hold);
  const isNumbered = report.sequence !== undefined;
  const contradicts = {
    Keep: meant === 'Completed' && isOtherSum(position, report),
    Sum: isOther && !isNumbered,
    Retract: !isNumbered,
    Contradict: true,
  }[move];
  if (contradicts) return { kind: 'Nothing', why: 'Contradicts', changes };
  if (move === 'Retract') {
    const live = isLive(position);
    const end: Changes = live ? { phase: endOf(meant, position) } : {};
    return { kind: 'Retract', changes: { ...changes, ...end, paid: -paid, hold: null } };
  }
  if (move === 'Keep' || !isOther) return { kind: 'Nothing', why: 'Held', changes };
  const sum = told.paid - paid;
  return { kind: 'Hold', changes: { ...changes, paid: sum, hold: told.reason } };
}

/** Judges a provider's report on a payment. Pure. */
export function judgeReport(position: Position, report: Report): Verdict {
  const { sequence } = report;
  if (sequence !== undefined && sequence <= position.sequence) {
    return { kind: 'Nothing', why: 'Older', changes: {} };
  }
  const changes: Changes = defined({ sequence });
  const { hold } = position;
  if (hold !== null) return judgeHeld({ ...position, hold }, report, changes);
  const meant = meantBy(report.said, position);
  switch (moveTable[position.phase][meant]) {
    case 'Stay':
      return {
        kind: 'Nothing',
        why: isOtherSum(position, report) ? 'Contradicts' : 'Known',
        changes,
      };
    case 'Ignore':
      return { kind: 'Nothing', why: 'AfterEnd', changes };
    case 'Contradict':
      return { kind: 'Nothing', why: 'Contradicts', changes };
    case 'TakeBack':
      return takenBack(position, report, changes);
    default:
  }
  if (meant === 'Completed') return completed(position, report, changes);
  if (meant === 'Authorized' && !paidBy(position, report).fits) {
    // Nothing is paid yet; the completion has its own amount, and the server judges it then.
    return { kind: 'Nothing', why: 'Contradicts', changes };
  }
  if (livePhases.has(meant)) return { kind: 'Move', changes: { ...changes, phase: meant } };
  return { kind: 'Move', changes: { ...changes, phase: endOf(meant, position), ending: null } };
}

export type Verb = 'Cancel' | 'Refund';

export type RefusalCode =
  | 'already_completed'
  | 'already_refunded'
  | 'not_completed'
  | 'payment_held'
  | 'transaction_declined'
  | 'transaction_in_progress';

/**
 * The effect of a verb in a status. `Send` calls the provider, `Refundable` allows amounts up to a
 * limit, and `Nothing` succeeds without a change. All others are refusal codes.
 */
export type Rule = 'Send' | 'Refundable' | 'Nothing' | RefusalCode;

export const verbTable: Readonly<Record<Status, Readonly<Record<Verb, Rule>>>> = {
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
export const heldRules: Readonly<Record<Verb, Rule>> = {
  Cancel: 'payment_held',
  Refund: 'payment_held',
};

export type VerbVerdict =
  | { allowed: true; mode: 'Send' | 'Nothing'; maxAmount: 0 }
  | { allowed: true; mode: 'Refundable'; maxAmount: number }
  | { allowed: false; reason: RefusalCode; maxAmount: 0 };

export function rulesOf(position: Position): Readonly<Record<Verb, Rule>> {
  return position.hold === null ? verbTable[statusOf(position)] : heldRules;
}

/** Whether a verb is allowed now, and up to which amount. */
export function judgeVerb(position: Position, verb: Verb): VerbVerdict {
  const rule = rulesOf(position)[verb];
  if (rule === 'Send' || rule === 'Nothing') return { allowed: true, mode: rule, maxAmount: 0 };
  if (rule !== 'Refundable') return { allowed: false, reason: rule, maxAmount: 0 };
  return { allowed: true, mode: 'Refundable', maxAmount: leftOf(position) };
}

/** Ends a payment whose provider does not answer; the server refunds money that comes later. */
export function endAlone({ ending }: Position): Changes {
  return { phase: endNames[ending ?? 'Expiry'], ending: null };
}
