// A sequential model of a card payment: a second, independent definition of the platform's
// behaviour.
// It uses the contract and the acquirer simulator's published amounts, and no platform code.
import type { ErrorCode } from '@switchyard/contract';

/** The terms of the acquirer contract that the model uses. */
export type ModelTerms = {
  readonly multipleCapture: boolean;
  readonly partialCancel: boolean;
  readonly overCapturePercent: number;
};

/** Amounts in minor units. */
export type Model = {
  readonly terms: ModelTerms;
  readonly end: 'Approved' | 'Declined' | 'Reversed';
  /** An account verification: it has no amount and allows no operation. */
  readonly verifies: boolean;
  readonly asked: number;
  readonly authorized: number;
  readonly captured: number;
  readonly cancelled: number;
  readonly refunded: number;
};

export type ModelVerb = 'Capture' | 'Refund' | 'Cancel' | 'Reversal';

/** The expected result of an operation. */
export type Expected =
  | { readonly refused: ErrorCode; readonly maxAmount?: number }
  | { readonly nothing: true }
  | { readonly amount: number; readonly status: 'Succeeded' | 'Declined' };

type Fate = 'approves' | 'approves half' | 'declines' | 'is silent' | 'leaves open' | 'hangs up';

/** Response codes for "in progress", "duplicate" and "too late", and codes in no table. */
const openTails: ReadonlySet<number> = new Set([
  9009, 9026, 9068, 9016, 9018, 9020, 9022, 9024, 9027, 9028, 9029, 9032, 9045, 9047, 9048, 9049,
  9050, 9069, 9072, 9073, 9077, 9085, 9087, 9097, 9099,
]);

/** The reaction of the host to an amount, by the simulator's published table. */
export function fateOf(amount: number): Fate {
  const tail = amount % 10_000;
  if (tail < 9000 || tail > 9099) return 'approves';
  if (openTails.has(tail)) return 'leaves open';
  if (tail === 9093) return 'hangs up';
  if ([9091, 9092, 9095].includes(tail)) return 'is silent';
  if ([9000, 9008, 9011, 9094, 9098].includes(tail)) return 'approves';
  return tail === 9010 ? 'approves half' : 'declines';
}

/** No client confirms a `Late` sale; the terminal approved an `Offline` sale. */
export type ModelKind = 'Usual' | 'Verification' | 'Confirmed' | 'Late' | 'Offline';

export type ModelSale = {
  readonly kind: ModelKind;
  readonly amount: number;
  readonly captureMode: 'Immediate' | 'Deferred';
  readonly partialApproval: boolean;
};

/** The final state of a sale. */
export function sold(terms: ModelTerms, sale: ModelSale): Model {
  const { kind, amount } = sale;
  const amounts = { asked: amount, authorized: 0, captured: 0, cancelled: 0, refunded: 0 };
  const nothing = { terms, verifies: kind === 'Verification', ...amounts };
  const fate = fateOf(amount);
  if (fate === 'declines') return { ...nothing, end: 'Declined' };
  // The platform repeats an offline sale until it has a response; it reverses all other unknown
  // sales.
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

/** The state name: the first match in the order of the contract. */
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

/** The expected `allowedoperations` entry of an operation. */
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
  /** Default: the whole remaining amount. */
  readonly amount?: number;
  readonly final?: boolean;
};

/** The operation of refund or cancel by web: a refund if an amount is captured, else a cancel. */
export function byWebOf(model: Model): ModelVerb {
  const { captured, refunded } = model;
  const isOver = captured > 0 && openOf(model) === 0;
  return captured > refunded || isOver ? 'Refund' : 'Cancel';
}

/** The expected result of an operation, and the payment after it. */
export function operated(
  model: Model,
  { verb, amount: wanted, final = false }: ModelOperation,
): { expected: Expected; after: Model } {
  const limit = limits[verb](model);
  if ('nothing' in limit) return { expected: limit, after: model };
  if ('refused' in limit) return { expected: limit, after: model };
  // The over-capture allowance applies only if the request gives an amount.
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

/** Returns undefined if the host declines. */
function settled(
  model: Model,
  verb: ModelVerb,
  amount: number,
  isLast: boolean,
): Model | undefined {
  const open = openOf(model);
  switch (verb) {
    case 'Capture': {
      // The host captures at most the held amount, even if the contract allows more.
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
