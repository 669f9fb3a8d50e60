// Leaves operations that have no answer to the jobs table.
import { isoTime } from '../platform/index.ts';
import type { PaymentsDeps } from './deps.ts';
import { factsOf, type LoadedTransaction, type StoredOperation } from './model.ts';
import { repeatJobFor } from './reversal.ts';
import type { Step } from './step.ts';

/** Somebody has to look: a terminal counts where another one has counted before. */
export function alarmCollision(
  { log }: Pick<PaymentsDeps, 'log'>,
  of: { transactionId: string; number?: number },
): void {
  log.error(of, 'the acquirer has had the numbers of a message that was never sent before');
}

/** Leaves a sent operation to the jobs table, in one commit; that its numbers collide is noted on it. */
export function unansweredStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  operation: StoredOperation,
  collided: boolean,
): Step {
  if (!collided) return pendingStep(deps, loaded, operation);
  const details = { ...operation.details, collided: true } as const;
  const { job, ...step } = pendingStep(deps, loaded, { ...operation, details });
  // Where it is Pending already it has its job.
  return operation.status === 'Sent' && job !== undefined ? { ...step, job } : step;
}

/** Leaves a sent operation without an answer to the jobs table, in one commit. */
export function pendingStep(
  deps: PaymentsDeps,
  loaded: LoadedTransaction,
  operation: StoredOperation,
): Step {
  const at = deps.clock.now();
  return {
    at,
    type:
      operation.kind === 'Reversal'
        ? 'transaction.reversal_queued'
        : `transaction.${operation.kind.toLowerCase()}_pending`,
    changes: {},
    data: { amount: operation.amount, reason: 'Unanswered' },
    operation: { ...operation, status: 'Pending', updatedAt: isoTime(at) },
    job: repeatJobFor(deps, loaded.row.transactionId, operation.number, at, {
      sent: true,
      lane: factsOf(loaded).linkId,
    }),
  };
}
