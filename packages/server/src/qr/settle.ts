// Makes a step durable whatever else happens to the payment meanwhile, and tells whoever waits.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { type QrDeps, rivalsMax } from './deps.ts';
import type { Change, LoadedQr } from './model.ts';
import { type Context, reportStep, type Told } from './report.ts';
import { topicOf } from './running.ts';
import { isLive } from './state.ts';
import { after, changeOf, type Step } from './step.ts';

/** After the commit: the streams, the counters, and the sweep where something is due at once. */
export function announce(deps: QrDeps, change: Change): void {
  const { before, after: row } = change;
  deps.live.publish(topicOf(row), row.version);
  if (isLive(before.position) && !isLive(row.position)) deps.alarms.count(row.status);
  if (row.dueAt !== undefined && row.dueAt <= deps.clock.now()) deps.poke();
}

/** What else is durable with a change, or not at all: the record of who decided it. */
export type Beside = (trx: Kysely<unknown>, change: Change) => Promise<void>;

/** Commits one step on what was read. @returns undefined where somebody was faster */
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
 * Judges, commits, and judges anew as long as somebody else is faster. `make` gives the step, or
 * nothing where none is left to do; `beside` goes with it into one transaction.
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
  return refuse('concurrent_modification', 'Too many work on this payment; try again.');
}

/** Takes in what a provider says about a payment. */
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
