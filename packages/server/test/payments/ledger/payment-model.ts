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
  readonly finalState: 'Approved' | 'Declined' | 'Reversed';
  /** An account verification: it has no amount and allows no operation. */
  readonly verifies: boolean;
  readonly requestedAmount: number;
  readonly authorized: number;
  readonly captured: number;
  readonly cancelled: number;
  readonly refunded: number;
};

export type ModelVerb = 'Capture' | 'Refund' | 'Cancel' | 'Reversal';

/** The expected result of an operation. */
export type ExpectedResult =
  | { readonly refused: ErrorCode; readonly maxAmount?: number }
  | { readonly nothing: true }
  | { readonly amount: number; readonly status: 'Succeeded' | 'Declined' };

/** By how many percent of the approved amount captures can exceed it at the host of the tests. */
export const hostOverCapturePercent = 10;

type HostReaction =
  | 'approves'
  | 'approves half'
  | 'declines'
  | 'is silent'
  | 'leaves open'
  | 'hangs up';

/** Response codes for "in progress", "duplicate" and "too late", and codes in no table. */
const unansweredTails: ReadonlySet<number> = new Set([
  9009, 9026, 9068, 9016, 9018, 9020, 9022, 9024, 9027, 9028, 9029, 9032, 9045, 9047, 9048, 9049,
  9050, 9069, 9072, 9073, 9077, 9085, 9087, 9097, 9099,
]);

/** The reaction of the host to an amount, by the simulator's published table. */
export function hostReactionOf(amount: number): HostReaction {
  const tail = amount % 10_000;
  // The host signs off or sends another amount.
  if ([9101, 9102, 9103].includes(tail)) return 'hangs up';
  if (tail < 9000 || tail > 9099) return 'approves';
  if (unansweredTails.has(tail)) return 'leaves open';
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
export function modelOfSale(terms: ModelTerms, sale: ModelSale): Model {
  const { kind, amount } = sale;
  const amounts = {
    requestedAmount: amount,
    authorized: 0,
    captured: 0,
    cancelled: 0,
    refunded: 0,
  };
  const emptyModel = { terms, verifies: kind === 'Verification', ...amounts };
  const reaction = hostReactionOf(amount);
  if (reaction === 'declines') return { ...emptyModel, finalState: 'Declined' };
  // The platform repeats an offline sale until it has a response; it reverses all other unknown
  // sales.
  const isUnknown = reaction === 'is silent' || reaction === 'leaves open';
  if (isUnknown && kind !== 'Offline') return { ...emptyModel, finalState: 'Reversed' };
  const authorized = reaction === 'approves half' ? Math.floor(amount / 2) : amount;
  if (reaction === 'approves half' && !sale.partialApproval)
    return { ...emptyModel, finalState: 'Reversed' };
  if (kind === 'Late')
    return { ...emptyModel, finalState: 'Reversed', authorized, cancelled: authorized };
  const isCaptured = kind === 'Offline' || sale.captureMode === 'Immediate';
  return {
    ...emptyModel,
    finalState: 'Approved',
    authorized,
    captured: isCaptured ? authorized : 0,
  };
}

const remainingHold = ({ authorized, captured, cancelled }: Model) =>
  Math.max(0, authorized - captured - cancelled);

/** The state name: the first match in the order of the contract. */
export function stateNameOf(model: Model): string {
  const { finalState, captured, cancelled, authorized, refunded } = model;
  if (finalState !== 'Approved') return finalState;
  if (model.verifies) return 'Authorized';
  if (captured === 0 && cancelled === authorized) return 'Cancelled';
  if (captured > 0 && refunded === captured && remainingHold(model) === 0) return 'Refunded';
  if (refunded > 0) return 'PartiallyRefunded';
  if (captured > 0) return remainingHold(model) === 0 ? 'Captured' : 'PartiallyCaptured';
  return 'Authorized';
}

const percentOf = (amount: number, percent: number) => Math.floor((amount * percent) / 100);

type OperationLimit =
  | { readonly max: number }
  | { readonly refused: ErrorCode }
  | { readonly nothing: true };

function captureLimit(model: Model): OperationLimit {
  if (model.finalState === 'Declined') return { refused: 'transaction_declined' };
  if (model.finalState === 'Reversed') return { refused: 'not_authorized' };
  if (model.verifies) return { refused: 'nothing_to_capture' };
  if (remainingHold(model) === 0) {
    return { refused: model.captured === 0 ? 'already_cancelled' : 'nothing_to_capture' };
  }
  const { authorized, captured, cancelled, terms } = model;
  return {
    max: authorized + percentOf(authorized, terms.overCapturePercent) - captured - cancelled,
  };
}

function cancelLimit(model: Model): OperationLimit {
  if (model.finalState === 'Declined') return { refused: 'transaction_declined' };
  if (model.finalState === 'Reversed') return { refused: 'already_cancelled' };
  if (model.verifies) return { refused: 'nothing_to_cancel' };
  if (remainingHold(model) === 0) {
    return { refused: model.captured === 0 ? 'already_cancelled' : 'already_captured' };
  }
  if (model.captured > 0 && !model.terms.partialCancel) {
    return { refused: 'partial_cancel_not_supported' };
  }
  return { max: remainingHold(model) };
}

function refundLimit({ finalState, captured, refunded }: Model): OperationLimit {
  if (finalState === 'Declined') return { refused: 'transaction_declined' };
  if (captured === 0) return { refused: 'not_captured' };
  return captured === refunded ? { refused: 'already_refunded' } : { max: captured - refunded };
}

function reversalLimit(model: Model): OperationLimit {
  if (model.finalState !== 'Approved') return { nothing: true };
  if (model.captured > 0) return { refused: 'already_captured' };
  return remainingHold(model) === 0 ? { nothing: true } : { max: remainingHold(model) };
}

const limits = {
  Capture: captureLimit,
  Refund: refundLimit,
  Cancel: cancelLimit,
  Reversal: reversalLimit,
} as const;

/** The expected `allowedoperations` entry of an operation. */
export function expectedAllowedOperation(
  model: Model,
  verb: ModelVerb,
): { allowed: boolean; maxAmount: number } {
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
export function byWebOperationOf(model: Model): ModelVerb {
  const { captured, refunded } = model;
  const isOver = captured > 0 && remainingHold(model) === 0;
  return captured > refunded || isOver ? 'Refund' : 'Cancel';
}

/** The expected result of an operation, and the payment after it. */
export function applyOperation(
  model: Model,
  { verb, amount: requestedAmount, final = false }: ModelOperation,
): { expected: ExpectedResult; after: Model } {
  const limit = limits[verb](model);
  if ('nothing' in limit) return { expected: limit, after: model };
  if ('refused' in limit) return { expected: limit, after: model };
  // The over-capture allowance applies only if the request gives an amount.
  const amount = requestedAmount ?? (verb === 'Capture' ? remainingHold(model) : limit.max);
  const isWhole = verb !== 'Reversal' || amount === limit.max;
  if (amount > limit.max || !isWhole) {
    return { expected: { refused: exceeded[verb], maxAmount: limit.max }, after: model };
  }
  if (verb === 'Cancel' && amount < limit.max && !model.terms.partialCancel) {
    return { expected: { refused: 'partial_cancel_not_supported' }, after: model };
  }
  const after = applyAcceptedOperation(model, verb, amount, final || !model.terms.multipleCapture);
  const status = after === undefined ? 'Declined' : 'Succeeded';
  return { expected: { amount, status }, after: after ?? model };
}

/** Returns undefined if the host declines. */
function applyAcceptedOperation(
  model: Model,
  verb: ModelVerb,
  amount: number,
  isLast: boolean,
): Model | undefined {
  const open = remainingHold(model);
  switch (verb) {
    case 'Capture': {
      // The limit of the host can be lower than that of the contract.
      const hostLimit = open + percentOf(model.authorized, hostOverCapturePercent);
      if (amount > hostLimit || hostReactionOf(amount) === 'declines') return undefined;
      const cancelled = model.cancelled + (isLast ? Math.max(0, open - amount) : 0);
      return { ...model, captured: model.captured + amount, cancelled };
    }
    case 'Refund':
      return hostReactionOf(amount) === 'declines'
        ? undefined
        : { ...model, refunded: model.refunded + amount };
    case 'Cancel':
      return { ...model, cancelled: model.cancelled + amount };
    case 'Reversal':
      return { ...model, finalState: 'Reversed', cancelled: model.cancelled + open };
  }
}
