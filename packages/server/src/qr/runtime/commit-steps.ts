// Commits a step despite concurrent changes of the payment, and notifies subscribers.
import { throwProblem } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type Context, reportStep, type Told } from '../transaction/apply-payment-report.ts';
import {
  type RefundContext,
  type RefundSaid,
  refundStep,
} from '../transaction/apply-refund-report.ts';
import { after, changeOf, type Step } from '../transaction/build-change.ts';
import { rivalsMax } from '../transaction/limits.ts';
import type { Change, LoadedQr } from '../transaction/records.ts';
import { isLive } from '../transaction/state-machine.ts';
import type { QrDeps } from './qr-dependencies.ts';
import { topicOf } from './running-payments.ts';

/** After the commit: notifies streams, counts final statuses and starts a poll that is due. */
export function announce(deps: QrDeps, change: Change): void {
  const { before, after: row } = change;
  deps.live.publish(topicOf(row), row.version);
  if (isLive(before.position) && !isLive(row.position)) deps.alarms.count(row.status);
  if (row.dueAt !== undefined && row.dueAt <= deps.clock.now()) deps.poke();
}

/** Work in the same transaction as the change: the audit record of the decision. */
export type Beside = (trx: Kysely<unknown>, change: Change) => Promise<void>;

/** Commits one step on the state that was read. @returns undefined after a concurrent change */
export async function commit(
  deps: QrDeps,
  loaded: LoadedQr,
  step: Step,
  beside?: Beside,
): Promise<LoadedQr | undefined> {
  const change = changeOf(loaded, step);
  const { store } = deps;
  const isDone =
    beside === undefined
      ? await store.commit(change)
      : await store.commitBeside(change, (trx) => beside(trx, change));
  if (!isDone) return undefined;
  announce(deps, change);
  return after(loaded, change);
}

/**
 * Commits the step that `make` returns, and repeats both after a concurrent change. If `make`
 * returns undefined, nothing is left to do. `beside` runs in the same transaction.
 */
export async function settle(
  deps: QrDeps,
  loaded: LoadedQr,
  make: (standing: LoadedQr) => Step | undefined,
  beside?: Beside,
): Promise<LoadedQr> {
  let standing = loaded;
  for (let attempt = 0; attempt < rivalsMax; attempt += 1) {
    const step = make(standing);
    if (step === undefined) return standing;
    const done = await commit(deps, standing, step, beside);
    if (done !== undefined) return done;
    const read = await deps.store.find(standing.row);
    if (read === undefined) throw new Error('a QR payment has vanished');
    standing = read;
  }
  return throwProblem('concurrent_modification', 'Too many work on this payment; try again.');
}

/** Applies a provider's report on a payment. */
export async function settleReport(
  deps: QrDeps,
  loaded: LoadedQr,
  told: Told,
  context: Pick<Context, 'provider' | 'answered'> = {},
): Promise<LoadedQr> {
  let alarm: Parameters<QrDeps['alarms']['raise']>[0] | undefined;
  const settled = await settle(deps, loaded, (standing) => {
    const at = deps.clock.now();
    const reported = reportStep(standing, told, {
      at,
      newId: deps.ids.uuid,
      payWithinMs: deps.payWithinMs,
      ...context,
    });
    alarm = reported?.alarm;
    return reported?.step;
  });
  if (alarm !== undefined) deps.alarms.raise(alarm, loaded.row);
  return settled;
}

/** Applies a provider's report on a refund. */
export async function settleRefund(
  deps: QrDeps,
  loaded: LoadedQr,
  operationId: string,
  said: RefundSaid,
  of: Pick<RefundContext, 'sequence' | 'provider' | 'actor'> = {},
): Promise<LoadedQr> {
  const settled = await settle(deps, loaded, (standing) =>
    refundStep(standing, operationId, said, { at: deps.clock.now(), ...of }),
  );
  const { hold } = settled.row.position;
  const isNewHold = hold === 'RefundDeclined' && loaded.row.position.hold !== hold;
  if (isNewHold) deps.alarms.raise('refund_declined', loaded.row);
  return settled;
}
