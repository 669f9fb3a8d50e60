// Does captures of all: sorts a batch by acquirer link, and works each link by a job of its own.
import { createHash } from 'node:crypto';
import { type ErrorCode, errorCodes, Refusal } from '@switchyard/contract';
import { isoTime, type Job, type Later, pause } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { operateOwn } from '../operations/run-operation.ts';
import { OperationIdTaken } from '../repository/transaction-repository.ts';
import { createBatchPlaces, createPace } from '../runtime/link-concurrency.ts';
import type { LoadedTransaction, StoredOperation } from '../transaction/transaction.ts';
import { type BatchItem, type BatchResult, type BatchStore, withoutLink } from './batch-sql.ts';
import { createCaptureRate } from './capture-rate.ts';

/** Sorts the items of a batch, and stays until it is completed. */
export const captureAllJob = 'payments.captureall';
/** Works the items of a batch that go over one link. */
export const captureLinkJob = 'payments.captureall.link';

export type CaptureWorkDeps = PaymentsDeps & { batches: BatchStore };

export type CaptureWork = {
  sort(job: Job): Promise<Later | undefined>;
  link(job: Job): Promise<Later | undefined>;
};

const sortSize = 250;
/** Sorting goes on ahead of the captures, and leaves the database to others for most of the time. */
const sortPauseMs = 75;
const pageSize = 1000;
/** Captures that are under way over one link at once. */
const placesPerLink = 64;
/** So many in a row without an answer: the host is silent, and the rest is not sent after them. */
const silentAfter = 24;
const watchEveryMs = 5000;
const noLinkRetryMs = 2000;
const longestPauseMs = 60_000;
const doublingsMax = 5;

const pauseMs = ({ attempts }: Job) =>
  Math.min(longestPauseMs, noLinkRetryMs * 2 ** Math.min(attempts, doublingsMax));

/** One job for a link of a batch, however often it is asked for. */
function linkJobId(batchId: string, linkId: string): string {
  const hex = createHash('sha256').update(`${batchId}|${linkId}`).digest('hex');
  return hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const short = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');

/**
 * The identifier of the capture of one item, at most 64 characters. No client's begins with `~`,
 * so it meets none; a second run of the batch finds the first. One that was never sent has failed
 * for good, so the next try goes by another name.
 */
function captureIdOf(batchId: string, { row, operations }: LoadedTransaction): string {
  const name = `~ca:${short(batchId)}:${short(row.transactionId)}`;
  const failed = operations.filter(
    ({ status, clientOperationId }) => status === 'Failed' && clientOperationId?.startsWith(name),
  ).length;
  return failed === 0 ? name : `${name}:${failed}`;
}

/** What else runs on the transaction ends by itself: the item is looked at again. */
const passingCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'transaction_in_progress',
  'concurrent_modification',
  'reversal_in_progress',
  'confirmation_pending',
]);

const unsentCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'acquirer_unavailable',
  'not_sent',
]);

/** `Later` is looked at again, `Unsent` says that nothing reaches the acquirer. */
type Tried = BatchResult | 'Later' | 'Unanswered' | 'Unsent';

function resultOf(
  transactionId: string,
  operation: StoredOperation | undefined,
  replayed: boolean,
): Tried {
  if (operation?.status === 'Succeeded') return { transactionId, status: 'Succeeded' };
  if (operation?.status === 'Filed') return { transactionId, status: 'Filed' };
  if (operation !== undefined && operation.status !== 'Declined') {
    // One that waits for its repeats says nothing about the host as it is now.
    return replayed ? 'Later' : 'Unanswered';
  }
  return { transactionId, status: 'Failed', code: operation?.details.response?.code ?? 'failed' };
}

async function captureItem(
  deps: CaptureWorkDeps,
  organizationId: string,
  batchId: string,
  { transactionId, amount }: BatchItem,
): Promise<Tried> {
  try {
    const loaded = await deps.store.findById(organizationId, transactionId);
    if (loaded === undefined) {
      return { transactionId, status: 'Failed', code: 'transaction_not_found' };
    }
    const clientOperationId = captureIdOf(batchId, loaded);
    const call = { amount, clientOperationId };
    const { operation, replayed } = await operateOwn(deps, loaded, 'Capture', call);
    return resultOf(transactionId, operation, replayed);
  } catch (error) {
    // Another run of the batch was faster: what became of its capture is seen the next time.
    if (error instanceof OperationIdTaken) return 'Later';
    if (!(error instanceof Refusal)) {
      // A fault of one item holds up no other: it is met again by the next run.
      deps.log.error({ err: error, transactionId }, 'an item of a capture of all met a fault');
      return 'Later';
    }
    if (unsentCodes.has(error.code)) return 'Unsent';
    if (passingCodes.has(error.code)) return 'Later';
    // Also a lost database, after which the capture may have been sent: the next run finds it.
    if (errorCodes[error.code].retryable) throw error;
    return { transactionId, status: 'Failed', code: error.code };
  }
}

type Page = { results: BatchResult[]; fault: unknown; unreachable: boolean };

/** @example const work = createCaptureWork(deps); jobs.handle(captureLinkJob, work.link); */
export function createCaptureWork(deps: CaptureWorkDeps): CaptureWork {
  const places = createBatchPlaces(placesPerLink);
  const rate = createCaptureRate(deps.clock);
  const pace = createPace(deps.clock, rate.perSecond);

  async function capturePage(
    { organizationId }: Job,
    { batchId, linkId }: { batchId: string; linkId: string },
    items: readonly BatchItem[],
  ): Promise<Page> {
    const page: Page = { results: [], fault: undefined, unreachable: false };
    const unwatch = deps.store.watchSales((ms) => rate.note(ms));
    let unanswered = 0;
    let next = 0;
    const goesOn = () => page.fault === undefined && !page.unreachable && !isStopping();
    const note = (tried: Tried) => {
      unanswered = tried === 'Unanswered' ? unanswered + 1 : 0;
      if (tried === 'Unsent' || unanswered >= silentAfter) page.unreachable = true;
      if (typeof tried === 'object') page.results.push(tried);
    };
    const lane = async () => {
      while (next < items.length && goesOn()) {
        const leave = await places.enter(linkId);
        try {
          await pace();
          const item = goesOn() ? items[next++] : undefined;
          if (item !== undefined) note(await captureItem(deps, organizationId, batchId, item));
        } catch (error) {
          page.fault = error;
        } finally {
          leave();
        }
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(placesPerLink, items.length) }, lane));
    } finally {
      unwatch();
    }
    return page;
  }

  const isReachable = (linkId: string) =>
    withoutLink.has(linkId) || deps.acquiring.available(linkId);
  const isStopping = () => deps.running.isStopping();

  /** All that is left of one link; what gets no answer now ends by its own jobs, and is seen later. */
  async function link(job: Job): Promise<Later | undefined> {
    const { organizationId } = job;
    const of = job.payload as { batchId: string; linkId: string };
    let after: string | undefined;
    let left = 0;
    for (;;) {
      // What cannot be reached puts off its own items, and nobody else's.
      if (!isReachable(of.linkId)) return later(pauseMs(job));
      const page = { organizationId, ...of, after, limit: pageSize };
      const items = await deps.batches.pending(page);
      const { results, fault, unreachable } = await capturePage(job, of, items);
      const at = isoTime(deps.clock.now());
      await deps.batches.record(organizationId, of.batchId, results, at);
      if (fault !== undefined) throw fault;
      if (isStopping()) return { ...later(0), untried: true };
      if (unreachable) return later(pauseMs(job));
      left += items.length - results.length;
      if (items.length < pageSize) return left === 0 ? undefined : later(pauseMs(job));
      after = items.at(-1)?.transactionId;
    }
  }

  const later = (ms: number): Later => ({ retryAt: deps.clock.now() + ms });

  async function openLinkJobs({ organizationId }: Job, batchId: string, linkIds: string[]) {
    const jobs = linkIds.map((linkId) => ({
      organizationId,
      jobId: linkJobId(batchId, linkId),
      kind: captureLinkJob,
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
      const found = await deps.batches.sort({ organizationId, batchId, after, limit: sortSize });
      await openLinkJobs(job, batchId, found.linkIds);
      after = found.last;
      if (after !== undefined) await pause(sortPauseMs);
    } while (after !== undefined && !isStopping());
    await openLinkJobs(job, batchId, await deps.batches.pendingLinks(organizationId, batchId));
    return { ...later(watchEveryMs), untried: true };
  }

  return { sort, link };
}
