// Sends the queued messages of the acquirer links: in order, few at once, until each has a final response.
import type { AcquirerOutcome, Acquiring } from '../../acquiring/index.ts';
import {
  type Clock,
  type Job,
  type Log,
  type Reschedule,
  withJitter,
} from '../../platform/index.ts';
import { alertAfterAttempts, linkRetryMs, retryDelayMs } from '../transaction/time-limits.ts';
import { type LinkQueue, noResponseNote } from './link-backlog.ts';

/** @example const entry = queue.enter(linkId); await entry.ready; send(); entry.release(); */
export function createSendQueue() {
  const lastEntryByLink = new Map<string, Promise<void>>();
  return {
    /** `ready` resolves after all earlier entries are released. A second `release` has no effect. */
    enter(linkId: string) {
      const ready = lastEntryByLink.get(linkId) ?? Promise.resolve();
      const released = Promise.withResolvers<void>();
      // An early release must not let the next entry overtake earlier entries.
      const finished = ready.then(() => released.promise);
      lastEntryByLink.set(linkId, finished);
      void finished.then(() => {
        if (lastEntryByLink.get(linkId) === finished) lastEntryByLink.delete(linkId);
      });
      return { ready, release: released.resolve };
    },
  };
}

/** Limit for a link that responds or has not been used yet. */
export const maxRetriesPerLink = 16;
/** Limit for a link whose last retry had no response. */
export const maxRetriesPerUnresponsiveLink = 2;

/** @example const concurrency = createRetryConcurrency(); if (concurrency.acquire(linkId)) … */
export function createRetryConcurrency() {
  const activeByLink = new Map<string, number>();
  const unresponsiveLinks = new Set<string>();
  return {
    /** False when the limit of the link is reached. */
    acquire(linkId: string): boolean {
      const activeCount = activeByLink.get(linkId) ?? 0;
      const isUnresponsive = unresponsiveLinks.has(linkId);
      const limit = isUnresponsive ? maxRetriesPerUnresponsiveLink : maxRetriesPerLink;
      if (activeCount >= limit) return false;
      activeByLink.set(linkId, activeCount + 1);
      return true;
    },
    /** @param hasResponse absent if nothing was sent */
    release(linkId: string, hasResponse?: boolean): void {
      const remainingCount = (activeByLink.get(linkId) ?? 1) - 1;
      if (remainingCount === 0) activeByLink.delete(linkId);
      else activeByLink.set(linkId, remainingCount);
      if (hasResponse === true) unresponsiveLinks.delete(linkId);
      if (hasResponse === false) unresponsiveLinks.add(linkId);
    },
  };
}

export type RetryConcurrency = ReturnType<typeof createRetryConcurrency>;

const concurrencyRetryMs = 1000;
const blockedRetryMs = 2000;

/**
 * When a message is sent again. `Backoff`: after a delay that grows with each attempt. `BackoffInOrder`: the
 * same, and later messages of the link wait for it. `WhenLinkIsUp`: soon, and no attempt is counted.
 */
export type RetryTime = 'Backoff' | 'BackoffInOrder' | 'WhenLinkIsUp';

export type RetryPorts = {
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
  storeOutcome(message: Message, outcome: AcquirerOutcome): Promise<RetryTime | undefined>;
  /** The log members and the text of the alert after {@link alertAfterAttempts} attempts. */
  noResponseAlert(message: Message): readonly [Record<string, unknown>, string];
};

/** @example jobs.handle(retryOperationJob, createRetryDriver(ports, createOperationRetry(ports))); */
export function createRetryDriver<Message>(
  { acquiring, clock, linkQueue, log }: RetryPorts,
  steps: RetrySteps<Message>,
): (job: Job) => Promise<Reschedule | undefined> {
  const concurrency = createRetryConcurrency();
  const sendQueue = createSendQueue();

  // Jitter: messages that failed together must not return together.
  const retryAfter = (ms: number): number => clock.now() + withJitter(ms);
  const rescheduleUncounted = (ms: number): Reschedule => ({
    retryAt: retryAfter(ms),
    countAttempt: false,
  });

  function reschedule({ attempts }: Job, message: Message, retryTime: RetryTime): Reschedule {
    if (retryTime === 'WhenLinkIsUp') return rescheduleUncounted(linkRetryMs);
    if (attempts + 1 === alertAfterAttempts) {
      const [members, text] = steps.noResponseAlert(message);
      log.error({ ...members, attempts: attempts + 1 }, text);
    }
    const retryAt = retryAfter(retryDelayMs(attempts));
    return retryTime === 'BackoffInOrder' ? { retryAt, note: noResponseNote } : { retryAt };
  }

  return async (job) => {
    const linkId = job.queueId ?? job.jobId;
    // Enters the queue before the first wait: jobs start in their order.
    const queueEntry = sendQueue.enter(linkId);
    try {
      // Thousands of messages may wait for a link that is down: no query for each of them.
      if (job.queueId !== undefined && !acquiring.isLinkAvailable(linkId))
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
        const retryTime = await steps.storeOutcome(message, outcome);
        return retryTime === undefined ? undefined : reschedule(job, message, retryTime);
      } finally {
        concurrency.release(linkId, hasResponse);
      }
    } finally {
      queueEntry.release();
    }
  };
}
