// A small card payment that happens one step after the other: what the platform must do, said a second time.
// It knows the contract and the acquirer simulator's published amounts, and nothing of the platform's code.
import type { ErrorCode } from '@switchyard/contract';

/** What of the acquirer contract matters here. */
export type ModelTerms = {
  readonly multipleCapture: boolean;
  readonly partialCancel: boolean;
  readonly overCapturePercent: number;
};

/** Amounts in minor units. */
export type Model = {
  readonly terms: ModelTerms;
  readonly end: 'Approved' | 'Declined' | 'Reversed';
  /** Of no amount: the card was looked at, and there is nothing to do with it. */
  readonly verifies: boolean;
  readonly asked: number;
  readonly authorized: number;
  readonly captured: number;
  readonly cancelled: number;
  readonly refunded: number;
};

export type ModelVerb = 'Capture' | 'Refund' | 'Cancel' | 'Reversal';

/** What an operation must end in. */
export type Expected =
  | { readonly refused: ErrorCode; readonly maxAmount?: number }
  | { readonly nothing: true }
  | { readonly amount: number; readonly status: 'Succeeded' | 'Declined' };

type Fate = 'approves' | 'approves half' | 'declines' | 'is silent' | 'leaves open' | 'hangs up';

/** Still at work, had before, too late; and what is in no table of response codes. */
const openTails: ReadonlySet<number> = new Set([
  9009, 9026, 9068, 9016, 9018, 9020, 9022, 9024, 9027, 9028, 9029, 9032, 9045, 9047, 9048, 9049,
  9050, 9069, 9072, 9073, 9077, 9085, 9087, 9097, 9099,
]);

/** What the host does with an amount, by the simulator's published table. */
export function fateOf(amount: number): Fate {
  const tail = amount % 10_000;
  if (tail < 9000 || tail > 9099) return 'approves';
  if (openTails.has(tail)) return 'leaves open';
  if (tail === 9093) return 'hangs up';
  if ([9091, 9092, 9095].includes(tail)) return 'is silent';
  if ([9000, 9008, 9011, 9094, 9098].includes(tail)) return 'approves';
  return tail === 9010 ? 'approves half' : 'declines';
}

/** In what way: `Late` is confirmed by nobody, `Offline` was approved by the terminal. */
export type ModelKind = 'Usual' | 'Verification' | 'Confirmed' | 'Late' | 'Offline';

export type ModelSale = {
  readonly kind: ModelKind;
  readonly amount: number;
  readonly captureMode: 'Immediate' | 'Deferred';
  readonly partialApproval: boolean;
};

/** A sale once nothing about it is under way any more. */
export function sold(terms: ModelTerms, sale: ModelSale): Model {
  const { kind, amount } = sale;
  const amounts = { asked: amount, authorized: 0, captured: 0, cancelled: 0, refunded: 0 };
  const nothing = { terms, verifies: kind === 'Verification', ...amounts };
  const fate = fateOf(amount);
  if (fate === 'declines') return { ...nothing, end: 'Declined' };
  // What was sold already is told again until there is an answer; all else is given up.
  const isUnknown = fate === 'is silent' || fate === 'leaves open';
  if (isUnknown && kind !== 'Offline') return { ...nothing, end: 'Reversed' };
  const authorized = fate === 'approves half' ? Math.floor(amount / 2) : amount;
  if (fate === 'approves half' && !sale.partialApproval) return { ...nothing, end: 'Reversed' };
  if (kind === 'Late') return { ...nothing, end: 'Reversed', authorized, cancelled: authorized };
  const isCaptured = kind === 'Offline' || sale.captureMode === 'Immediate';
  return { ...nothing, end: 'Approved', authorized, captured: isCaptured ? authorized : 0 };
}

const openOf = ({ authorized, captured, cancelled }: Model) =>
  Math.max(0, authorized - captured - cancelled);

/** The name of it: the first that fits of the contract's list. */
export function nameOf(model: Model): string {
  const { end, captured, cancelled, authorized, refunded } = model;
  if (end !== 'Approved') return end;
  if (model.verifies) return 'Authorized';
  if (captured === 0 && cancelled === authorized) return 'Cancelled';
  if (captured > 0 && refunded === captured && openOf(model) === 0) return 'Refunded';
  if (refunded > 0) return 'PartiallyRefunded';
  if (captured > 0) return openOf(model) === 0 ? 'Captured' : 'PartiallyCaptured';
  return 'Authorized';
}

const share = (amount: number, percent: number) => Math.floor((amount * percent) / 100);

type Limit =
  | { readonly max: number }
  | { readonly refused: ErrorCode }
  | { readonly nothing: true };

function captureLimit(model: Model): Limit {
  if (model.end === 'Declined') return { refused: 'transaction_declined' };
  if (model.end === 'Reversed') return { refused: 'not_authorized' };
  if (model.verifies) return { refused: 'nothing_to_capture' };
  if (openOf(model) === 0) {
    return { refused: model.captured === 0 ? 'already_cancelled' : 'nothing_to_capture' };
  }
  const { authorized, captured, cancelled, terms } = model;
  return { max: authorized + share(authorized, terms.overCapturePercent) - captured - cancelled };
}

function cancelLimit(model: Model): Limit {
  if (model.end === 'Declined') return { refused: 'transaction_declined' };
  if (model.end === 'Reversed') return { refused: 'already_cancelled' };
  if (model.verifies) return { refused: 'nothing_to_cancel' };
  if (openOf(model) === 0) {
    return { refused: model.captured === 0 ? 'already_cancelled' : 'already_captured' };
  }
  if (model.captured > 0 && !model.terms.partialCancel) {
    return { refused: 'partial_cancel_not_supported' };
  }
  return { max: openOf(model) };
}

function refundLimit({ end, captured, refunded }: Model): Limit {
  if (end === 'Declined') return { refused: 'transaction_declined' };
  if (captured === 0) return { refused: 'not_captured' };
  return captured === refunded ? { refused: 'already_refunded' } : { max: captured - refunded };
}

function reversalLimit(model: Model): Limit {
  if (model.end !== 'Approved') return { nothing: true };
  if (model.captured > 0) return { refused: 'already_captured' };
  return openOf(model) === 0 ? { nothing: true } : { max: openOf(model) };
}

const limits = {
  Capture: captureLimit,
  Refund: refundLimit,
  Cancel: cancelLimit,
  Reversal: reversalLimit,
} as const;

/** What `allowedoperations` must say of a verb. */
export function allowedOf(model: Model, verb: ModelVerb): { allowed: boolean; maxAmount: number } {
  const limit = limits[verb](model);
  return 'max' in limit
    ? { allowed: true, maxAmount: limit.max }
    : { allowed: false, maxAmount: 0 };
}

const exceeded = {
  Capture: 'capture_amount_exceeded',
  Refund: 'refund_amount_exceeded',
  Cancel: 'cancel_amount_exceeded',
  Reversal: 'partial_reversal_not_supported',
} as const;

export type ModelOperation = {
  readonly verb: ModelVerb;
  /** All that is left without it. */
  readonly amount?: number;
  readonly final?: boolean;
};

/** What refund or cancel by web does: it gives back what was captured, else what is held. */
export function byWebOf(model: Model): ModelVerb {
  const { captured, refunded } = model;
  const isOver = captured > 0 && openOf(model) === 0;
  return captured > refunded || isOver ? 'Refund' : 'Cancel';
}

/** What must come of an operation, and what the payment is afterwards. */
export function operated(
  model: Model,
  { verb, amount: wanted, final = false }: ModelOperation,
): { expected: Expected; after: Model } {
  const limit = limits[verb](model);
  if ('nothing' in limit) return { expected: limit, after: model };
  if ('refused' in limit) return { expected: limit, after: model };
  // An allowance above the authorised amount is taken only where it is asked for.
  const amount = wanted ?? (verb === 'Capture' ? openOf(model) : limit.max);
  const isWhole = verb !== 'Reversal' || amount === limit.max;
  if (amount > limit.max || !isWhole) {
    return { expected: { refused: exceeded[verb], maxAmount: limit.max }, after: model };
  }
  if (verb === 'Cancel' && amount < limit.max && !model.terms.partialCancel) {
    return { expected: { refused: 'partial_cancel_not_supported' }, after: model };
  }
  const after = settled(model, verb, amount, final || !model.terms.multipleCapture);
  const status = after === undefined ? 'Declined' : 'Succeeded';
  return { expected: { amount, status }, after: after ?? model };
}

/** Undefined where the host declines. */
function settled(
  model: Model,
  verb: ModelVerb,
  amount: number,
  isLast: boolean,
): Model | undefined {
  const open = openOf(model);
  switch (verb) {
    case 'Capture': {
      // The host keeps to what it holds, whatever the contract lets be asked.
      if (amount > open || fateOf(amount) === 'declines') return undefined;
      const cancelled = model.cancelled + (isLast ? open - amount : 0);
      return { ...model, captured: model.captured + amount, cancelled };
    }
    case 'Refund':
      return fateOf(amount) === 'declines'
        ? undefined
        : { ...model, refunded: model.refunded + amount };
    case 'Cancel':
      return { ...model, cancelled: model.cancelled + amount };
    case 'Reversal':
      return { ...model, end: 'Reversed', cancelled: model.cancelled + open };
  }
}
