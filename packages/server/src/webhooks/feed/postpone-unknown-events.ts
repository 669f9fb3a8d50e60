// Stores events of unknown kinds as jobs, which return them to the outbox in a newer version.
import {
  bucketSql,
  deleteJobSql,
  isoTime,
  type JobHandler,
  type Jobs,
  type OutboxEventMapper,
  type OutboxRow,
  type Queries,
} from '../../platform/index.ts';

const postponedEventsJobKind = 'feed.set-aside';

/**
 * Newer events of the same subject are published first; `sequence` gives the order. The job ends in
 * the same statement. Otherwise a repeated job would find an empty outbox and publish the events
 * twice.
 */
const returnToOutboxText = `WITH ended AS (${deleteJobSql('$4::uuid')})
  INSERT INTO outbox
    (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
  SELECT ${bucketSql('r."subjectId"')}, $1, r."outboxId", $2, r."subjectId", r.sequence, r."createdAt"
  FROM jsonb_to_recordset($3::jsonb)
    AS r("outboxId" uuid, "subjectId" uuid, sequence integer, "createdAt" timestamptz)
  WHERE EXISTS (SELECT FROM ended)
  ON CONFLICT (bucket, outbox_id) DO NOTHING`;

export type PostponeDeps = {
  readonly database: Queries;
  readonly jobs: Pick<Jobs, 'handle' | 'enqueue'>;
  readonly eventMappers: readonly OutboxEventMapper[];
};

/** Runs in the transaction that removes the rows from the outbox. */
export type PostponeUnknownEvents = (rows: readonly OutboxRow[], trx: Queries) => Promise<void>;

export const findEventMapper = (
  eventMappers: readonly OutboxEventMapper[],
  kind: string,
): OutboxEventMapper | undefined => eventMappers.find(({ prefix }) => kind.startsWith(prefix));

/** @example const postpone = createPostponeUnknownEvents({ database, jobs, eventMappers }); await postpone(rows, trx); */
export function createPostponeUnknownEvents({
  database,
  jobs,
  eventMappers,
}: PostponeDeps): PostponeUnknownEvents {
  const returnToOutbox: JobHandler = async ({ organizationId, jobId, payload }) => {
    const kind = String(payload['kind']);
    // A failed job is retried with growing pauses in any process, and raises the alarm for jobs.
    if (findEventMapper(eventMappers, kind) === undefined)
      throw new Error(`no module maps the outbox kind ${kind} to events`);
    const rows = JSON.stringify(payload['rows']);
    await database.query(returnToOutboxText, [organizationId, kind, rows, jobId]);
  };
  jobs.handle(postponedEventsJobKind, returnToOutbox, { deletesItself: true });

  return async (rows, trx) => {
    const groups = Map.groupBy(rows, ({ organizationId, kind }) => `${organizationId} ${kind}`);
    for (const group of groups.values()) {
      const [first] = group;
      if (first === undefined) continue;
      const { organizationId, kind } = first;
      const postponedRows = group.map(({ outboxId, subjectId, sequence, createdAt }) => ({
        outboxId,
        subjectId,
        sequence,
        createdAt: isoTime(createdAt.getTime()),
      }));
      await jobs.enqueue(
        { organizationId, kind: postponedEventsJobKind, payload: { kind, rows: postponedRows } },
        trx,
      );
    }
  };
}
