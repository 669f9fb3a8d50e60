// Ends the hold of a payment by the decision of an operator.
import { defined, throwProblem } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { queryUnansweredRefunds } from '../provider-queries/ask-provider-about-refunds.ts';
import { commitWithRetry } from '../runtime/commit-steps.ts';
import type { QrDeps, RequestIdentity } from '../runtime/qr-dependencies.ts';
import { createOperation } from '../transaction/apply-payment-report.ts';
import type { PaymentStep } from '../transaction/build-change.ts';
import { conflictDetails } from '../transaction/conflict-details.ts';
import { operationsMax } from '../transaction/limits.ts';
import { viewPayment } from '../transaction/payment-views.ts';
import type {
  LoadedPayment,
  PaymentChange,
  QrRow,
  StoredOperation,
} from '../transaction/records.ts';
import {
  allowedResolutions,
  changesOfResolution,
  type Resolution,
} from '../transaction/review-decisions.ts';
import type { PositionChanges } from '../transaction/state-machine.ts';
import {
  retryUnansweredRefunds,
  settleOutsidePlatform,
} from '../transaction/unanswered-refunds.ts';

export type ReviewDecision = {
  resolution: Resolution;
  /** The amount on hold that the operator saw. */
  amount?: number | undefined;
  note?: string | undefined;
};

type DecisionContext = { at: number; newId: () => string; actor: string };

/**
 * Requires a note for `Settle`, because only the note describes the settlement.
 *
 * @throws ProblemError of the fields
 */
function requireNote({ resolution, note }: ReviewDecision): void {
  if (note === undefined) {
    if (resolution !== 'Settle') return;
    throwProblem('field_required', 'note is required: it describes the settlement.', {
      errors: [{ pointer: '/note', code: 'field_required', detail: 'Is required with Settle.' }],
    });
  }
  if (!holdsCardNumber(note)) return;
  throwProblem('field_invalid', 'The note contains text that looks like a card number.', {
    errors: [{ pointer: '/note', code: 'field_invalid', detail: 'Looks like a card number.' }],
  });
}

/** @throws ProblemError payment_not_held, resolution_not_possible */
function requireAllowedResolution(current: LoadedPayment, resolution: Resolution): void {
  const details = conflictDetails(current);
  const allowed = allowedResolutions(current.row.position);
  if (allowed.length === 0) {
    throwProblem('payment_not_held', 'The payment is not under review.', { extensions: details });
  }
  if (allowed.includes(resolution)) return;
  throwProblem(
    'resolution_not_possible',
    `The resolution ${resolution} is not possible for this payment. Use one of: ${allowed.join(', ')}.`,
    {
      extensions: { ...details, allowedResolutions: [...allowed] },
    },
  );
}

function throwAmountChanged(current: LoadedPayment): never {
  return throwProblem(
    'concurrent_modification',
    'The payment has changed since it was read. Read it again.',
    {
      extensions: conflictDetails(current),
    },
  );
}

/**
 * Refuses a decision about an amount that has changed since the operator saw it.
 *
 * @throws ProblemError concurrent_modification
 */
async function requireCurrentAmount(
  { store }: QrDeps,
  payment: LoadedPayment,
  { amount }: ReviewDecision,
) {
  if (amount === undefined) return;
  const { hold } = viewPayment(payment, await store.eventsForView(payment.row));
  if (hold?.amount !== amount) throwAmountChanged(payment);
}

type Outcome = { changes: PositionChanges; operations: StoredOperation[] };

/** The effect of the decision on the paid money. @throws ProblemError event_limit_reached */
function outcomeOf(
  current: LoadedPayment,
  resolution: Exclude<Resolution, 'Ask' | 'Retry'>,
  { at, newId, actor }: DecisionContext,
): Outcome {
  const { position, operationCount } = current.row;
  if (position.hold === 'RefundUnanswered') return settleOutsidePlatform(current, at);
  const { changes, refund: amount } = changesOfResolution(position, resolution);
  if (amount === 0) return { changes, operations: [] };
  if (operationCount >= operationsMax) {
    const detail = `A payment can have at most ${operationsMax} operations. Use Settle.`;
    throwProblem('event_limit_reached', detail, { extensions: conflictDetails(current) });
  }
  const cause = 'Resolution' as const;
  const refund = createOperation(current, 'Refund', { at, newId, amount, actor, cause });
  return { changes, operations: [refund] };
}

/** @throws ProblemError payment_not_held, resolution_not_possible, event_limit_reached */
export function resolveStep(
  current: LoadedPayment,
  { resolution, note }: ReviewDecision & { resolution: Exclude<Resolution, 'Ask'> },
  context: DecisionContext,
): PaymentStep {
  const { at, actor } = context;
  requireAllowedResolution(current, resolution);
  const { changes, operations }: Outcome =
    resolution === 'Retry'
      ? { changes: { hold: null }, operations: retryUnansweredRefunds(current, at) }
      : outcomeOf(current, resolution, context);
  return {
    at,
    type: 'qr.resolved',
    changes,
    operations,
    pollAt: at,
    data: { reason: resolution, actor, ...defined({ note }) },
  };
}

/** The state of the payment for the audit log. */
function auditState({ status, position }: QrRow) {
  const { hold, refunded, refundReserved, settled } = position;
  return { status, hold, refunded, refundReserved, settled };
}

/**
 * Ends a hold and records the operator. `Ask` requests the status from the provider, and its answer
 * may end the hold.
 *
 * @throws ProblemError of the fields, payment_not_held, resolution_not_possible,
 * concurrent_modification, event_limit_reached, provider_timeout
 */
export async function resolveReview(
  deps: QrDeps,
  request: RequestIdentity,
  payment: LoadedPayment,
  decision: ReviewDecision,
): Promise<LoadedPayment> {
  requireNote(decision);
  const { resolution, note } = decision;
  const { subject: actor } = request.caller;
  requireAllowedResolution(payment, resolution);
  await requireCurrentAmount(deps, payment, decision);
  if (resolution === 'Ask') return queryUnansweredRefunds(deps, payment, actor);
  const context = { newId: deps.ids.uuid, actor };
  const makeStep = (current: LoadedPayment) => {
    const step = resolveStep(
      current,
      { ...decision, resolution },
      { at: deps.clock.now(), ...context },
    );
    const isSeen = current.row.version === payment.row.version;
    return decision.amount === undefined || isSeen ? step : throwAmountChanged(current);
  };
  return commitWithRetry(deps, payment, makeStep, (trx, { before, after }: PaymentChange) =>
    deps.recordAudit(trx, {
      request,
      organizationId: after.organizationId,
      action: 'qrPayment.resolved',
      entity: { type: 'qrPayment', id: after.transactionId, merchantId: after.merchantId },
      before: auditState(before),
      after: { ...auditState(after), resolution, ...defined({ note }) },
    }),
  );
}
