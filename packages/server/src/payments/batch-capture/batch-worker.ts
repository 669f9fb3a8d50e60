// Captures the items of a batch, link by link, at a rate that adapts to the latency of sales.
import { createHash } from 'node:crypto';
import { type ErrorCode, errorCodes, ProblemError } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import {
  type Clock,
  createKeyedQueue,
  isoTime,
  type Job,
  type Jobs,
  pause,
  type Reschedule,
} from '../../platform/index.ts';
import { runSystemOperation, type SystemOperationPorts } from '../operations/run-operation.ts';
import {
  DuplicateOperationId,
  type TransactionRepository,
} from '../repository/transaction-repository.ts';
import { createPacer } from '../runtime/capture-concurrency.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';
import {
  type BatchItem,
  type BatchResult,
  type BatchStore,
  placeholderLinkIds,
} from './batch-sql.ts';

/** 100,000 captures in 80 seconds. */
export const maxCapturesPerSecond = 1250;
/** A nightly batch completes even while sale writes are slow. */
export const minCapturesPerSecond = 100;
const initialShare = 0.5;
const evaluationIntervalMs = 500;
/** Each sale writes twice; an idle database needs a few milliseconds for a write. */
const slowWriteMs = 30;
const slowShareToDecrease = 0.05;
const slowShareToIncrease = 0.01;
const decreaseFactor = 0.7;
const increaseFactor = 1.15;

/** @example const rate = createCaptureRate(clock); const waitForSlot = createPacer(clock, rate.perSecond); */
export function createCaptureRate(clock: Clock) {
  let rate = maxCapturesPerSecond * initialShare;
  let writes = 0;
  let slowWrites = 0;
  let nextEvaluationAt = 0;

  function evaluate(now: number): void {
    const share = writes === 0 ? 0 : slowWrites / writes;
    if (share > slowShareToDecrease) rate = Math.max(minCapturesPerSecond, rate * decreaseFactor);
    else if (share <= slowShareToIncrease)
      rate = Math.min(maxCapturesPerSecond, rate * increaseFactor);
    writes = 0;
    slowWrites = 0;
    nextEvaluationAt = now + evaluationIntervalMs;
  }

  return {
    /** Captures a second at this moment. */
    perSecond(): number {
      const now = clock.now();
      // A clock that was set back must not delay the next evaluation.
      if (now >= nextEvaluationAt || nextEvaluationAt - now > evaluationIntervalMs) evaluate(now);
      return rate;
    },
    /** @param ms duration of a write of a sale, with its wait for a connection */
    recordWrite(ms: number): void {
      writes += 1;
      if (ms > slowWriteMs) slowWrites += 1;
    },
  };
}

/** Assigns the items of a batch to links, and runs until the batch is completed. */
export const batchCaptureJob = 'payments.batch-capture';
/** Captures the items of a batch that go over one link. */
export const batchCaptureLinkJob = 'payments.batch-capture.link';

export type BatchWorkerPorts = SystemOperationPorts & {
  batches: BatchStore;
  transactions: TransactionRepository;
  inFlightTransactions: InFlightTransactions;
  acquiring: Pick<Acquiring, 'isLinkAvailable'>;
  jobs: Pick<Jobs, 'enqueue'>;
};

const assignBatchSize = 250;
/** Between two pages of assignments, so that the database serves other requests most of the time. */
const assignPauseMs = 75;
const pageSize = 1000;
const maxCapturesPerLink = 64;
/** The host counts as unreachable after this number of consecutive captures without a response. */
const unresponsiveThreshold = 24;
const completionCheckMs = 5000;
const noLinkRetryMs = 2000;
const maxRetryDelayMs = 60_000;
const maxDoublings = 5;

const retryDelayMs = ({ attempts }: Job) =>
  Math.min(maxRetryDelayMs, noLinkRetryMs * 2 ** Math.min(attempts, maxDoublings));

/** Derived, so that one link of one batch has one job. */
function linkJobId(batchId: string, linkId: string): string {
  const hex = createHash('sha256').update(`${batchId}|${linkId}`).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const toBase64Url = (uuid: string) =>
  Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');

/**
 * At most 64 characters; no identifier of a client begins with `~`. A second run of the batch finds the
 * capture of the first run. After a capture that was not sent the identifier changes.
 */
function captureOperationId(batchId: string, { row, operations }: TransactionRecord): string {
  const name = `~ca:${toBase64Url(batchId)}:${toBase64Url(row.transactionId)}`;
  const failed = operations.filter(
    ({ status, clientOperationId }) => status === 'Failed' && clientOperationId?.startsWith(name),
  ).length;
  return failed === 0 ? name : `${name}:${failed}`;
}

/** Another operation on the transaction is in progress; the item is tried again later. */
const transientErrorCodes: readonly ErrorCode[] = [
  'transaction_in_progress',
  'concurrent_modification',
  'reversal_in_progress',
  'confirmation_pending',
];

const notSentErrorCodes: readonly ErrorCode[] = ['acquirer_unavailable', 'not_sent'];

/** `Later`: tried again. `Unsent`: nothing reaches the acquirer. */
type CaptureAttemptResult = BatchResult | 'Later' | 'Unanswered' | 'Unsent';

function toAttemptResult(
  transactionId: string,
  operation: StoredOperation | undefined,
  replayed: boolean,
): CaptureAttemptResult {
  const status = operation?.status ?? 'Declined';
  if (status === 'Succeeded' || status === 'Filed') return { transactionId, status };
  if (status === 'Declined') {
    const code = operation?.details.response?.code ?? 'failed';
    return { transactionId, status: 'Failed', code };
  }
  // A replayed operation does not show whether the host responds now.
  return replayed ? 'Later' : 'Unanswered';
}

async function captureItem(
  ports: SystemOperationPorts,
  organizationId: string,
  batchId: string,
  { transactionId, amount }: BatchItem,
): Promise<CaptureAttemptResult> {
  try {
    const transaction = await ports.transactions.findById(organizationId, transactionId);
    if (transaction === undefined) {
      return { transactionId, status: 'Failed', code: 'transaction_not_found' };
    }
    const clientOperationId = captureOperationId(batchId, transaction);
    const input = { amount: amount ?? undefined, clientOperationId };
    const { operation, replayed } = await runSystemOperation(ports, transaction, 'Capture', input);
    return toAttemptResult(transactionId, operation, replayed);
  } catch (error) {
    // Another run of the batch was first; the next attempt finds its capture.
    if (error instanceof DuplicateOperationId) return 'Later';
    if (!(error instanceof ProblemError)) {
      // An error of one item does not block the others; the next run tries it again.
      const message = 'capture of a batch item failed with an unexpected error';
      ports.log.error({ err: error, transactionId }, message);
      return 'Later';
    }
    if (notSentErrorCodes.includes(error.code)) return 'Unsent';
    if (transientErrorCodes.includes(error.code)) return 'Later';
    // For example `database_unavailable`. The next run finds a capture that was sent.
    if (errorCodes[error.code].retryable) throw error;
    return { transactionId, status: 'Failed', code: error.code };
  }
}

/** @example jobs.handle(batchCaptureJob, createBatchWorker(ports).assignLinks); */
export function createBatchWorker(ports: BatchWorkerPorts) {
  const { acquiring, batches, clock, inFlightTransactions, jobs, transactions } = ports;
  const captureQueue = createKeyedQueue(maxCapturesPerLink);
  const rate = createCaptureRate(clock);
  const waitForSlot = createPacer(clock, rate.perSecond);
  const isStopping = () => inFlightTransactions.isStopping();
  const isReachable = (linkId: string) =>
    placeholderLinkIds.has(linkId) || acquiring.isLinkAvailable(linkId);
  const rescheduleAfter = (ms: number): Reschedule => ({ retryAt: clock.now() + ms });

  async function capturePage(
    organizationId: string,
    { batchId, linkId }: { batchId: string; linkId: string },
    items: readonly BatchItem[],
  ) {
    const page = {
      results: [] as BatchResult[],
      error: undefined as unknown,
      isUnreachable: false,
    };
    const unsubscribe = transactions.onSaleWrite((ms) => rate.recordWrite(ms));
    let consecutiveNoResponse = 0;
    let nextIndex = 0;
    const canContinue = () => page.error === undefined && !page.isUnreachable && !isStopping();
    const recordAttempt = (result: CaptureAttemptResult) => {
      consecutiveNoResponse = result === 'Unanswered' ? consecutiveNoResponse + 1 : 0;
      if (result === 'Unsent' || consecutiveNoResponse >= unresponsiveThreshold)
        page.isUnreachable = true;
      if (typeof result === 'object') page.results.push(result);
    };
    const captureNextItems = async () => {
      while (nextIndex < items.length && canContinue()) {
        const release = await captureQueue.acquire(linkId);
        try {
          await waitForSlot();
          const item = canContinue() ? items[nextIndex++] : undefined;
          if (item !== undefined)
            recordAttempt(await captureItem(ports, organizationId, batchId, item));
        } catch (error) {
          page.error = error;
        } finally {
          release();
        }
      }
    };
    const workerCount = Math.min(maxCapturesPerLink, items.length);
    await Promise.all(Array.from({ length: workerCount }, captureNextItems)).finally(unsubscribe);
    return page;
  }

  async function captureLinkItems(job: Job): Promise<Reschedule | undefined> {
    const { organizationId } = job;
    const target = job.payload as { batchId: string; linkId: string };
    let after: string | undefined;
    let remainingCount = 0;
    for (;;) {
      if (!isReachable(target.linkId)) return rescheduleAfter(retryDelayMs(job));
      const page = { organizationId, ...target, after, limit: pageSize };
      const items = await batches.listPendingItems(page);
      const { results, error, isUnreachable } = await capturePage(organizationId, target, items);
      await batches.recordResults(organizationId, target.batchId, results, isoTime(clock.now()));
      if (error !== undefined) throw error;
      if (isStopping()) return { ...rescheduleAfter(0), countAttempt: false };
      remainingCount += items.length - results.length;
      const isLastPage = items.length < pageSize;
      if (isLastPage && remainingCount === 0) return undefined;
      if (isLastPage || isUnreachable) return rescheduleAfter(retryDelayMs(job));
      after = items.at(-1)?.transactionId;
    }
  }

  async function enqueueLinkJobs(organizationId: string, batchId: string, linkIds: string[]) {
    const kind = batchCaptureLinkJob;
    const enqueue = (linkId: string) => {
      const jobId = linkJobId(batchId, linkId);
      return jobs.enqueue({ organizationId, jobId, kind, payload: { batchId, linkId } });
    };
    await Promise.all(linkIds.map(enqueue));
  }

  /** Links are processed while later items are still assigned. A link job that ended early is created again. */
  async function assignLinks({ organizationId, payload }: Job): Promise<Reschedule | undefined> {
    const { batchId } = payload as { batchId: string };
    let after: string | undefined;
    do {
      const batch = await batches.find(organizationId, batchId);
      if (batch === undefined || batch.state === 'Completed') return undefined;
      const page = { organizationId, batchId, after, limit: assignBatchSize };
      const assigned = await batches.assignLinks(page);
      await enqueueLinkJobs(organizationId, batchId, assigned.linkIds);
      after = assigned.last;
      if (after !== undefined) await pause(assignPauseMs);
    } while (after !== undefined && !isStopping());
    const pendingLinkIds = await batches.listPendingLinks(organizationId, batchId);
    await enqueueLinkJobs(organizationId, batchId, pendingLinkIds);
    return { ...rescheduleAfter(completionCheckMs), countAttempt: false };
  }

  return { assignLinks, captureLinkItems };
}
