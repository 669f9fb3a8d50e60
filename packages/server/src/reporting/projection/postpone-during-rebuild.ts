// Postpones jobs on reports while the reports of their organisation are being rebuilt.
import type { Clock, Database, Job, Reschedule } from '../../platform/index.ts';
import { wholeText } from './projection-sql.ts';

const lookAgainMs = 5_000;

export type WholeDeps = { readonly database: Pick<Database, 'query'>; readonly clock: Clock };

type Handle = (job: Job) => Promise<Reschedule | undefined>;

/** @example jobs.handle(exportJob, whenWhole(deps, createExportWork(deps))); */
export function whenWhole({ database, clock }: WholeDeps, handle: Handle): Handle {
  return async (job) => {
    const [row] = await database.query<{ isWhole: boolean }>(wholeText, [job.organizationId]);
    if (row?.isWhole !== false) return handle(job);
    const note = 'the reports are being made anew';
    return { retryAt: clock.now() + lookAgainMs, countAttempt: false, note };
  };
}
