// Batch worker: assigns items to acquirer links and captures each link in a separate job.
import { createHash } from 'node:crypto';
import { type ErrorCode, errorCodes, Refusal } from '@switchyard/contract';
import { isoTime, type Job, type Later, pause } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { runSystemOperation } from '../operations/run-operation.ts';
import { DuplicateOperationId } from '../repository/transaction-repository.ts';
import { createLinkConcurrency, createPacer } from '../runtime/link-concurrency.ts';
import type { StoredOperation, TransactionRecord } from '../transaction/transaction.ts';
import {
  type BatchItem,
  type BatchResult,
  type BatchStore,
  placeholderLinkIds,
} from './batch-sql.ts';
import { createCaptureRate } from './capture-rate.ts';

/** Sorts the items of a batch, and stays until it is completed. */
export const batchCaptureJob = 'payments.batch-capture';
/** Works the items of a batch that go over one link. */
export const batchCaptureLinkJob = 'payments.batch-capture.link';

export type BatchWorkerDeps = PaymentsDeps & { batches: BatchStore };

export type BatchWorker = {
  assignLinks(job: Job): Promise<Later | undefined>;
  captureLinkItems(job: Job): Promise<Later | undefined>;
};

const assignBatchSize = 250;
/** Sorting goes on ahead of the captures, and leaves the database to others for most of the time. */
const assignPauseMs = 75;
const pageSize = 1000;
/** Captures that are under way over one link at once. */
const maxCapturesPerLink = 64;
/** So many in a row without an answer: the host is silent, and the rest is not sent after them. */
const unresponsiveThreshold = 24;
const completionCheckMs = 5000;
const noLinkRetryMs = 2000;
const maxRetryDelayMs = 60_000;
const maxDoublings = 5;

const retryDelayMs = ({ attempts }: Job) =>
  Math.min(maxRetryDelayMs, noLinkRetryMs * 2 ** Math.min(attempts, maxDoublings));

/** One job for a link of a batch, however often it is asked for. */
function linkJobId(batchId: string, linkId: string): string {
  const hex = createHash('sha256').update(`${batchId}|${linkId}`).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const toBase64Url = (uuid: string) =>
  Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');

/**
 * The identifier of the capture of one item, at most 64 characters. No client's begins with `~`,
 * so it meets none; a second run of the batch finds the first. One that was never sent has failed
 * for good, so the next try goes by another name.
 */
function captureOperationId(batchId: string, { row, operations }: TransactionRecord): string {
  const name = `~ca:${toBase64Url(batchId)}:${toBase64Url(row.transactionId)}`;
  const failed = operations.filter(
    ({ status, clientOperationId }) => status === 'Failed' && clientOperationId?.startsWith(name),
  ).length;
  return failed === 0 ? name : `${name}:${failed}`;
}

/** What else runs on the transaction ends by itself: the item is looked at again. */
const transientErrorCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'transaction_in_progress',
  'concurrent_modification',
  'reversal_in_progress',
  'confirmation_pending',
]);

const notSentErrorCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'acquirer_unavailable',
  'not_sent',
]);

/** `Later` is looked at again, `Unsent` says that nothing reaches the acquirer. */
type CaptureAttemptResult = BatchResult | 'Later' | 'Unanswered' | 'Unsent';

function toAttemptResult(
  transactionId: string,
  operation: StoredOperation | undefined,
  replayed: boolean,
): CaptureAttemptResult {
  if (operation?.status === 'Succeeded') return { transactionId, status: 'Succeeded' };
  if (operation?.status === 'Filed') return { transactionId, status: 'Filed' };
  if (operation !== undefined && operation.status !== 'Declined') {
    // One that waits for its repeats says nothing about the host as it is now.
    return replayed ? 'Later' : 'Unanswered';
  }
  return { transactionId, status: 'Failed', code: operation?.details.response?.code ?? 'failed' };
}

async function captureItem(
  deps: BatchWorkerDeps,
  organizationId: string,
  batchId: string,
  { transactionId, amount }: BatchItem,
): Promise<CaptureAttemptResult> {
  try {
    const transaction = await deps.transactions.findById(organizationId, transactionId);
    if (transaction === undefined) {
      return { transactionId, status: 'Failed', code: 'transaction_not_found' };
    }
    const clientOperationId = captureOperationId(batchId, transaction);
    const input = { amount, clientOperationId };
    const { operation, replayed } = await runSystemOperation(deps, transaction, 'Capture', input);
    return toAttemptResult(transactionId, operation, replayed);
  } catch (error) {
    // Another run of the batch was faster: what became of its capture is seen the next time.
    if (error instanceof DuplicateOperationId) return 'Later';
    if (!(error instanceof Refusal)) {
      // A fault of one item holds up no other: it is met again by the next run.
      deps.log.error(
        { err: error, transactionId },
        'capture of a batch item failed with an unexpected error',
      );
      return 'Later';
    }
    if (notSentErrorCodes.has(error.code)) return 'Unsent';
    if (transientErrorCodes.has(error.code)) return 'Later';
    // Also a lost database, after which the capture may have been sent: the next run finds it.
    if (errorCodes[error.code].retryable) throw error;
    return { transactionId, status: 'Failed', code: error.code };
  }
}

type PageResult = { results: BatchResult[]; error: unknown; isUnreachable: boolean };

/** @example const work = createCaptureWork(deps); jobs.handle(captureLinkJob, work.link); */
export function createBatchWorker(deps: BatchWorkerDeps): BatchWorker {
  const concurrency = createLinkConcurrency(maxCapturesPerLink);
  const rate = createCaptureRate(deps.clock);
  const waitForSlot = createPacer(deps.clock, rate.perSecond);

  async function capturePage(
    { organizationId }: Job,
    { batchId, linkId }: { batchId: string; linkId: string },
    items: readonly BatchItem[],
  ): Promise<PageResult> {
    const page: PageResult = { results: [], error: undefined, isUnreachable: false };
    const unsubscribe = deps.transactions.onSaleWrite((ms) => rate.recordWrite(ms));
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
        const release = await concurrency.acquire(linkId);
        try {
          await waitForSlot();
          const item = canContinue() ? items[nextIndex++] : undefined;
          if (item !== undefined)
            recordAttempt(await captureItem(deps, organizationId, batchId, item));
        } catch (error) {
          page.error = error;
        } finally {
          release();
        }
      }
    };
    try {
      await Promise.all(
        Array.from({ length: Math.min(maxCapturesPerLink, items.length) }, captureNextItems),
      );
    } finally {
      unsubscribe();
    }
    return page;
  }

  const isReachable = (linkId: string) =>
    placeholderLinkIds.has(linkId) || deps.acquiring.isLinkAvailable(linkId);
  const isStopping = () => deps.inFlightTransactions.isStopping();

  /** All that is left of one link; what gets no answer now ends by its own jobs, and is seen later. */
  async function link(job: Job): Promise<Later | undefined> {
    const { organizationId } = job;
    const target = job.payload as { batchId: string; linkId: string };
    let after: string | undefined;
    let remainingCount = 0;
    for (;;) {
      // What cannot be reached puts off its own items, and nobody else's.
      if (!isReachable(target.linkId)) return rescheduleAfter(retryDelayMs(job));
      const page = { organizationId, ...target, after, limit: pageSize };
      const items = await deps.batches.listPendingItems(page);
      const {
        results,
        error: fault,
        isUnreachable: unreachable,
      } = await capturePage(job, target, items);
      const at = isoTime(deps.clock.now());
      await deps.batches.recordResults(organizationId, target.batchId, results, at);
      if (fault !== undefined) throw fault;
      if (isStopping()) return { ...rescheduleAfter(0), untried: true };
      if (unreachable) return rescheduleAfter(retryDelayMs(job));
      remainingCount += items.length - results.length;
      if (items.length < pageSize)
        return remainingCount === 0 ? undefined : rescheduleAfter(retryDelayMs(job));
      after = items.at(-1)?.transactionId;
    }
  }

  const rescheduleAfter = (ms: number): Later => ({ retryAt: deps.clock.now() + ms });

  async function enqueueLinkJobs({ organizationId }: Job, batchId: string, linkIds: string[]) {
    const jobs = linkIds.map((linkId) => ({
      organizationId,
      jobId: linkJobId(batchId, linkId),
      kind: batchCaptureLinkJob,
      payload: { batchId, linkId },
    }));
    await Promise.all(jobs.map((each) => deps.jobs.enqueue(each)));
  }

  /** The links begin while later items are still sorted. A job that ended too early is made again. */
  async function sort(job: Job): Promise<Later | undefined> {
    const { organizationId } = job;
    const { batchId } = job.payload as { batchId: string };
    let after: string | undefined;
    do {
      const row = await deps.batches.find(organizationId, batchId);
      if (row === undefined || row.state === 'Completed') return undefined;
      const assigned = await deps.batches.assignLinks({
        organizationId,
        batchId,
        after,
        limit: assignBatchSize,
      });
      await enqueueLinkJobs(job, batchId, assigned.linkIds);
      after = assigned.last;
      if (after !== undefined) await pause(assignPauseMs);
    } while (after !== undefined && !isStopping());
    await enqueueLinkJobs(
      job,
      batchId,
      await deps.batches.listPendingLinks(organizationId, batchId),
    );
    return { ...rescheduleAfter(completionCheckMs), untried: true };
  }

  return { assignLinks: sort, captureLinkItems: link };
}
