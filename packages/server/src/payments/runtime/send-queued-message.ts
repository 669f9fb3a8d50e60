// Sends the queued messages of the acquirer links: in order, few at once, until each has a final response.
import type { AcquirerOutcome, Acquiring } from '../../acquiring/index.ts';
import { type Clock, type Job, jittered, type Later, type Log } from '../../platform/index.ts';
import {
  alertAfterAttempts,
  linkRetryMs,
  retryDelayMs,
} from '../transaction/retry-delays-and-time-limits.ts';
import { type LinkQueue, noResponseNote } from './link-backlog.ts';
import { createSendQueue } from './link-send-queue.ts';
import { createRetryConcurrency } from './retry-concurrency.ts';

const concurrencyRetryMs = 1000;
const blockedRetryMs = 2000;

/**
 * When a message is sent again. `Backoff`: after a delay that grows with each attempt. `BackoffInOrder`: the
 * same, and later messages of the link wait for it. `WhenLinkIsUp`: soon, and no attempt is counted.
 */
export type RetryTime = 'Backoff' | 'BackoffInOrder' | 'WhenLinkIsUp';

type RetryPorts = {
  acquiring: Pick<Acquiring, 'isLinkAvailable'>;
  clock: Clock;
  linkQueue: Pick<LinkQueue, 'isBlocked'>;
  log: Pick<Log, 'error'>;
};

export type RetrySteps<Message> = {
  /**
   * Reads the message directly before it is sent. `Done`: nothing is left to send. `Blocked`: an
   * earlier message must be sent first.
   */
  load(job: Job): Promise<Message | 'Done' | 'Blocked'>;
  send(message: Message, onPossiblySent: () => void): Promise<AcquirerOutcome>;
  /** Stores the outcome. Undefined if the message is finished. */
  settle(message: Message, outcome: AcquirerOutcome): Promise<RetryTime | undefined>;
  /** The log members and the text of the alert after {@link alertAfterAttempts} attempts. */
  noResponseAlert(message: Message): readonly [Record<string, unknown>, string];
};

/** @example jobs.handle(retryOperationJob, createRetryDriver(ports, createOperationRetry(ports))); */
export function createRetryDriver<Message>(
  { acquiring, clock, linkQueue, log }: RetryPorts,
  steps: RetrySteps<Message>,
): (job: Job) => Promise<Later | undefined> {
  const concurrency = createRetryConcurrency();
  const sendQueue = createSendQueue();

  // Jitter: messages that failed together must not return together.
  const retryAfter = (ms: number): number => clock.now() + jittered(ms);
  const rescheduleUncounted = (ms: number): Later => ({ retryAt: retryAfter(ms), untried: true });

  function reschedule({ attempts }: Job, message: Message, retryTime: RetryTime): Later {
    if (retryTime === 'WhenLinkIsUp') return rescheduleUncounted(linkRetryMs);
    if (attempts + 1 === alertAfterAttempts) {
      const [members, text] = steps.noResponseAlert(message);
      log.error({ ...members, attempts: attempts + 1 }, text);
    }
    const retryAt = retryAfter(retryDelayMs(attempts));
    return retryTime === 'BackoffInOrder' ? { retryAt, note: noResponseNote } : { retryAt };
  }

  return async (job) => {
    const linkId = job.lane ?? job.jobId;
    // Enters the queue before the first wait: jobs start in their order.
    const queueEntry = sendQueue.enter(linkId);
    try {
      // Thousands of messages may wait for a link that is down: no query for each of them.
      if (job.lane !== undefined && !acquiring.isLinkAvailable(linkId))
        return rescheduleUncounted(linkRetryMs);
      if (await linkQueue.isBlocked(job)) return rescheduleUncounted(blockedRetryMs);
      if (!concurrency.acquire(linkId)) return rescheduleUncounted(concurrencyRetryMs);
      let hasResponse: boolean | undefined;
      try {
        await queueEntry.ready;
        const message = await steps.load(job);
        if (message === 'Done') return undefined;
        if (message === 'Blocked') return rescheduleUncounted(blockedRetryMs);
        const outcome = await steps.send(message, queueEntry.release);
        if (outcome.outcome !== 'NotSent') hasResponse = outcome.outcome !== 'Unknown';
        const retryTime = await steps.settle(message, outcome);
        return retryTime === undefined ? undefined : reschedule(job, message, retryTime);
      } finally {
        concurrency.release(linkId, hasResponse);
      }
    } finally {
      queueEntry.release();
    }
  };
}
