// SQL for counted calls: one statement adds many counts to those that other processes wrote.
import { type Database, isoTime } from '../../platform/index.ts';

export type LastFault = {
  readonly fault: string | undefined;
  readonly faultAt: number | undefined;
};

export type CallCount = LastFault & {
  readonly serviceId: string;
  readonly call: string;
  /** Epoch milliseconds at which the step begins. */
  readonly at: number;
  readonly answered: number;
  readonly failed: number;
  readonly totalMs: number;
  readonly longestMs: number;
};

/** Every process writes its rows in the order of the key, so that two processes cannot deadlock. */
const compareKeys = (one: CallCount, other: CallCount): number => {
  const key = ({ serviceId, at, call }: CallCount) => `${serviceId} ${isoTime(at)} ${call}`;
  return key(one) < key(other) ? -1 : 1;
};

export async function addCallCounts(
  database: Database,
  counts: readonly CallCount[],
): Promise<void> {
  const rows = [...counts].sort(compareKeys).map(({ at, faultAt, ...rest }) => ({
    ...rest,
    at: isoTime(at),
    faultAt: faultAt === undefined ? null : isoTime(faultAt),
  }));
  await database.query(
    `INSERT INTO service_calls (service_id, at, call, answered, failed, total_ms, longest_ms, fault,
       fault_at)
     SELECT "serviceId", at, call, answered, failed, "totalMs", "longestMs", fault, "faultAt"
     FROM jsonb_to_recordset($1::jsonb) AS r ("serviceId" uuid, at timestamptz, call text,
       answered integer, failed integer, "totalMs" bigint, "longestMs" integer, fault text,
       "faultAt" timestamptz)
     ON CONFLICT (service_id, at, call) DO UPDATE SET
       answered = service_calls.answered + excluded.answered,
       failed = service_calls.failed + excluded.failed,
       total_ms = service_calls.total_ms + excluded.total_ms,
       longest_ms = greatest(service_calls.longest_ms, excluded.longest_ms),
       fault = coalesce(excluded.fault, service_calls.fault),
       fault_at = coalesce(excluded.fault_at, service_calls.fault_at)`,
    [JSON.stringify(rows)],
  );
}

/** Returns the number of deleted rows. */
export async function deleteOldCallCounts(
  database: Database,
  before: number,
  limit: number,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `WITH gone AS (
       DELETE FROM service_calls WHERE (service_id, at, call) IN (
         SELECT service_id, at, call FROM service_calls WHERE at < $1 ORDER BY at LIMIT $2)
       RETURNING 1)
     SELECT count(*) AS count FROM gone`,
    [isoTime(before), limit],
  );
  return Number(row?.count ?? 0);
}

type CountRow = {
  call: string;
  at: Date;
  answered: number;
  failed: number;
  total_ms: number;
  longest_ms: number;
  fault: string | null;
  fault_at: Date | null;
};

/** Oldest first; a day has at most 288 steps, with a few kinds of calls each. */
export async function readCallCounts(
  database: Database,
  serviceId: string,
  from: number,
): Promise<CallCount[]> {
  const rows = await database.query<CountRow>(
    `SELECT call, at, answered, failed, total_ms, longest_ms, fault, fault_at FROM service_calls
     WHERE service_id = $1 AND at >= $2 ORDER BY at, call`,
    [serviceId, isoTime(from)],
  );
  return rows.map((row) => ({
    serviceId,
    call: row.call,
    at: row.at.getTime(),
    answered: row.answered,
    failed: row.failed,
    totalMs: Number(row.total_ms),
    longestMs: row.longest_ms,
    fault: row.fault ?? undefined,
    faultAt: row.fault_at?.getTime(),
  }));
}
