// What a card transaction is, told by its integer amounts: one table that enforces, answers and documents.

/** How far the sale itself has come; the amounts say the rest. */
export type Phase =
  | 'Received'
  | 'Stored'
  | 'Approved'
  | 'Declined'
  | 'Failed'
  | 'Reversing'
  | 'Reversed'
  | 'Expired';

export type State =
  | 'Received'
  | 'Stored'
  | 'Authorized'
  | 'PartiallyCaptured'
  | 'Captured'
  | 'PartiallyRefunded'
  | 'Refunded'
  | 'Cancelled'
  | 'Declined'
  | 'Failed'
  | 'Reversing'
  | 'Reversed'
  | 'Expired';

/** All amounts in minor units of the transaction's currency; the reserved ones await an answer. */
export type Amounts = {
  authorized: number;
  captured: number;
  cancelled: number;
  refunded: number;
  captureReserved: number;
  cancelReserved: number;
  refundReserved: number;
};

export type Position = Amounts & { phase: Phase };

export const noAmounts: Amounts = {
  authorized: 0,
  captured: 0,
  cancelled: 0,
  refunded: 0,
  captureReserved: 0,
  cancelReserved: 0,
  refundReserved: 0,
};

/** What an event does to a position: a new phase, or amounts added and taken away. */
export type Changes = { phase?: Phase } & { [K in keyof Amounts]?: number };

const amountNames = Object.keys(noAmounts) as (keyof Amounts)[];

/** Adds an event's changes; replaying all events of a transaction gives its stored position (I7). */
export function apply(position: Position, changes: Changes): Position {
  const next: Position = { ...position, phase: changes.phase ?? position.phase };
  for (const name of amountNames) next[name] += changes[name] ?? 0;
  return next;
}

/** Held, neither captured nor cancelled, whether or not somebody has reserved it. */
export function openAmount(position: Position): number {
  return Math.max(0, position.authorized - position.captured - position.cancelled);
}

/** The name of a position; where conditions overlap, the first that fits. */
export function stateOf(position: Position): State {
  if (position.phase !== 'Approved') return position.phase;
  const open = openAmount(position);
  if (position.captured === 0) return open === 0 ? 'Cancelled' : 'Authorized';
  if (position.refunded === position.captured && open === 0) return 'Refunded';
  if (position.refunded > 0) return 'PartiallyRefunded';
  return open === 0 ? 'Captured' : 'PartiallyCaptured';
}

export type Verb = 'Capture' | 'Cancel' | 'Reverse' | 'Refund';

/**
 * What a verb meets in a state. `Open` and `Refundable` name the amount that limits it, `Whole`
 * takes everything or nothing, `Queue` waits for the running sale to end, `Nothing` is a no-op
 * that succeeds, `Replay` tells again what is under way; the rest are refusal codes.
 */
export type Rule = 'Open' | 'Refundable' | 'Whole' | 'Queue' | 'Nothing' | 'Replay' | RefusalCode;

export type RefusalCode =
  | 'transaction_in_progress'
  | 'transaction_declined'
  | 'not_authorized'
  | 'not_captured'
  | 'nothing_to_capture'
  | 'already_captured'
  | 'already_cancelled'
  | 'already_refunded'
  | 'reversal_in_progress'
  | 'authorization_expired';

/** `Cancel` is the Functional cancel (a void), `Reverse` the Technical one (a reversal). */
export const stateTable: Readonly<Record<State, Readonly<Record<Verb, Rule>>>> = {
  Received: {
    Capture: 'transaction_in_progress',
    Cancel: 'transaction_in_progress',
    Reverse: 'Queue',
    Refund: 'transaction_in_progress',
  },
  Stored: { Capture: 'not_authorized', Cancel: 'Whole', Reverse: 'Whole', Refund: 'not_captured' },
  Authorized: { Capture: 'Open', Cancel: 'Open', Reverse: 'Whole', Refund: 'not_captured' },
  PartiallyCaptured: {
    Capture: 'Open',
    Cancel: 'Open',
    Reverse: 'already_captured',
    Refund: 'Refundable',
  },
  Captured: {
    Capture: 'nothing_to_capture',
    Cancel: 'already_captured',
    Reverse: 'already_captured',
    Refund: 'Refundable',
  },
  PartiallyRefunded: {
    Capture: 'Open',
    Cancel: 'Open',
    Reverse: 'already_captured',
    Refund: 'Refundable',
  },
  Refunded: {
    Capture: 'nothing_to_capture',
    Cancel: 'already_captured',
    Reverse: 'already_captured',
    Refund: 'already_refunded',
  },
  Cancelled: {
    Capture: 'already_cancelled',
    Cancel: 'already_cancelled',
    Reverse: 'Nothing',
    Refund: 'not_captured',
  },
  Declined: {
    Capture: 'transaction_declined',
    Cancel: 'transaction_declined',
    Reverse: 'Nothing',
    Refund: 'transaction_declined',
  },
  Failed: {
    Capture: 'not_authorized',
    Cancel: 'not_authorized',
    Reverse: 'Nothing',
    Refund: 'not_captured',
  },
  Reversing: {
    Capture: 'reversal_in_progress',
    Cancel: 'reversal_in_progress',
    Reverse: 'Replay',
    Refund: 'reversal_in_progress',
  },
  Reversed: {
    Capture: 'not_authorized',
    Cancel: 'already_cancelled',
    Reverse: 'Nothing',
    Refund: 'not_captured',
  },
  Expired: {
    Capture: 'authorization_expired',
    Cancel: 'authorization_expired',
    Reverse: 'authorization_expired',
    Refund: 'not_captured',
  },
};

/** What the merchant's contract lets be done beyond the plain rules. */
export type Terms = { partialCancel: boolean; multipleCapture: boolean; overCapture: number };

export type Verdict =
  | { allowed: true; maxAmount: number; mode: 'Open' | 'Refundable' | 'Whole' | 'Queue' }
  | { allowed: false; maxAmount: 0; reason: RefusalCode | 'partial_cancel_not_supported' }
  | { allowed: true; maxAmount: 0; mode: 'Nothing' | 'Replay' };

/** The highest amount above the authorised one that the contract lets be captured, minor units. */
export function overCaptureOf(amount: number, percent: number): number {
  return Number((BigInt(amount) * BigInt(percent)) / 100n);
}

/** Whether a part of the hold awaits an answer; what takes all the rest has to wait for it. */
export function isShared(position: Position): boolean {
  return position.captureReserved + position.cancelReserved > 0;
}

function freeToCapture(position: Position, terms: Terms): number {
  const taken = position.captured + position.captureReserved + position.cancelled;
  // What is being given back ends the hold: nothing above it can be taken any more.
  const allowance = position.cancelReserved > 0 ? 0 : terms.overCapture;
  return Math.max(0, position.authorized + allowance - taken - position.cancelReserved);
}

function freeToCancel(position: Position): number {
  return Math.max(0, openAmount(position) - position.captureReserved - position.cancelReserved);
}

function freeToRefund(position: Position): number {
  return position.captured - position.refunded - position.refundReserved;
}

const refused = (reason: RefusalCode | 'partial_cancel_not_supported'): Verdict => ({
  allowed: false,
  maxAmount: 0,
  reason,
});

function openVerdict(position: Position, verb: Verb, terms: Terms): Verdict {
  const open = openAmount(position);
  if (verb === 'Capture') {
    if (open === 0) return refused('nothing_to_capture');
    if (!terms.multipleCapture && isShared(position)) return refused('transaction_in_progress');
    return { allowed: true, mode: 'Open', maxAmount: freeToCapture(position, terms) };
  }
  if (open === 0) return refused('already_captured');
  // Each cancel names what stays of the hold, so the acquirer must get them one after the other.
  if (position.cancelReserved > 0) return refused('transaction_in_progress');
  if (position.captured + position.captureReserved > 0 && !terms.partialCancel) {
    return refused('partial_cancel_not_supported');
  }
  return { allowed: true, mode: 'Open', maxAmount: freeToCancel(position) };
}

/** Whether a verb may be done now and up to which amount: the answer and the enforcement alike (I9). */
export function judge(position: Position, verb: Verb, terms: Terms): Verdict {
  const rule = stateTable[stateOf(position)][verb];
  switch (rule) {
    case 'Open':
      return openVerdict(position, verb, terms);
    case 'Refundable':
      if (position.refunded === position.captured) return refused('already_refunded');
      return { allowed: true, mode: 'Refundable', maxAmount: freeToRefund(position) };
    case 'Whole':
      if (isShared(position)) return refused('transaction_in_progress');
      return { allowed: true, mode: 'Whole', maxAmount: openAmount(position) };
    case 'Queue':
      return { allowed: true, mode: 'Queue', maxAmount: 0 };
    case 'Nothing':
    case 'Replay':
      return { allowed: true, mode: rule, maxAmount: 0 };
    default:
      return refused(rule);
  }
}
