// State machine of card transactions. One table enforces the rules and generates the documentation.
import type { TransactionState } from '@switchyard/contract';

/**
 * Progress of the sale itself. `Submitted`: an offline sale whose message may have been sent, shown as Stored.
 * `AwaitingConfirmation`: approved, and reversed unless the client confirms it.
 */
export type Phase =
  | 'Received'
  | 'Stored'
  | 'Submitted'
  | 'Approved'
  | 'AwaitingConfirmation'
  | 'Cancelled'
  | 'Declined'
  | 'Failed'
  | 'Reversing'
  | 'Reversed'
  | 'Expired';

export type State = TransactionState;

/** Amounts in minor units. Reserved amounts wait for the response of the acquirer. */
export const zeroAmounts = {
  authorized: 0,
  captured: 0,
  cancelled: 0,
  refunded: 0,
  captureReserved: 0,
  cancelReserved: 0,
  refundReserved: 0,
};

type Amounts = typeof zeroAmounts;
export type Position = Amounts & { phase: Phase };

/** Changes of one event: a new phase, and amounts to add or subtract. */
export type PositionChanges = { phase?: Phase } & { [K in keyof Amounts]?: number };

const amountNames = Object.keys(zeroAmounts) as (keyof Amounts)[];

/** Adds an event's changes; replaying all events of a transaction gives its stored position (I7). */
export function applyPositionChanges(position: Position, changes: PositionChanges): Position {
  const next: Position = { ...position, phase: changes.phase ?? position.phase };
  for (const name of amountNames) next[name] += changes[name] ?? 0;
  return next;
}

/** Authorized amount that is neither captured nor cancelled, including reserved amounts. */
export function remainingAuthorized(position: Position): number {
  return Math.max(0, position.authorized - position.captured - position.cancelled);
}

export function isApprovedPhase({ phase }: Position): boolean {
  return phase === 'Approved' || phase === 'AwaitingConfirmation';
}

/** Amount of a full reversal: the authorized amount minus the cancelled amount. */
export function reversibleAmount(position: Position): number {
  return Math.max(0, position.authorized - position.cancelled);
}

/** True for an approved account verification, which has no authorized amount. */
function isAccountVerificationPosition(position: Position): boolean {
  return isApprovedPhase(position) && position.authorized === 0;
}

/** Derives the state. The first matching condition decides. */
export function deriveState(position: Position): State {
  const { phase } = position;
  if (phase === 'Submitted') return 'Stored';
  if (phase !== 'Approved' && phase !== 'AwaitingConfirmation') return phase;
  if (isAccountVerificationPosition(position)) return 'Authorized';
  const remaining = remainingAuthorized(position);
  if (position.captured === 0) return remaining === 0 ? 'Cancelled' : 'Authorized';
  if (position.refunded === position.captured && remaining === 0) return 'Refunded';
  if (position.refunded > 0) return 'PartiallyRefunded';
  return remaining === 0 ? 'Captured' : 'PartiallyCaptured';
}

/** `Cancel` is a void (functional cancel), `Reversal` a technical cancel of the full sale. */
export type OperationType = 'Capture' | 'Cancel' | 'Refund' | 'Reversal';

/** The amount in which an operation is reserved, and the amount in which its success is booked. */
export const operationAmounts = {
  Capture: { reserved: 'captureReserved', booked: 'captured' },
  Cancel: { reserved: 'cancelReserved', booked: 'cancelled' },
  Refund: { reserved: 'refundReserved', booked: 'refunded' },
} as const;

/**
 * What a state allows. `PartialAllowed`: up to the remaining amount. `Refundable`: up to the captured
 * amount. `FullOnly`: the full amount. `AfterOutcome`: accepted now, sent after the outcome of the sale.
 * `VoidLocally`: the full amount, without a message to the acquirer. `NoOp`: succeeds without effect.
 * `ReturnExisting`: returns the reversal in progress. Any other value is the error code of the refusal.
 */
export type StateRule =
  | 'PartialAllowed'
  | 'Refundable'
  | 'FullOnly'
  | 'AfterOutcome'
  | 'VoidLocally'
  | 'NoOp'
  | 'ReturnExisting'
  | ProblemCode;

export type ProblemCode =
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

type StateRules = Readonly<Record<OperationType, StateRule>>;

const rules = (
  Capture: StateRule,
  Cancel: StateRule,
  Reversal: StateRule,
  Refund: StateRule,
): StateRules => ({ Capture, Cancel, Reversal, Refund });

const inProgress = 'transaction_in_progress';
const reversing = 'reversal_in_progress';
const unconfirmed = 'confirmation_pending';
const declined = 'transaction_declined';
const expired = 'authorization_expired';

/** Columns: capture, cancel, reversal, refund. */
export const rulesByState: Readonly<Record<State, StateRules>> = {
  Received: rules(inProgress, inProgress, 'AfterOutcome', inProgress),
  Stored: rules('not_authorized', 'VoidLocally', 'VoidLocally', 'not_captured'),
  Authorized: rules('PartialAllowed', 'PartialAllowed', 'FullOnly', 'not_captured'),
  PartiallyCaptured: rules('PartialAllowed', 'PartialAllowed', 'already_captured', 'Refundable'),
  Captured: rules('nothing_to_capture', 'already_captured', 'already_captured', 'Refundable'),
  PartiallyRefunded: rules('PartialAllowed', 'PartialAllowed', 'already_captured', 'Refundable'),
  Refunded: rules('nothing_to_capture', 'already_captured', 'already_captured', 'already_refunded'),
  Cancelled: rules('already_cancelled', 'already_cancelled', 'NoOp', 'not_captured'),
  Declined: rules(declined, declined, 'NoOp', declined),
  Failed: rules('not_authorized', 'not_authorized', 'NoOp', 'not_captured'),
  Reversing: rules(reversing, reversing, 'ReturnExisting', reversing),
  Reversed: rules('not_authorized', 'already_cancelled', 'NoOp', 'not_captured'),
  Expired: rules(expired, expired, expired, 'not_captured'),
};

/** Replaces the row Stored after the advice of an offline sale may have been sent. */
export const submittedRules = rules('not_authorized', inProgress, 'AfterOutcome', inProgress);

/** Replaces the row of the state while a sale waits for its confirmation (ADR 0005). */
export const awaitingConfirmationRules = rules(unconfirmed, unconfirmed, 'FullOnly', unconfirmed);

/** Replaces the row of the state of an approved account verification. */
export const accountVerificationRules = rules(
  'nothing_to_capture',
  'nothing_to_cancel',
  'NoOp',
  'not_captured',
);

/** `Confirm` if the sale waits for its confirmation, `NoOp` if it needs none; else the error code. */
type ConfirmRule = 'Confirm' | 'NoOp' | ProblemCode | 'transaction_reversed';

export const confirmRulesByState: Readonly<Record<State, ConfirmRule>> = {
  Received: 'transaction_in_progress',
  Stored: 'not_authorized',
  Authorized: 'NoOp',
  PartiallyCaptured: 'NoOp',
  Captured: 'NoOp',
  PartiallyRefunded: 'NoOp',
  Refunded: 'NoOp',
  Cancelled: 'NoOp',
  Declined: 'transaction_declined',
  Failed: 'not_authorized',
  Reversing: 'reversal_in_progress',
  Reversed: 'transaction_reversed',
  Expired: 'authorization_expired',
};

export function confirmRuleFor(position: Position): ConfirmRule {
  return position.phase === 'AwaitingConfirmation'
    ? 'Confirm'
    : confirmRulesByState[deriveState(position)];
}

function stateRulesFor(position: Position): StateRules {
  if (isAccountVerificationPosition(position)) return accountVerificationRules;
  if (position.phase === 'AwaitingConfirmation') return awaitingConfirmationRules;
  if (position.phase === 'Submitted') return submittedRules;
  return rulesByState[deriveState(position)];
}

export type ContractTerms = {
  partialCancel: boolean;
  multipleCapture: boolean;
  overCaptureAllowance: number;
  /** The authorization has expired; the remaining amount cannot be captured. */
  isAuthorizationExpired?: boolean;
};

type ProblemReason = ProblemCode | 'partial_cancel_not_supported';

/** `AfterOutcome` and `VoidLocally` apply to the full sale; the position holds no amount yet. */
type AllowedResult =
  | { allowed: true; maxAmount: number; mode: Exclude<StateRule, ProblemCode> }
  | { allowed: false; maxAmount: 0; reason: ProblemReason };

/** Minor units that may be captured above the authorised amount. */
export function calculateOverCaptureAllowance(amount: number, percent: number): number {
  return Number((BigInt(amount) * BigInt(percent)) / 100n);
}

/** True while a part of the authorization is reserved. An operation on the full rest must wait. */
export function hasReservation(position: Position): boolean {
  return position.captureReserved + position.cancelReserved > 0;
}

const notAllowed = (reason: ProblemReason) => ({ allowed: false, maxAmount: 0, reason }) as const;

function checkCapture(position: Position, terms: ContractTerms): AllowedResult {
  if (remainingAuthorized(position) === 0) return notAllowed('nothing_to_capture');
  if (!terms.multipleCapture && hasReservation(position)) return notAllowed(inProgress);
  const { authorized, captured, captureReserved, cancelled, cancelReserved } = position;
  // A pending cancellation excludes over-capture.
  const limit = authorized + (cancelReserved > 0 ? 0 : terms.overCaptureAllowance);
  const maxAmount = Math.max(0, limit - captured - captureReserved - cancelled - cancelReserved);
  return { allowed: true, mode: 'PartialAllowed', maxAmount };
}

function checkPartialCancel(position: Position, terms: ContractTerms): AllowedResult {
  const { captured, captureReserved, cancelReserved } = position;
  const remaining = remainingAuthorized(position);
  if (remaining === 0) return notAllowed('already_captured');
  // Each cancel names the amount that stays authorised, so the acquirer must get one after the other.
  if (cancelReserved > 0) return notAllowed(inProgress);
  if (captured + captureReserved > 0 && !terms.partialCancel)
    return notAllowed('partial_cancel_not_supported');
  const maxAmount = Math.max(0, remaining - captureReserved);
  return { allowed: true, mode: 'PartialAllowed', maxAmount };
}

function checkRefund({ captured, refunded, refundReserved }: Position): AllowedResult {
  if (refunded === captured) return notAllowed('already_refunded');
  return { allowed: true, mode: 'Refundable', maxAmount: captured - refunded - refundReserved };
}

/** False also if nothing is left for the operation. */
const isPossible = (result: AllowedResult): boolean =>
  result.allowed &&
  (result.maxAmount > 0 || (result.mode !== 'PartialAllowed' && result.mode !== 'Refundable'));

/** The positions after the pending operations, each of which succeeds or fails. */
function positionsAfterPending(position: Position): Position[] {
  let positions = [position];
  for (const { reserved, booked } of Object.values(operationAmounts)) {
    positions = positions.flatMap((each) => {
      const failed = { ...each, [reserved]: 0 };
      return [failed, { ...failed, [booked]: each[booked] + each[reserved] }];
    });
  }
  return positions;
}

/**
 * Decides whether an operation is allowed and its maximum amount (invariant I9). A refusal is
 * `transaction_in_progress` if the outcome of a pending operation can make the operation possible.
 */
export function checkAllowed(
  position: Position,
  operationType: OperationType,
  terms: ContractTerms,
): AllowedResult {
  const result = checkRules(position, operationType, terms);
  const hasPending = hasReservation(position) || position.refundReserved > 0;
  if (!hasPending || isPossible(result)) return result;
  const canBecomePossible = positionsAfterPending(position).some((next) =>
    isPossible(checkRules(next, operationType, terms)),
  );
  return canBecomePossible ? notAllowed(inProgress) : result;
}

function checkRules(
  position: Position,
  operationType: OperationType,
  terms: ContractTerms,
): AllowedResult {
  // The same refusal as in the state Expired, which a periodic task sets later.
  if (terms.isAuthorizationExpired === true && operationType !== 'Refund')
    return notAllowed('authorization_expired');
  const rule = stateRulesFor(position)[operationType];
  switch (rule) {
    case 'PartialAllowed':
      return operationType === 'Capture'
        ? checkCapture(position, terms)
        : checkPartialCancel(position, terms);
    case 'Refundable':
      return checkRefund(position);
    case 'FullOnly':
      if (hasReservation(position)) return notAllowed(inProgress);
      return { allowed: true, mode: 'FullOnly', maxAmount: reversibleAmount(position) };
    case 'AfterOutcome':
    case 'VoidLocally':
    case 'NoOp':
    case 'ReturnExisting':
      return { allowed: true, mode: rule, maxAmount: 0 };
    default:
      return notAllowed(rule);
  }
}
