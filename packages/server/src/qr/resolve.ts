// Ends a hold: somebody has looked at what was paid, and decides what becomes of it.
import { refuse } from '@switchyard/contract';
import type { Caller } from '../http/index.ts';
import type { QrDeps } from './deps.ts';
import type { LoadedQr } from './model.ts';
import { transactionOf } from './operation.ts';
import { newOperation } from './report.ts';
import { settle } from './settle.ts';
import { type Resolution, resolved } from './state.ts';

/** @throws Refusal payment_not_held */
export function resolveHold(
  deps: QrDeps,
  caller: Caller,
  found: LoadedQr,
  resolution: Resolution,
): Promise<LoadedQr> {
  return settle(deps, found, (standing) => {
    const { position } = standing.row;
    if (position.hold === null) {
      return refuse('payment_not_held', 'Nothing waits for a decision.', {
        extensions: { transaction: transactionOf(standing) },
      });
    }
    const at = deps.clock.now();
    const { changes, refund } = resolved(position, resolution);
    const of = { at, newId: deps.ids.uuid, amount: refund, actor: caller.subject };
    const operations =
      refund === 0
        ? []
        : [newOperation(standing, 'Refund', { ...of, cause: 'Resolution' as const })];
    return {
      ...{ at, type: 'qr.resolved', changes, operations, askAt: at },
      data: { reason: resolution, actor: caller.subject },
    };
  });
}
