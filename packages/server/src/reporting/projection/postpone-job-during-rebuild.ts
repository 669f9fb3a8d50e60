// Postpones jobs on reports while the reports of their organisation are being rebuilt.
import type { Clock, Job, Queries, Reschedule } from '../../platform/index.ts';
import { isCompleteSql } from './projection-sql.ts';

const retryMs = 5_000;

export type RebuildCheckDeps = {
  readonly database: Queries;
  readonly clock: Clock;
};

type JobHandler = (job: Job) => Promise<Reschedule | undefined>;

/** @example jobs.handle(exportJobKind, postponeJobDuringRebuild(deps, createExportJobHandler(deps))); */
export function postponeJobDuringRebuild(
  { database, clock }: RebuildCheckDeps,
  handle: JobHandler,
): JobHandler {
  return async (job) => {
    const [row] = await database.query<{ isWhole: boolean }>(isCompleteSql, [job.organizationId]);
    if (row?.isWhole !== false) return handle(job);
    const note = 'the reports are being rebuilt';
    return { retryAt: clock.now() + retryMs, countAttempt: false, note };
  };
}
