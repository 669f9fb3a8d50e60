// Stores events of unknown kinds as jobs, which return them to the outbox in a newer version.
import type { Kysely } from 'kysely';
import {
  type Database,
  deleteJobSql,
  isoTime,
  type JobHandler,
  type Jobs,
  type OutboxEventMapper,
  type OutboxRow,
} from '../../platform/index.ts';

const setAsideJob = 'feed.set-aside';

/**
 * Newer events of the same subject are published first; `sequence` gives the order. The job ends in
 * the same statement. Otherwise a repeated job would find an empty outbox and publish the events
 * twice.
 */
const returnText = `WITH ended AS (${deleteJobSql('$1', '$4')})
  INSERT INTO outbox
    (organization_id, outbox_id, kind, subject_id, sequence, created_at)
  SELECT $1, r."outboxId", $2, r."subjectId", r.sequence, r."createdAt"
  FROM jsonb_to_recordset($3::jsonb)
    AS r("outboxId" uuid, "subjectId" uuid, sequence integer, "createdAt" timestamptz)
  WHERE EXISTS (SELECT FROM ended)
  ON CONFLICT (organization_id, outbox_id) DO NOTHING`;

export type SetAsideDeps = {
  readonly database: Pick<Database, 'query'>;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue'>;
  readonly sources: readonly OutboxEventMapper[];
};

/** Runs in the transaction that removes the rows from the outbox. */
export type SetAside = (rows: readonly OutboxRow[], trx: Kysely<unknown>) => Promise<void>;

export const sourceOf = (
  sources: readonly OutboxEventMapper[],
  kind: string,
): OutboxEventMapper | undefined => sources.find(({ prefix }) => kind.startsWith(prefix));

/** @example const setAside = createSetAside({ database, jobs, sources }); await setAside(rows, trx); */
export function createSetAside({ database, jobs, sources }: SetAsideDeps): SetAside {
  const putBack: JobHandler = async ({ organizationId, jobId, payload }) => {
    const kind = String(payload['kind']);
    // A failed job is retried with growing pauses in any process, and raises the alarm for jobs.
    if (sourceOf(sources, kind) === undefined)
      throw new Error(`no room tells the facts of ${kind}`);
    const rows = JSON.stringify(payload['rows']);
    await database.query(returnText, [organizationId, kind, rows, jobId]);
  };
  jobs.handle(setAsideJob, putBack, { deletesItself: true });

  return async (rows, trx) => {
    const groups = Map.groupBy(rows, ({ organizationId, kind }) => `${organizationId} ${kind}`);
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const { organizationId, kind } = first;
      const kept = group.map(({ outboxId, subjectId, sequence, createdAt }) => ({
        outboxId,
        subjectId,
        sequence,
        createdAt: isoTime(createdAt.getTime()),
      }));
      await jobs.enqueue({ organizationId, kind: setAsideJob, payload: { kind, rows: kept } }, trx);
    }
  };
}
