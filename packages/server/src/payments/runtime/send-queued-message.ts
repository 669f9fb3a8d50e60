// Sends the queued messages of the acquirer links: in order, few at once, until each has a final response.
import type { AcquirerOutcome, Acquiring } from '../../acquiring/index.ts';
import {
  type Clock,
  createConcurrencyCounter,
  createKeyedQueue,
  endSpan,
  type Job,
  type Log,
  type Reschedule,
  type Span,
  withJitter,
} from '../../platform/index.ts';
import { alertAfterAttempts, linkRetryMs, retryDelayMs } from '../transaction/time-limits.ts';
import { type LinkQueue, noResponseNote } from './link-backlog.ts';

/** Limit for a link that responds or has not been used yet. */
export const maxRetriesPerLink = 16;
/** Limit for a link whose last retry had no response. */
export const maxRetriesPerUnresponsiveLink = 2;

/** Ends a retry. `hasResponse` is absent if nothing was sent. */
type EndRetry = (hasResponse?: boolean) => void;

/** @example const beginRetry = createRetryConcurrency(); const endRetry = beginRetry(linkId); */
export function createRetryConcurrency(): (linkId: string) => EndRetry | undefined {
  const runningRetries = createConcurrencyCounter();
  const unresponsiveLinks = new Set<string>();
  /** Undefined when the limit of the link is reached. */
  return (linkId) => {
    const isUnresponsive = unresponsiveLinks.has(linkId);
    const limit = isUnresponsive ? maxRetriesPerUnresponsiveLink : maxRetriesPerLink;
    if (runningRetries.count(linkId) >= limit) return undefined;
    const end = runningRetries.begin(linkId);
    return (hasResponse) => {
      end();
      if (hasResponse === true) unresponsiveLinks.delete(linkId);
      if (hasResponse === false) unresponsiveLinks.add(linkId);
    };
  };
}

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
  send(
    message: Message,
    onPossiblySent: () => void,
    span: Span | undefined,
  ): Promise<AcquirerOutcome>;
  /** Stores the outcome. Undefined if the message is finished. */
  storeOutcome(
    message: Message,
    outcome: AcquirerOutcome,
    span: Span | undefined,
  ): Promise<RetryTime | undefined>;
  /** The log members and the text of the alert after {@link alertAfterAttempts} attempts. */
  noResponseAlert(message: Message): readonly [Record<string, unknown>, string];
};

/** @example jobs.handle(retryOperationJob, createRetryDriver(ports, createOperationRetry(ports))); */
export function createRetryDriver<Message>(
  { acquiring, clock, linkQueue, log }: RetryPorts,
  steps: RetrySteps<Message>,
): (job: Job) => Promise<Reschedule | undefined> {
  const beginRetry = createRetryConcurrency();
  const sendQueue = createKeyedQueue();

  // Jitter: messages that failed together must not return together.
  const retryAfter = (ms: number): number => clock.now() + withJitter(ms);
  const rescheduleUncounted = (ms: number): Reschedule => ({
    retryAt: retryAfter(ms),
    countAttempt: false,
  });

  function reschedule({ attempts, span }: Job, message: Message, retryTime: RetryTime): Reschedule {
    if (retryTime === 'WhenLinkIsUp') {
      // The attempt does not count, but its span is the parent of that of the message.
      endSpan(span);
      return rescheduleUncounted(linkRetryMs);
    }
    if (attempts + 1 === alertAfterAttempts) {
      const [members, text] = steps.noResponseAlert(message);
      log.error({ ...members, ...span?.logMembers, attempts: attempts + 1 }, text);
    }
    const retryAt = retryAfter(retryDelayMs(attempts));
    return retryTime === 'BackoffInOrder' ? { retryAt, note: noResponseNote } : { retryAt };
  }

  return async (job) => {
    const linkId = job.queueId ?? job.jobId;
    // Enters the queue before the first wait: jobs start in their order.
    const queueEntry = sendQueue.acquire(linkId);
    // An entry that leaves before its turn keeps its place until then, so no later message overtakes.
    const leaveQueue = () => void queueEntry.then((release) => release());
    try {
      // Thousands of messages may wait for a link that is down: no query for each of them.
      if (job.queueId !== undefined && !acquiring.isLinkAvailable(linkId))
        return rescheduleUncounted(linkRetryMs);
      if (await linkQueue.isBlocked(job)) return rescheduleUncounted(blockedRetryMs);
      const endRetry = beginRetry(linkId);
      if (endRetry === undefined) return rescheduleUncounted(concurrencyRetryMs);
      let hasResponse: boolean | undefined;
      try {
        await queueEntry;
        const message = await steps.load(job);
        if (message === 'Done') return undefined;
        if (message === 'Blocked') return rescheduleUncounted(blockedRetryMs);
        const outcome = await steps.send(message, leaveQueue, job.span);
        if (outcome.outcome !== 'NotSent') hasResponse = outcome.outcome !== 'Unknown';
        const retryTime = await steps.storeOutcome(message, outcome, job.span);
        return retryTime === undefined ? undefined : reschedule(job, message, retryTime);
      } finally {
        endRetry(hasResponse);
      }
    } finally {
      leaveQueue();
    }
  };
}
