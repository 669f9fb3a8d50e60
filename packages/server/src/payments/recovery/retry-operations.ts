// Sends unanswered operations again, with the same reference, until the acquirer has answered.
import { type AcquirerOutcome, isUndecided } from '../../acquiring/index.ts';
import { type Job, jittered, type Later } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { sendOperation, settleOperation } from '../operations/run-operation.ts';
import { isMalfunction } from '../reversals/operation-outcome.ts';
import { createRepeatPlaces } from '../runtime/retry-concurrency.ts';
import { createTurns } from '../runtime/send-order.ts';
import {
  factsOf,
  type LoadedTransaction,
  type StoredOperation,
} from '../transaction/transaction.ts';
import { alarmAfter, type Lanes, unanswered } from './link-queue.ts';

/** Waits between repeats, ms; the last one goes on for ever. */
const repeatAfterMs = [1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000] as const;

export function repeatDelayMs(attempts: number): number {
  return repeatAfterMs[Math.min(attempts, repeatAfterMs.length - 1)] ?? 300_000;
}

type Payload = { transactionId: string; number: number; sent?: boolean };

/** How soon it is looked again whether the link is back; its gauge says that it is down. */
const noLinkRetryMs = 2000;
const noPlaceRetryMs = 1000;

const heldRetryMs = 2000;

/** Between half of it and all: what failed together must not come back together. */
const later = (deps: PaymentsDeps, ms: number): number => deps.clock.now() + jittered(ms);

/** What it is no use to send yet counts as no try: only what may have left goes out as a repeat. */
const notYet = (deps: PaymentsDeps, ms: number): Later => ({
  retryAt: later(deps, ms),
  untried: true,
});

/** Of one original strictly one after another, whoever has had no answer. */
const isBehind = ({ operations }: LoadedTransaction, { number }: StoredOperation): boolean =>
  operations.some(
    (each) => each.number < number && (each.status === 'Pending' || each.status === 'Sent'),
  );

/** @example jobs.handle(repeatJob, createRepeats(deps, lanes)); */
export function createRepeats(
  deps: PaymentsDeps,
  lanes: Pick<Lanes, 'isHeld'>,
): (job: Job) => Promise<Later | undefined> {
  const places = createRepeatPlaces();
  const turns = createTurns();

  async function repeat(job: Job, turn: ReturnType<typeof turns.take>): Promise<Later | undefined> {
    // While the link is down thousands may wait for it: that must not cost a look at each of them.
    if (job.lane !== undefined && !deps.acquiring.available(job.lane)) {
      return notYet(deps, noLinkRetryMs);
    }
    const found = await stillPending(deps, job);
    if (found === undefined) return undefined;
    const [loaded, operation] = found;
    const { linkId } = factsOf(loaded);
    if (isBehind(loaded, operation) || (await lanes.isHeld(job))) return notYet(deps, heldRetryMs);
    if (!places.take(linkId)) return notYet(deps, noPlaceRetryMs);
    let outcome: AcquirerOutcome | undefined;
    try {
      await turn.mine;
      const open = await stillPending(deps, job);
      if (open === undefined) return undefined;
      outcome = await sendOperation(deps, ...open, mayHaveLeft(job), turn.pass);
      return await settleRepeat(deps, job, open[0], outcome);
    } finally {
      places.release(linkId, isAnswered(outcome));
    }
  }

  return async (job) => {
    // Taken before anything is waited for: jobs are begun in their order.
    const turn = turns.take(job.lane ?? job.jobId);
    try {
      return await repeat(job, turn);
    } finally {
      turn.pass();
    }
  };
}

/**
 * The operation as it stands now, unless it has ended. Looked at again when its turn has come: somebody may
 * have ended it as not done meanwhile, and its amount may be another one's by now.
 */
async function stillPending(
  deps: PaymentsDeps,
  { organizationId, payload }: Job,
): Promise<[LoadedTransaction, StoredOperation] | undefined> {
  const { transactionId, number } = payload as Payload;
  const loaded = await deps.store.findById(organizationId, transactionId);
  const operation = loaded?.operations.find((each) => each.number === number);
  if (loaded === undefined || operation?.status !== 'Pending') return undefined;
  return [loaded, operation];
}

const mayHaveLeft = ({ payload, attempts }: Job): boolean =>
  (payload as Payload).sent === true || attempts > 0;

/** Undefined where it says nothing about the acquirer: nothing left, or the fault is ours. */
function isAnswered(outcome: AcquirerOutcome | undefined): boolean | undefined {
  if (outcome === undefined || outcome.outcome === 'NotSent') return undefined;
  return outcome.outcome !== 'Unknown';
}

/** @returns when to try again, where there is still no answer */
async function settleRepeat(
  deps: PaymentsDeps,
  job: Job,
  loaded: LoadedTransaction,
  outcome: AcquirerOutcome,
): Promise<Later | undefined> {
  const { transactionId, number } = job.payload as Payload;
  // What is no answer changes nothing, so that no commit would find what somebody has ended meanwhile.
  const isOpen = outcome.outcome === 'Unknown' || isMalfunction(outcome) || isUndecided(outcome);
  const now = isOpen ? await deps.store.findById(job.organizationId, transactionId) : loaded;
  const standing = await settleOperation(deps, now ?? loaded, number, outcome, {
    queued: true,
    repeated: mayHaveLeft(job),
  });
  const operation = standing.operations.find((each) => each.number === number);
  if (operation?.status !== 'Pending') return undefined;
  // What did not leave was no try: the next one is not a repeat because of it.
  if (outcome.outcome === 'NotSent') {
    return notYet(deps, noLinkRetryMs);
  }
  if (job.attempts + 1 === alarmAfter) {
    deps.log.error(
      { transactionId, number, kind: operation.kind, attempts: job.attempts + 1 },
      'an operation has no answer from the acquirer after many tries',
    );
  }
  const retryAt = later(deps, repeatDelayMs(job.attempts));
  return outcome.outcome === 'Unknown' ? { retryAt, note: unanswered } : { retryAt };
}
