// Ends a hold: somebody has looked at what was paid, and decides what becomes of it.
import { refuse } from '@switchyard/contract';
import { holdsCardNumber } from '@switchyard/emv';
import type { Caller } from '../http/index.ts';
import { operationsMax, type QrDeps } from './deps.ts';
import { type Resolution, resolutionsOf, resolved } from './hold.ts';
import type { LoadedQr } from './model.ts';
import { transactionOf } from './operation.ts';
import { newOperation } from './report.ts';
import { settle } from './settle.ts';
import type { Step } from './step.ts';

export type Decision = { resolution: Resolution; note?: string | undefined };

/** What was settled elsewhere stands nowhere but in the note. @throws Refusal of the fields */
function checkNote({ resolution, note }: Decision): void {
  if (note === undefined) {
    if (resolution !== 'Settle') return;
    refuse('field_required', 'How it was settled is missing.', {
      errors: [{ pointer: '/note', code: 'field_required', detail: 'Is needed with Settle.' }],
    });
  }
  if (!holdsCardNumber(note)) return;
  refuse('field_invalid', 'The note holds what looks like a card number.', {
    errors: [{ pointer: '/note', code: 'field_invalid', detail: 'Looks like a card number.' }],
  });
}

/** @throws Refusal payment_not_held, resolution_not_possible, event_limit_reached */
export function resolveStep(
  standing: LoadedQr,
  { resolution, note }: Decision,
  { at, newId, actor }: { at: number; newId: () => string; actor: string },
): Step {
  const { position, operationCount } = standing.row;
  const transaction = transactionOf(standing);
  const possible = resolutionsOf(position);
  if (possible.length === 0) {
    refuse('payment_not_held', 'Nothing waits for a decision.', { extensions: { transaction } });
  }
  if (!possible.includes(resolution)) {
    refuse('resolution_not_possible', `Possible are ${possible.join(' and ')}.`, {
      extensions: { transaction, allowedResolutions: possible },
    });
  }
  const { changes, refund: amount } = resolved(position, resolution);
  if (amount > 0 && operationCount >= operationsMax) {
    refuse('event_limit_reached', `More than ${operationsMax} operations are not taken: Settle.`);
  }
  const cause = 'Resolution' as const;
  const operations =
    amount === 0 ? [] : [newOperation(standing, 'Refund', { at, newId, amount, actor, cause })];
  return {
    ...{ at, type: 'qr.resolved', changes, operations, askAt: at },
    data: { reason: resolution, actor, ...(note === undefined ? {} : { note }) },
  };
}

/** @throws Refusal of the fields, payment_not_held, resolution_not_possible */
export function resolveHold(
  deps: QrDeps,
  caller: Caller,
  found: LoadedQr,
  decision: Decision,
): Promise<LoadedQr> {
  checkNote(decision);
  const of = { newId: deps.ids.uuid, actor: caller.subject };
  return settle(deps, found, (standing) =>
    resolveStep(standing, decision, { at: deps.clock.now(), ...of }),
  );
}
