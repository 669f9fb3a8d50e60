// Runs the clean-up jobs of a process in turn, one batch at a time, so that only one deletion runs at a time.
import { createPoller, type Poller } from '../concurrency/poller.ts';
import type { Log } from '../observability/log.ts';

export type CleanupJob = {
  /** The data that the job deletes, for the log. */
  readonly data: string;
  readonly intervalMs: number;
  /** Deletes one batch. True if more may be left. */
  deleteBatch(): Promise<boolean>;
};

/** The pause after a failed job; the others continue. */
const retryAfterErrorMs = 15_000;
const checkEveryMs = 1_000;

/** @example const cleanup = createCleanup([...identity.cleanupJobs, logs.cleanupJob], log); cleanup.start(); */
export function createCleanup(
  jobs: readonly CleanupJob[],
  log: Pick<Log, 'warn'>,
): Pick<Poller, 'start' | 'stop'> {
  const dueAtMs = new Map<CleanupJob, number>();
  let isStopping = false;

  /** @returns true if the job may have more to delete */
  async function runBatch(job: CleanupJob): Promise<boolean> {
    let pauseMs = job.intervalMs;
    try {
      if (await job.deleteBatch()) return true;
    } catch (error) {
      log.warn(
        { err: error, data: job.data },
        'the server could not delete old data; it retries within 15 s',
      );
      pauseMs = Math.min(pauseMs, retryAfterErrorMs);
    }
    dueAtMs.set(job, performance.now() + pauseMs);
    return false;
  }

  const poller = createPoller({
    pollMs: checkEveryMs,
    async poll() {
      let hasMore = false;
      for (const job of jobs) {
        if (isStopping) return false;
        const isDue = (dueAtMs.get(job) ?? 0) <= performance.now();
        if (isDue && (await runBatch(job))) hasMore = true;
      }
      return hasMore;
    },
    onError: (error) => log.warn({ err: error }, 'the clean-up failed'),
  });

  return {
    start: poller.start,
    stop() {
      isStopping = true;
      return poller.stop();
    },
  };
}
