// Logs each access to a card number: the actor, the purpose and the result.
import {
  type Clock,
  createGroupCommit,
  type Database,
  type Ids,
  isoTime,
  type Log,
  type Metrics,
  type PreparedStatement,
  type Queries,
  smallestUuidAt,
} from '../platform/index.ts';

/**
 * Above this number of waiting entries, a reader of a card waits for its log entry; none is
 * dropped.
 */
const waitingEntriesMax = 5_000;
const deletedPerStatement = 5_000;

export type PanAccess = {
  /** The purpose: `Sale`, `Capture`, `Refund`, … */
  readonly purpose: string;
  /** The actor: an application, a user, or `platform` for its own work. */
  readonly actor: string;
  /** The transaction, if there is one. */
  readonly subjectId?: string | undefined;
};

export type PanAccessOutcome = 'Opened' | 'Unknown' | 'Failed';
type LogEntry = PanAccess & {
  readonly organizationId: string;
  readonly accessId: string;
  readonly token: string;
  readonly result: PanAccessOutcome;
  readonly at: string;
};

export type PanAccessView = PanAccess & {
  readonly token: string;
  readonly result: PanAccessOutcome;
  readonly at: string;
};

const insertAccessesStatement: PreparedStatement = {
  name: 'vault-access',
  text: `INSERT INTO vault_accesses
      (organization_id, access_id, token, purpose, actor, subject_id, result, at)
    SELECT r.* FROM jsonb_to_recordset($1::jsonb) AS r(organization_id uuid, access_id uuid,
      token uuid, purpose text, actor text, subject_id uuid, result text, at timestamptz)
    ON CONFLICT (organization_id, access_id) DO NOTHING`,
};

export type PanAccessLog = ReturnType<typeof createPanAccessLog>;

type Deps = { database: Database; clock: Clock; ids: Ids; log: Log; metrics: Metrics };

/** @example await panAccessLog.record(organizationId, token, { purpose: 'Refund', actor }, 'Opened'); */
export function createPanAccessLog({ database, clock, ids, log, metrics }: Deps) {
  const failures = metrics.counter({
    name: 'switchyard_vault_pan_access_log_failures_total',
    help: 'Accesses to card numbers that could not be written to the access log',
  });
  const entryWriter = createGroupCommit<LogEntry, void>({
    name: 'vault-access',
    key: ({ organizationId, accessId }) => organizationId + accessId,
    async run(rows) {
      const batch = rows.map((entry) => ({
        organization_id: entry.organizationId,
        access_id: entry.accessId,
        token: entry.token,
        purpose: entry.purpose,
        actor: entry.actor,
        subject_id: entry.subjectId ?? null,
        result: entry.result,
        at: entry.at,
      }));
      await database.hot(insertAccessesStatement, [JSON.stringify(batch)]);
      return rows.map(() => undefined);
    },
  });

  return {
    /** Returns a promise only if too many entries wait, so that the caller waits too. */
    record(
      organizationId: string,
      token: string,
      access: PanAccess,
      result: PanAccessOutcome,
    ): undefined | Promise<void> {
      const entry = { ...access, organizationId, token, result, accessId: ids.uuid() };
      const written = entryWriter.submit({ ...entry, at: isoTime(clock.now()) });
      if (entryWriter.waiting() > waitingEntriesMax) return written;
      written.catch((error: unknown) => {
        failures.inc();
        const { purpose, actor, subjectId } = access;
        log.error(
          { err: error, organizationId, token, purpose, actor, subjectId, result },
          'an access to a card number could not be written to the access log',
        );
      });
      return undefined;
    },
    /** Deletes entries before a time in parts, and returns their number. */
    async deleteOlderThan(organizationId: string, before: number): Promise<number> {
      let deletedCount = 0;
      for (;;) {
        const rows = await database.query(
          `DELETE FROM vault_accesses WHERE organization_id = $1 AND access_id IN (
            SELECT access_id FROM vault_accesses WHERE organization_id = $1 AND access_id < $2
            ORDER BY access_id LIMIT $3) RETURNING access_id`,
          [organizationId, smallestUuidAt(before), deletedPerStatement],
        );
        deletedCount += rows.length;
        if (rows.length < deletedPerStatement) return deletedCount;
      }
    },
    drain: () => entryWriter.drain(),
  };
}

/** Lists the accesses in a period, oldest first. */
export async function listPanAccesses(
  database: Queries,
  {
    organizationId,
    from,
    to,
    limit,
  }: { organizationId: string; from: number; to: number; limit: number },
): Promise<PanAccessView[]> {
  const rows = await database.query<{
    token: string;
    purpose: string;
    actor: string;
    subject_id: string | null;
    result: PanAccessOutcome;
    at: Date;
  }>(
    `SELECT token, purpose, actor, subject_id, result, at FROM vault_accesses
    WHERE organization_id = $1 AND access_id >= $2 AND access_id < $3 ORDER BY access_id LIMIT $4`,
    [organizationId, smallestUuidAt(from), smallestUuidAt(to), limit],
  );
  return rows.map((row) => ({
    token: row.token,
    purpose: row.purpose,
    actor: row.actor,
    result: row.result,
    ...(row.subject_id === null ? {} : { subjectId: row.subject_id }),
    at: isoTime(row.at.getTime()),
  }));
}
