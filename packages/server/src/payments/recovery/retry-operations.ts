// Retries operations without a response, with the same references.

import { type AcquirerOutcome, isIndeterminate } from '../../acquiring/index.ts';
import { type Job, jittered, type Later } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { sendOperation, settleOperation } from '../operations/run-operation.ts';
import { isHostError } from '../reversals/operation-outcome.ts';
import { type LinkQueue, noResponseNote } from '../runtime/link-queue.ts';
import { createRetryConcurrency } from '../runtime/retry-concurrency.ts';
import { createSendQueue } from '../runtime/send-order.ts';
import { alertAfterAttempts, linkRetryMs, retryDelayMs } from '../transaction/timeouts.ts';
import {
  authorizationContext,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';

type RetryPayload = { transactionId: string; number: number; sent?: boolean };

const concurrencyRetryMs = 1000;

const blockedRetryMs = 2000;

/** Between half of it and all: what failed together must not come back together. */
const jitteredTime = (deps: PaymentsDeps, ms: number): number => deps.clock.now() + jittered(ms);

/** What it is no use to send yet counts as no try: only what may have left goes out as a repeat. */
const rescheduleUncounted = (deps: PaymentsDeps, ms: number): Later => ({
  retryAt: jitteredTime(deps, ms),
  untried: true,
});

/** Of one original strictly one after another, whoever has had no answer. */
const hasEarlierUnfinished = (
  { operations }: TransactionRecord,
  { number }: StoredOperation,
): boolean =>
  operations.some(
    (each) => each.number < number && (each.status === 'Pending' || each.status === 'Sent'),
  );

/** @example jobs.handle(repeatJob, createRepeats(deps, lanes)); */
export function createOperationRetry(
  deps: PaymentsDeps,
  linkQueue: Pick<LinkQueue, 'isBlocked'>,
): (job: Job) => Promise<Later | undefined> {
  const concurrency = createRetryConcurrency();
  const sendQueue = createSendQueue();

  async function retryOperation(
    job: Job,
    queueEntry: ReturnType<typeof sendQueue.enter>,
  ): Promise<Later | undefined> {
    // While the link is down thousands may wait for it: that must not cost a look at each of them.
    if (job.lane !== undefined && !deps.acquiring.isLinkAvailable(job.lane)) {
      return rescheduleUncounted(deps, linkRetryMs);
    }
    const pending = await findPending(deps, job);
    if (pending === undefined) return undefined;
    const [transaction, operation] = pending;
    const { linkId } = authorizationContext(transaction);
    if (hasEarlierUnfinished(transaction, operation) || (await linkQueue.isBlocked(job)))
      return rescheduleUncounted(deps, blockedRetryMs);
    if (!concurrency.acquire(linkId)) return rescheduleUncounted(deps, concurrencyRetryMs);
    let outcome: AcquirerOutcome | undefined;
    try {
      await queueEntry.ready;
      const stillPending = await findPending(deps, job);
      if (stillPending === undefined) return undefined;
      outcome = await sendOperation(deps, ...stillPending, isPossiblySent(job), queueEntry.release);
      return await settleRetry(deps, job, stillPending[0], outcome);
    } finally {
      concurrency.release(linkId, hasHostResponse(outcome));
    }
  }

  return async (job) => {
    // Taken before anything is waited for: jobs are begun in their order.
    const queueEntry = sendQueue.enter(job.lane ?? job.jobId);
    try {
      return await retryOperation(job, queueEntry);
    } finally {
      queueEntry.release();
    }
  };
}

/**
 * The operation as it stands now, unless it has ended. Looked at again when its turn has come: somebody may
 * have ended it as not done meanwhile, and its amount may be another one's by now.
 */
async function findPending(
  deps: PaymentsDeps,
  { organizationId, payload }: Job,
): Promise<[TransactionRecord, StoredOperation] | undefined> {
  const { transactionId, number } = payload as RetryPayload;
  const transaction = await deps.transactions.findById(organizationId, transactionId);
  const operation = transaction?.operations.find((each) => each.number === number);
  if (transaction === undefined || operation?.status !== 'Pending') return undefined;
  return [transaction, operation];
}

const isPossiblySent = ({ payload, attempts }: Job): boolean =>
  (payload as RetryPayload).sent === true || attempts > 0;

/** Undefined where it says nothing about the acquirer: nothing left, or the fault is ours. */
function hasHostResponse(outcome: AcquirerOutcome | undefined): boolean | undefined {
  if (outcome === undefined || outcome.outcome === 'NotSent') return undefined;
  return outcome.outcome !== 'Unknown';
}

/** @returns when to try again, where there is still no answer */
async function settleRetry(
  deps: PaymentsDeps,
  job: Job,
  transaction: TransactionRecord,
  outcome: AcquirerOutcome,
): Promise<Later | undefined> {
  const { transactionId, number } = job.payload as RetryPayload;
  // What is no answer changes nothing, so that no commit would find what somebody has ended meanwhile.
  const hasNoOutcome =
    outcome.outcome === 'Unknown' || isHostError(outcome) || isIndeterminate(outcome);
  const latest = hasNoOutcome
    ? await deps.transactions.findById(job.organizationId, transactionId)
    : transaction;
  const current = await settleOperation(deps, latest ?? transaction, number, outcome, {
    queued: true,
    repeated: isPossiblySent(job),
  });
  const operation = current.operations.find((each) => each.number === number);
  if (operation?.status !== 'Pending') return undefined;
  // What did not leave was no try: the next one is not a repeat because of it.
  if (outcome.outcome === 'NotSent') {
    return rescheduleUncounted(deps, linkRetryMs);
  }
  if (job.attempts + 1 === alertAfterAttempts) {
    deps.log.error(
      { transactionId, number, kind: operation.kind, attempts: job.attempts + 1 },
      'an operation has no response from the acquirer after many attempts',
    );
  }
  const retryAt = jitteredTime(deps, retryDelayMs(job.attempts));
  return outcome.outcome === 'Unknown' ? { retryAt, note: noResponseNote } : { retryAt };
}
