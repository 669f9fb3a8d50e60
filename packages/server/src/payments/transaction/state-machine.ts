// What a card transaction is, told by its integer amounts: one table that enforces, answers and documents.

/**
 * How far the sale itself has come; the amounts say the rest. `Sending` is an offline sale whose
 * message may have left, and is shown as Stored; `Unconfirmed` is approved, and is reversed unless
 * the till confirms it.
 */
export type Phase =
  | 'Received'
  | 'Stored'
  | 'Sending'
  | 'Approved'
  | 'Unconfirmed'
  | 'Cancelled'
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

/** Whether the acquirer's approval stands, confirmed or not yet. */
export function isApproved({ phase }: Position): boolean {
  return phase === 'Approved' || phase === 'Unconfirmed';
}

/** What a reversal gives back: all that was approved and not cancelled, captured with it or not. */
export function wholeAmount(position: Position): number {
  return Math.max(0, position.authorized - position.cancelled);
}

/** Approved without an amount: the card was looked at, and nothing is held. */
export function isVerification(position: Position): boolean {
  return isApproved(position) && position.authorized === 0;
}

/** The name of a position; where conditions overlap, the first that fits. */
export function stateOf(position: Position): State {
  const { phase } = position;
  if (phase === 'Sending') return 'Stored';
  if (phase !== 'Approved' && phase !== 'Unconfirmed') return phase;
  const open = openAmount(position);
  if (isVerification(position)) return 'Authorized';
  if (position.captured === 0) return open === 0 ? 'Cancelled' : 'Authorized';
  if (position.refunded === position.captured && open === 0) return 'Refunded';
  if (position.refunded > 0) return 'PartiallyRefunded';
  return open === 0 ? 'Captured' : 'PartiallyCaptured';
}

export type Verb = 'Capture' | 'Cancel' | 'Reverse' | 'Refund';

/**
 * What a verb meets in a state. `Open` and `Refundable` name the amount that limits it, `Whole`
 * takes everything or nothing, `Queue` waits for the running sale to end, `Withdraw` takes back
 * what nobody was asked for yet, `Nothing` is a no-op that succeeds, `Replay` tells again what is
 * under way; the rest are refusal codes.
 */
export type Rule =
  | 'Open'
  | 'Refundable'
  | 'Whole'
  | 'Queue'
  | 'Withdraw'
  | 'Nothing'
  | 'Replay'
  | RefusalCode;

export type RefusalCode =
  | 'transaction_in_progress'
  | 'transaction_declined'
  | 'not_authorized'
  | 'not_captured'
  | 'nothing_to_capture'
  | 'nothing_to_cancel'
  | 'already_captured'
  | 'already_cancelled'
  | 'already_refunded'
  | 'reversal_in_progress'
  | 'confirmation_pending'
  | 'authorization_expired';

/** `Cancel` is the Functional cancel (a void), `Reverse` the Technical one (a reversal). */
export const stateTable: Readonly<Record<State, Readonly<Record<Verb, Rule>>>> = {
  Received: {
    Capture: 'transaction_in_progress',
    Cancel: 'transaction_in_progress',
    Reverse: 'Queue',
    Refund: 'transaction_in_progress',
  },
  Stored: {
    Capture: 'not_authorized',
    Cancel: 'Withdraw',
    Reverse: 'Withdraw',
    Refund: 'not_captured',
  },
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

/** In place of the row of Stored once the message of an offline sale may have left. */
export const sendingRules: Readonly<Record<Verb, Rule>> = {
  Capture: 'not_authorized',
  Cancel: 'transaction_in_progress',
  Reverse: 'Queue',
  Refund: 'not_captured',
};

/** In place of the row of its state while a sale awaits its confirmation (ADR 0037). */
export const unconfirmedRules: Readonly<Record<Verb, Rule>> = {
  Capture: 'confirmation_pending',
  Cancel: 'confirmation_pending',
  Reverse: 'Whole',
  Refund: 'confirmation_pending',
};

/**
 * What a confirmation meets: `Confirm` where it is awaited, `Nothing` where the sale stands without
 * it, so that whoever confirms twice hears the same.
 */
export type ConfirmRule = 'Confirm' | 'Nothing' | RefusalCode | 'transaction_reversed';

export const confirmTable: Readonly<Record<State, ConfirmRule>> = {
  Received: 'transaction_in_progress',
  Stored: 'not_authorized',
  Authorized: 'Nothing',
  PartiallyCaptured: 'Nothing',
  Captured: 'Nothing',
  PartiallyRefunded: 'Nothing',
  Refunded: 'Nothing',
  Cancelled: 'Nothing',
  Declined: 'transaction_declined',
  Failed: 'not_authorized',
  Reversing: 'reversal_in_progress',
  Reversed: 'transaction_reversed',
  Expired: 'authorization_expired',
};

export function confirmRuleOf(position: Position): ConfirmRule {
  return position.phase === 'Unconfirmed' ? 'Confirm' : confirmTable[stateOf(position)];
}

/** An approved verification of the card is Authorized, and there is nothing to do with it. */
export const verificationRules: Readonly<Record<Verb, Rule>> = {
  Capture: 'nothing_to_capture',
  Cancel: 'nothing_to_cancel',
  Reverse: 'Nothing',
  Refund: 'not_captured',
};

/** The row of the table that a position meets. */
export function rulesOf(position: Position): Readonly<Record<Verb, Rule>> {
  if (isVerification(position)) return verificationRules;
  if (position.phase === 'Unconfirmed') return unconfirmedRules;
  return position.phase === 'Sending' ? sendingRules : stateTable[stateOf(position)];
}

/** What the merchant's contract lets be done beyond the plain rules. */
export type Terms = {
  partialCancel: boolean;
  multipleCapture: boolean;
  overCapture: number;
  /** The time of the hold is over: what is open cannot be taken any more. */
  lapsed?: boolean;
};

export type Verdict =
  | { allowed: true; maxAmount: number; mode: 'Open' | 'Refundable' | 'Whole' }
  /** Of the whole sale, whose amount the position does not know. */
  | { allowed: true; maxAmount: 0; mode: 'Queue' | 'Withdraw' }
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
  // As in the state Expired, which it is once the job has come to it.
  if (terms.lapsed === true && verb !== 'Refund') return refused('authorization_expired');
  const rule = rulesOf(position)[verb];
  switch (rule) {
    case 'Open':
      return openVerdict(position, verb, terms);
    case 'Refundable':
      if (position.refunded === position.captured) return refused('already_refunded');
      return { allowed: true, mode: 'Refundable', maxAmount: freeToRefund(position) };
    case 'Whole':
      if (isShared(position)) return refused('transaction_in_progress');
      return { allowed: true, mode: 'Whole', maxAmount: wholeAmount(position) };
    case 'Queue':
    case 'Withdraw':
      return { allowed: true, mode: rule, maxAmount: 0 };
    case 'Nothing':
    case 'Replay':
      return { allowed: true, mode: rule, maxAmount: 0 };
    default:
      return refused(rule);
  }
}
