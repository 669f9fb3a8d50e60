// Commits a step despite concurrent changes of the payment, and notifies subscribers.
import { throwProblem } from '@switchyard/contract';
import type { Queries } from '../../platform/index.ts';
import {
  type PaymentReport,
  paymentReportStep,
  type ReportContext,
} from '../transaction/apply-payment-report.ts';
import {
  type RefundContext,
  type RefundReport,
  refundReportStep,
} from '../transaction/apply-refund-report.ts';
import { afterChange, buildChange, type PaymentStep } from '../transaction/build-change.ts';
import { concurrentChangesMax } from '../transaction/limits.ts';
import type { LoadedPayment, PaymentChange } from '../transaction/records.ts';
import { isLive } from '../transaction/state-machine.ts';
import type { QrDeps } from './qr-dependencies.ts';
import { paymentTopic } from './running-payments.ts';

/** After the commit: notifies streams, counts final statuses and starts a poll that is due. */
export function publishChange(deps: QrDeps, change: PaymentChange): void {
  const { before, after: row } = change;
  deps.live.publish(paymentTopic(row), row.version);
  if (isLive(before.position) && !isLive(row.position)) deps.alarms.countOutcome(row.status);
  if (row.dueAt !== undefined && row.dueAt <= deps.clock.now()) deps.wakePoller();
}

/** Work in the same transaction as the change: the audit record of the decision. */
export type WorkInTransaction = (trx: Queries, change: PaymentChange) => Promise<void>;

/** Commits one step on the state that was read. @returns undefined after a concurrent change */
export async function commitStep(
  deps: QrDeps,
  loaded: LoadedPayment,
  step: PaymentStep,
  workInTransaction?: WorkInTransaction,
): Promise<LoadedPayment | undefined> {
  const change = buildChange(loaded, step);
  const { store } = deps;
  const isCommitted =
    workInTransaction === undefined
      ? await store.commit(change)
      : await store.commitWith(change, (trx) => workInTransaction(trx, change));
  if (!isCommitted) return undefined;
  publishChange(deps, change);
  return afterChange(loaded, change);
}

/**
 * Commits the step that `make` returns, and repeats both after a concurrent change. If `make`
 * returns undefined, nothing is left to do. `workInTransaction` runs in the same transaction.
 */
export async function commitWithRetry(
  deps: QrDeps,
  loaded: LoadedPayment,
  make: (current: LoadedPayment) => PaymentStep | undefined,
  workInTransaction?: WorkInTransaction,
): Promise<LoadedPayment> {
  let current = loaded;
  for (let attempt = 0; attempt < concurrentChangesMax; attempt += 1) {
    const step = make(current);
    if (step === undefined) return current;
    const committed = await commitStep(deps, current, step, workInTransaction);
    if (committed !== undefined) return committed;
    const reloaded = await deps.store.find(current.row);
    if (reloaded === undefined) throw new Error('a stored QR payment was not found');
    current = reloaded;
  }
  return throwProblem(
    'concurrent_modification',
    'Too many requests changed this payment at the same time. Retry the request.',
  );
}

/** Applies a provider's report on a payment. */
export async function commitPaymentReport(
  deps: QrDeps,
  loaded: LoadedPayment,
  report: PaymentReport,
  context: Pick<ReportContext, 'provider' | 'answered'> = {},
): Promise<LoadedPayment> {
  let alarm: Parameters<QrDeps['alarms']['raise']>[0] | undefined;
  const committed = await commitWithRetry(deps, loaded, (current) => {
    const at = deps.clock.now();
    const outcome = paymentReportStep(current, report, {
      at,
      newId: deps.ids.uuid,
      payWithinMs: deps.payWithinMs,
      ...context,
    });
    alarm = outcome?.alarm;
    return outcome?.step;
  });
  if (alarm !== undefined) deps.alarms.raise(alarm, loaded.row);
  return committed;
}

/** Applies a provider's report on a refund. */
export async function commitRefundReport(
  deps: QrDeps,
  loaded: LoadedPayment,
  operationId: string,
  report: RefundReport,
  origin: Pick<RefundContext, 'sequence' | 'provider' | 'actor'> = {},
): Promise<LoadedPayment> {
  const committed = await commitWithRetry(deps, loaded, (current) =>
    refundReportStep(current, operationId, report, { at: deps.clock.now(), ...origin }),
  );
  const { hold } = committed.row.position;
  const isNewHold = hold === 'RefundDeclined' && loaded.row.position.hold !== hold;
  if (isNewHold) deps.alarms.raise('refund_declined', loaded.row);
  return committed;
}
