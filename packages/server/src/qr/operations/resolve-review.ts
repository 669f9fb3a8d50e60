// Ends the hold of a payment by the decision of an operator.
import { defined, throwProblem } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import { askHeldRefunds } from '../provider-queries/query-unanswered-refunds.ts';
import { settle } from '../runtime/commit-steps.ts';
import type { Asked, QrDeps } from '../runtime/qr-dependencies.ts';
import { newOperation } from '../transaction/apply-payment-report.ts';
import type { Step } from '../transaction/build-change.ts';
import { conflictOf } from '../transaction/conflict-details.ts';
import { operationsMax } from '../transaction/limits.ts';
import { viewPayment } from '../transaction/payment-views.ts';
import type { Change, LoadedQr, QrRow, StoredOperation } from '../transaction/records.ts';
import { type Resolution, resolutionsOf, resolved } from '../transaction/review-decisions.ts';
import type { Changes } from '../transaction/state-machine.ts';
import { retried, settledElsewhere } from '../transaction/unanswered-refunds.ts';

export type Decision = {
  resolution: Resolution;
  /** The amount on hold that the operator saw. */
  amount?: number | undefined;
  note?: string | undefined;
};

type Of = { at: number; newId: () => string; actor: string };

/**
 * Demands a note for `Settle`, because only the note describes the settlement.
 *
 * @throws Refusal of the fields
 */
function checkNote({ resolution, note }: Decision): void {
  if (note === undefined) {
    if (resolution !== 'Settle') return;
    throwProblem('field_required', 'How it was settled is missing.', {
      errors: [{ pointer: '/note', code: 'field_required', detail: 'Is needed with Settle.' }],
    });
  }
  if (!holdsCardNumber(note)) return;
  throwProblem('field_invalid', 'The note contains text that looks like a card number.', {
    errors: [{ pointer: '/note', code: 'field_invalid', detail: 'Looks like a card number.' }],
  });
}

/** @throws Refusal payment_not_held, resolution_not_possible */
function demandPossible(standing: LoadedQr, resolution: Resolution): void {
  const conflict = conflictOf(standing);
  const possible = resolutionsOf(standing.row.position);
  if (possible.length === 0) {
    throwProblem('payment_not_held', 'Nothing waits for a decision.', { extensions: conflict });
  }
  if (possible.includes(resolution)) return;
  throwProblem('resolution_not_possible', `Possible are ${possible.join(', ')}.`, {
    extensions: { ...conflict, allowedResolutions: [...possible] },
  });
}

function refuseUnseen(standing: LoadedQr): never {
  return throwProblem('concurrent_modification', 'It is not what was looked at any more.', {
    extensions: conflictOf(standing),
  });
}

/**
 * Refuses a decision about an amount that has changed since the operator saw it.
 *
 * @throws Refusal concurrent_modification
 */
async function demandSeen({ store }: QrDeps, found: LoadedQr, { amount }: Decision) {
  if (amount === undefined) return;
  const { hold } = viewPayment(found, await store.shownEvents(found.row));
  if (hold?.amount !== amount) refuseUnseen(found);
}

type Outcome = { changes: Changes; operations: StoredOperation[] };

/** The effect of the decision on the paid money. @throws Refusal event_limit_reached */
function outcomeOf(
  standing: LoadedQr,
  resolution: Exclude<Resolution, 'Ask' | 'Retry'>,
  { at, newId, actor }: Of,
): Outcome {
  const { position, operationCount } = standing.row;
  if (position.hold === 'RefundUnanswered') return settledElsewhere(standing, at);
  const { changes, refund: amount } = resolved(position, resolution);
  if (amount === 0) return { changes, operations: [] };
  if (operationCount >= operationsMax) {
    const detail = `More than ${operationsMax} operations are not taken: Settle.`;
    throwProblem('event_limit_reached', detail, { extensions: conflictOf(standing) });
  }
  const cause = 'Resolution' as const;
  const refund = newOperation(standing, 'Refund', { at, newId, amount, actor, cause });
  return { changes, operations: [refund] };
}

/** @throws Refusal payment_not_held, resolution_not_possible, event_limit_reached */
export function resolveStep(
  standing: LoadedQr,
  { resolution, note }: Decision & { resolution: Exclude<Resolution, 'Ask'> },
  of: Of,
): Step {
  const { at, actor } = of;
  demandPossible(standing, resolution);
  const { changes, operations }: Outcome =
    resolution === 'Retry'
      ? { changes: { hold: null }, operations: retried(standing, at) }
      : outcomeOf(standing, resolution, of);
  return {
    at,
    type: 'qr.resolved',
    changes,
    operations,
    askAt: at,
    data: { reason: resolution, actor, ...defined({ note }) },
  };
}

/** The state of the payment for the audit log. */
function shown({ status, position }: QrRow) {
  const { hold, refunded, refundReserved, settled } = position;
  return { status, hold, refunded, refundReserved, settled };
}

/**
 * Ends a hold and records the operator. `Ask` requests the status from the provider, and its answer
 * may end the hold.
 *
 * @throws Refusal of the fields, payment_not_held, resolution_not_possible,
 * concurrent_modification, event_limit_reached, provider_timeout
 */
export async function resolveHold(
  deps: QrDeps,
  asked: Asked,
  found: LoadedQr,
  decision: Decision,
): Promise<LoadedQr> {
  checkNote(decision);
  const { resolution, note } = decision;
  const { subject: actor } = asked.caller;
  demandPossible(found, resolution);
  await demandSeen(deps, found, decision);
  if (resolution === 'Ask') return askHeldRefunds(deps, found, actor);
  const of = { newId: deps.ids.uuid, actor };
  const make = (standing: LoadedQr) => {
    const step = resolveStep(
      standing,
      { ...decision, resolution },
      { at: deps.clock.now(), ...of },
    );
    const isSeen = standing.row.version === found.row.version;
    return decision.amount === undefined || isSeen ? step : refuseUnseen(standing);
  };
  return settle(deps, found, make, (trx, { before, after }: Change) =>
    deps.tell(trx, {
      asked,
      organizationId: after.organizationId,
      action: 'qrPayment.resolved',
      entity: { type: 'qrPayment', id: after.transactionId, merchantId: after.merchantId },
      before: shown(before),
      after: { ...shown(after), resolution, ...defined({ note }) },
    }),
  );
}
