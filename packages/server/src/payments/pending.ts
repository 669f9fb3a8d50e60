// Sends unanswered operations again, with the same reference, until the acquirer has answered.
import type { AcquirerOutcome } from '../acquiring/index.ts';
import type { Job, Later } from '../platform/index.ts';
import type { PaymentsDeps } from './deps.ts';
import { factsOf, type LoadedTransaction } from './model.ts';
import { sendOperation, settleOperation } from './operation.ts';
import { createRepeatPlaces } from './repeat-places.ts';

/** Waits between repeats, ms; the last one goes on for ever. */
const repeatAfterMs = [1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000] as const;

/** Repeats after which a person should look; counted, logged, and gone on with. */
export const alarmAfter = 6;

export function repeatDelayMs(attempts: number): number {
  return repeatAfterMs[Math.min(attempts, repeatAfterMs.length - 1)] ?? 300_000;
}

type Payload = { transactionId: string; number: number; sent?: boolean };

/** How soon it is looked again whether the link is back; its gauge says that it is down. */
const noLinkRetryMs = 2000;
const noPlaceRetryMs = 1000;

/** @example jobs.handle(repeatJob, createRepeats(deps)); */
export function createRepeats(deps: PaymentsDeps): (job: Job) => Promise<Later | undefined> {
  const places = createRepeatPlaces();
  return async (job) => {
    const { transactionId, number } = job.payload as Payload;
    const loaded = await deps.store.findById(job.organizationId, transactionId);
    const operation = loaded?.operations.find((each) => each.number === number);
    if (loaded === undefined || operation?.status !== 'Pending') return undefined;
    const { linkId } = factsOf(loaded);
    // It must not count as a try: only what may have been sent goes out as a repeat.
    if (!places.take(linkId)) {
      return { retryAt: deps.clock.now() + noPlaceRetryMs, untried: true };
    }
    let outcome: AcquirerOutcome | undefined;
    try {
      outcome = await sendOperation(deps, loaded, operation, mayHaveLeft(job));
      return await settleRepeat(deps, job, loaded, outcome);
    } finally {
      places.release(linkId, isAnswered(outcome));
    }
  };
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
  const standing = await settleOperation(deps, loaded, number, outcome, {
    queued: true,
    repeated: mayHaveLeft(job),
  });
  const now = standing.operations.find((each) => each.number === number);
  if (now?.status !== 'Pending') return undefined;
  // What did not leave was no try: the next one is not a repeat because of it.
  if (outcome.outcome === 'NotSent') {
    return { retryAt: deps.clock.now() + noLinkRetryMs, untried: true };
  }
  if (job.attempts + 1 === alarmAfter) {
    deps.log.error(
      { transactionId, number, kind: now.kind, attempts: job.attempts + 1 },
      'an operation has no answer from the acquirer after many tries',
    );
  }
  return { retryAt: deps.clock.now() + repeatDelayMs(job.attempts) };
}
