// Keeps events that this version does not know for one that does: as jobs, which go back to the outbox there.
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
 * What happens meanwhile to the same subject is told before it: `sequence` says the order. The job ends with it, in
 * one statement: who came back after both were done would find the outbox empty, and tell it all a second time.
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

/** Within the transaction that takes them out of the outbox. */
export type SetAside = (rows: readonly OutboxRow[], trx: Kysely<unknown>) => Promise<void>;

export const sourceOf = (
  sources: readonly OutboxEventMapper[],
  kind: string,
): OutboxEventMapper | undefined => sources.find(({ prefix }) => kind.startsWith(prefix));

/** @example const setAside = createSetAside({ database, jobs, sources }); await setAside(rows, trx); */
export function createSetAside({ database, jobs, sources }: SetAsideDeps): SetAside {
  const putBack: JobHandler = async ({ organizationId, jobId, payload }) => {
    const kind = String(payload['kind']);
    // As a failure it is tried again with growing pauses, by whichever process, and raises the alarm of jobs.
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
