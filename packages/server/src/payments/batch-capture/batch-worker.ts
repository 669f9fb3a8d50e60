// Captures the items of a batch, contract by contract, at a rate that adapts to the latency of sales.
import { createHash } from 'node:crypto';
import { type ErrorCode, errorCodes, ProblemError } from '@switchyard/contract';
import type { Acquiring } from '../../acquiring/index.ts';
import {
  type Clock,
  createKeyedQueue,
  isoTime,
  type Job,
  type Jobs,
  type Reschedule,
} from '../../platform/index.ts';
import { runSystemOperation, type SystemOperationPorts } from '../operations/run-operation.ts';
import {
  DuplicateOperationId,
  type TransactionRepository,
} from '../repository/transaction-repository.ts';
import { createPacer } from '../runtime/capture-concurrency.ts';
import type { InFlightTransactions } from '../runtime/in-flight-transactions.ts';
import {
  authorizationContext,
  type StoredOperation,
  type TransactionRecord,
} from '../transaction/transaction.ts';
import { usesClearingFile } from '../transaction/transition.ts';
import type { BatchItem, BatchResult, BatchStore } from './batch-sql.ts';

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

/** Starts a job for each contract of a batch, and runs until the batch is completed. */
export const batchCaptureJob = 'payments.batch-capture';
/** Captures the items of a batch under one contract, usually over one acquirer link. */
export const batchCaptureContractJob = 'payments.batch-capture.contract';

export type BatchWorkerPorts = SystemOperationPorts & {
  batches: BatchStore;
  transactions: TransactionRepository;
  inFlightTransactions: InFlightTransactions;
  acquiring: Pick<Acquiring, 'isLinkAvailable'>;
  jobs: Pick<Jobs, 'enqueue'>;
};

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

/** Derived, so that one contract of one batch has one job. */
function contractJobId(batchId: string, contractId: string): string {
  const hex = createHash('sha256').update(`${batchId}|${contractId}`).digest('hex');
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

function toFailedAttempt(
  { log }: Pick<BatchWorkerPorts, 'log'>,
  transactionId: string,
  error: unknown,
): CaptureAttemptResult {
  // Another run of the batch was first; the next attempt finds its capture.
  if (error instanceof DuplicateOperationId) return 'Later';
  if (!(error instanceof ProblemError)) {
    // An error of one item does not block the others; the next run tries it again.
    log.error(
      { err: error, transactionId },
      'capture of a batch item failed with an unexpected error',
    );
    return 'Later';
  }
  if (notSentErrorCodes.includes(error.code)) return 'Unsent';
  if (transientErrorCodes.includes(error.code)) return 'Later';
  // For example `database_unavailable`. The next run finds a capture that was sent.
  if (errorCodes[error.code].retryable) throw error;
  return { transactionId, status: 'Failed', code: error.code };
}

/** The links that a run has found unavailable or without responses. It leaves their items for later. */
function createLinkChecks(isLinkAvailable: (linkId: string) => boolean) {
  const unreachable = new Set<string>();
  const consecutiveNoResponse = new Map<string, number>();
  return {
    canSend: (linkId: string) => !unreachable.has(linkId) && isLinkAvailable(linkId),
    recordAttempt(linkId: string, result: CaptureAttemptResult): void {
      const count = result === 'Unanswered' ? (consecutiveNoResponse.get(linkId) ?? 0) + 1 : 0;
      consecutiveNoResponse.set(linkId, count);
      if (result === 'Unsent' || count >= unresponsiveThreshold) unreachable.add(linkId);
    },
    hasUnreachable: () => unreachable.size > 0,
  };
}

type Target = { organizationId: string; batchId: string; contractId: string };
type LinkChecks = ReturnType<typeof createLinkChecks>;

/** @example jobs.handle(batchCaptureJob, createBatchWorker(ports).startContractJobs); */
export function createBatchWorker(ports: BatchWorkerPorts) {
  const { acquiring, batches, clock, inFlightTransactions, jobs, transactions } = ports;
  const captureQueue = createKeyedQueue(maxCapturesPerLink);
  const rate = createCaptureRate(clock);
  const waitForSlot = createPacer(clock, rate.perSecond);
  /** By job: the end of a page whose links were all unreachable. The next run captures what follows it. */
  const resumeAfter = new Map<string, string>();
  let runningJobs = 0;
  const isStopping = () => inFlightTransactions.isStopping();
  const rescheduleAfter = (ms: number): Reschedule => ({ retryAt: clock.now() + ms });

  /** Captures over a link that is reachable, when the rate allows it. */
  async function captureOverLink(
    linkId: string,
    links: LinkChecks,
    capture: () => Promise<CaptureAttemptResult>,
  ): Promise<CaptureAttemptResult> {
    const release = await captureQueue.acquire(linkId);
    try {
      if (links.canSend(linkId)) await waitForSlot();
      return links.canSend(linkId) ? await capture() : 'Unsent';
    } finally {
      release();
    }
  }

  async function captureItem(
    { organizationId, batchId }: Target,
    { transactionId, amount }: BatchItem,
    links: LinkChecks,
    canContinue: () => boolean,
  ): Promise<CaptureAttemptResult> {
    let linkId: string | undefined;
    let result: CaptureAttemptResult;
    try {
      const transaction = await transactions.findById(organizationId, transactionId);
      if (transaction === undefined)
        return { transactionId, status: 'Failed', code: 'transaction_not_found' };
      const capture = async (): Promise<CaptureAttemptResult> => {
        if (!canContinue()) return 'Later';
        const clientOperationId = captureOperationId(batchId, transaction);
        const input = { amount: amount ?? undefined, clientOperationId };
        const captured = await runSystemOperation(ports, transaction, 'Capture', input);
        return toAttemptResult(transactionId, captured.operation, captured.replayed);
      };
      if (usesClearingFile(transaction, 'Capture')) {
        await waitForSlot();
        return await capture();
      }
      linkId = authorizationContext(transaction).linkId;
      result = await captureOverLink(linkId, links, capture);
    } catch (error) {
      result = toFailedAttempt(ports, transactionId, error);
    }
    if (linkId !== undefined) links.recordAttempt(linkId, result);
    return result;
  }

  async function capturePage(target: Target, items: readonly BatchItem[], links: LinkChecks) {
    const page = { results: [] as BatchResult[], error: undefined as unknown };
    const unsubscribe = transactions.onSaleWrite((ms) => rate.recordWrite(ms));
    let nextIndex = 0;
    const canContinue = () => page.error === undefined && !isStopping();
    const captureNextItems = async () => {
      while (canContinue()) {
        const item = items[nextIndex++];
        if (item === undefined) return;
        try {
          const result = await captureItem(target, item, links, canContinue);
          if (typeof result === 'object') page.results.push(result);
        } catch (error) {
          page.error = error;
        }
      }
    };
    const workerCount = Math.min(maxCapturesPerLink, items.length);
    await Promise.all(Array.from({ length: workerCount }, captureNextItems)).finally(unsubscribe);
    return page;
  }

  async function captureContractItems(job: Job): Promise<Reschedule | undefined> {
    const { organizationId, jobId } = job;
    const { batchId, contractId } = job.payload as { batchId: string; contractId: string };
    const target = { organizationId, batchId, contractId };
    const links = createLinkChecks(acquiring.isLinkAvailable);
    let after = resumeAfter.get(jobId);
    let isComplete = after === undefined;
    resumeAfter.delete(jobId);
    for (;;) {
      const items = await batches.listPendingItems({ ...target, after, limit: pageSize });
      const { results, error } = await capturePage(target, items, links);
      await batches.recordResults(organizationId, batchId, results, isoTime(clock.now()));
      if (error !== undefined) throw error;
      if (isStopping()) return { ...rescheduleAfter(0), countAttempt: false };
      if (items.length > results.length) isComplete = false;
      if (items.length < pageSize)
        return isComplete ? undefined : rescheduleAfter(retryDelayMs(job));
      after = items.at(-1)?.transactionId;
      if (results.length === 0 && links.hasUnreachable()) {
        if (after !== undefined) resumeAfter.set(jobId, after);
        return rescheduleAfter(retryDelayMs(job));
      }
    }
  }

  /** A contract job that ended early is created again. */
  async function startContractJobs({
    organizationId,
    payload,
  }: Job): Promise<Reschedule | undefined> {
    const { batchId } = payload as { batchId: string };
    const batch = await batches.find(organizationId, batchId);
    if (batch === undefined || batch.state === 'Completed') return undefined;
    const contractIds = await batches.listPendingContracts(organizationId, batchId);
    const kind = batchCaptureContractJob;
    const enqueue = (contractId: string) => {
      const jobId = contractJobId(batchId, contractId);
      return jobs.enqueue({ organizationId, jobId, kind, payload: { batchId, contractId } });
    };
    await Promise.all(contractIds.map(enqueue));
    return { ...rescheduleAfter(completionCheckMs), countAttempt: false };
  }

  return {
    startContractJobs,
    async captureContractItems(job: Job): Promise<Reschedule | undefined> {
      runningJobs += 1;
      try {
        return await captureContractItems(job);
      } finally {
        runningJobs -= 1;
      }
    },
    /** True while this process captures items of a batch. */
    isCapturing: () => runningJobs > 0,
  };
}
