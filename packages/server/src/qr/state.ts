// What a QR payment is and what becomes of it: one table that enforces, answers and documents.
import { defined } from '@switchyard/contract';

/** How far the payment itself has come; what was refunded of a paid one is told by its amounts. */
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

/** Who wants the payment to end: somebody at the till, the clock, or a provider that never heard of it. */
export type EndCause = 'Merchant' | 'Expiry' | 'Unknown';

/** How a payment is called that was to end and did. */
const endNames: Readonly<Record<EndCause, Phase>> = {
  Merchant: 'Cancelled',
  Expiry: 'Expired',
  Unknown: 'Failed',
};

/** Why somebody has to look at a payment before it goes on. */
export type HoldReason =
  | 'AmountDiffers'
  | 'CurrencyDiffers'
  | 'RefundDeclined'
  | 'RefundUnanswered';

export type Position = {
  phase: Phase;
  /** What was asked for, minor units of `currency`. */
  amount: number;
  currency: string;
  /** What the consumer has paid, as far as is known. */
  paid: number;
  refunded: number;
  /** Of refunds that await an answer, also in vain: nobody knows whether they were made. */
  refundReserved: number;
  /** Of money that was to go back: what became of it outside of the platform, as somebody says. */
  settled: number;
  /** A cancel that is durable and not answered yet. */
  ending: EndCause | null;
  hold: HoldReason | null;
  /** The provider's number of the newest event that was judged. */
  sequence: number;
};

/** What an event does to a position: new words, or amounts added and taken away. */
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

/** Adds an event's changes; replaying all events of a payment gives its stored position. */
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

/** What was paid, and neither went back nor is about to. */
export const leftOf = ({ paid, refunded, refundReserved, settled }: Position): number =>
  paid - refunded - refundReserved - settled;

/** The name of a position. An ended payment keeps its name, whatever comes of money that was late. */
export function statusOf({ phase, paid, refunded }: Position): Status {
  if (phase !== 'Completed' || refunded === 0) return phase;
  return refunded === paid ? 'Refunded' : 'PartiallyRefunded';
}

const livePhases: ReadonlySet<Phase> = new Set(['Created', 'Pending', 'Scanned', 'Authorized']);

/** Whether the consumer may still pay. */
export const isLive = ({ phase }: Pick<Position, 'phase'>): boolean => livePhases.has(phase);

/** What a provider can say about a payment. */
export type Said = Phase | 'PartiallyRefunded' | 'Refunded';

/**
 * What becomes of a payment when its provider says something. `Go` takes it there, `Stay` is known,
 * `TakeBack` is money for a payment that has ended: it is refunded. `Ignore` comes after the end,
 * and `Contradict` too: it cannot be so, and somebody is told.
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

/** A provider's word for how a payment stands, with what it was told with. */
export type Report = {
  said: Said;
  /** The number of an event; an answer to a call has none. */
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
  /** Money that is not what was asked for. */
  | { kind: 'Hold'; changes: Changes }
  /** Nothing was paid after all: the hold is over. */
  | { kind: 'Retract'; changes: Changes }
  /** The money goes back by itself: what is refunded stands reserved in the changes. */
  | { kind: 'TakeBack'; changes: Changes; amount: number };

/** What was given back by the provider itself counts as never paid, unless we hold it for paid. */
function meantBy(said: Said, { phase }: Position): Phase {
  if (said === 'PartiallyRefunded') return 'Completed';
  if (said !== 'Refunded') return said;
  return phase === 'Completed' ? 'Completed' : 'Cancelled';
}

type Paid = { paid: number; fits: boolean; reason: HoldReason };

/**
 * What the consumer has paid: a provider that names no amount means the one that was asked for. In
 * another currency it is not known in ours, and stands for all of it.
 */
function paidBy(position: Position, { amount, currency }: Report): Paid {
  const sameCurrency = currency === undefined || currency === position.currency;
  const paid = amount === undefined || !sameCurrency ? position.amount : amount;
  const reason = sameCurrency ? 'AmountDiffers' : 'CurrencyDiffers';
  return { paid, fits: sameCurrency && paid === position.amount, reason };
}

/** Paid already, and now of another amount. */
function isOtherSum(position: Position, { amount, currency }: Report): boolean {
  if (position.paid === 0 || amount === undefined) return false;
  return amount !== position.paid || (currency ?? position.currency) !== position.currency;
}

function takenBack(position: Position, report: Report, changes: Changes): Verdict {
  // Told twice, in events of their own: it is on its way back already, if it is the same money.
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
  // Whoever has cancelled gives no goods: what is paid now goes back.
  if (position.ending === 'Merchant') {
    return takenBack(position, report, { ...changes, phase: 'Cancelled' });
  }
  const { paid, fits, reason } = paidBy(position, report);
  if (!fits) return { kind: 'Hold', changes: { ...changes, paid, ending: null, hold: reason } };
  return { kind: 'Move', changes: { ...changes, phase: 'Completed', paid, ending: null } };
}

/** Where a payment ends that was to end: the provider's word counts where it is a refusal. */
function endOf(phase: Phase, { ending }: Position): Phase {
  if (phase === 'Declined' || phase === 'Failed' || ending === null) return phase;
  return endNames[ending];
}

/**
 * What a newer event does to a payment that is held. `Keep` changes nothing, `Sum` is what was paid
 * by its newest word, `Retract` says that nothing was paid: it ends, and needs nobody any more.
 * `Contradict` is told to people: whoever has refused to give money back says that there is none.
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

/** While somebody decides, the provider's events still count; an answer may be older than they are. */
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

/** What a provider's word does to a payment. Pure, and the only way by which one moves. */
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
    // Nothing is paid yet: the completion names its amount again, and is judged then.
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
 * What a verb meets in a status: `Send` asks the provider, `Refundable` names the limit, `Nothing`
 * is done already and succeeds; the rest are refusal codes.
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

/** In place of the row of its status while somebody has to look at it. */
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

/** Whether a verb may be done now, and up to which amount. */
export function judgeVerb(position: Position, verb: Verb): VerbVerdict {
  const rule = rulesOf(position)[verb];
  if (rule === 'Send' || rule === 'Nothing') return { allowed: true, mode: rule, maxAmount: 0 };
  if (rule !== 'Refundable') return { allowed: false, reason: rule, maxAmount: 0 };
  return { allowed: true, mode: 'Refundable', maxAmount: leftOf(position) };
}

/** The local end of a payment whose provider does not answer: money that comes later goes back. */
export function endAlone({ ending }: Position): Changes {
  return { phase: endNames[ending ?? 'Expiry'], ending: null };
}
