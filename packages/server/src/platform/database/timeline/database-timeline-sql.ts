// SQL of the database timeline: position of the server, stored state, and the numbers that jump.
import { bucketOf, bucketSql } from '../../identifiers/bucket.ts';
import type { Queries } from '../database.ts';
import { isWorkerLost } from '../database-errors.ts';
import type { Shards } from '../queries.ts';

/** The write-ahead log (WAL) of a server: two timelines of one system share the log up to a position. */
export type ServerPosition = {
  readonly systemIdentifier: string;
  readonly timeline: number;
  /** Changes when pg_restore creates the database or its tables again, which leaves server and timeline unchanged. */
  readonly databaseIdentifier: string;
  /** Bytes since the start of the log. */
  readonly position: bigint;
};

/** A committed write that a client may know about. */
export type AcknowledgedWrite = {
  readonly table: 'transactions' | 'qr_transactions';
  readonly organizationId: string;
  readonly transactionId: string;
  readonly version: number;
};

export type StoredTimeline = {
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly databaseIdentifier: string;
  readonly jumps: number;
  readonly recoveredJumps: number;
  readonly recoveryRequiredAt: Date | null;
};

/** A standby has no write position: the functions would fail there. */
const serverPositionText = `SELECT pg_is_in_recovery() AS "isStandby",
    (SELECT system_identifier::text FROM pg_control_system()) AS "systemIdentifier",
    (SELECT concat(oid, '/', to_regclass('database_timeline')::oid) FROM pg_database
      WHERE datname = current_database()) AS "databaseIdentifier",
    CASE WHEN NOT pg_is_in_recovery()
      THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END AS timeline,
    CASE WHEN NOT pg_is_in_recovery()
      THEN (pg_current_wal_lsn() - '0/0'::pg_lsn)::text END AS position`;

const hexadecimal = 16;
const noWriteAhead = {
  code: '57P03',
  message: 'the database server is a standby, or is still in recovery',
};

/** @throws Error for a standby, as of a server that accepts no connections yet */
export async function readServerPosition(queries: Queries): Promise<ServerPosition> {
  const [row] = await queries.query(serverPositionText);
  if (row === undefined) throw new Error('the database has no WAL position');
  if (row['isStandby'] === true) {
    throw Object.assign(new Error(noWriteAhead.message), { code: noWriteAhead.code });
  }
  return {
    systemIdentifier: String(row['systemIdentifier']),
    timeline: Number.parseInt(String(row['timeline']), hexadecimal),
    databaseIdentifier: String(row['databaseIdentifier']),
    position: BigInt(String(row['position'])),
  };
}

const countWritesText = ['transactions', 'qr_transactions']
  .map(
    (table) => `SELECT count(*)::int AS found
    FROM jsonb_to_recordset($1::jsonb) AS w("table" text, "organizationId" uuid, "transactionId" uuid, version integer)
    JOIN ${table} t ON t.bucket = ${bucketSql('w."transactionId"')} /* one shard: t */ AND t.transaction_id = w."transactionId"
    WHERE w."table" = '${table}' AND t.version >= w.version`,
  )
  .join(' UNION ALL ');

async function countMissingInShard(
  queries: Queries,
  writes: readonly AcknowledgedWrite[],
  buckets?: readonly number[],
): Promise<number> {
  const rows = await queries.query(countWritesText, [JSON.stringify(writes)], buckets);
  return writes.length - rows.reduce((sum, row) => sum + Number(row['found']), 0);
}

/** The number of writes that the database does not contain. On Citus, a worker that is down is not asked. */
export async function countMissingWrites(
  queries: Queries,
  writes: readonly AcknowledgedWrite[],
  shards: Shards | undefined,
): Promise<number> {
  if (writes.length === 0) return 0;
  if (shards === undefined) return countMissingInShard(queries, writes);
  let missing = 0;
  const groups = Map.groupBy(writes, ({ transactionId }) => shards.of(bucketOf(transactionId)));
  for (const [buckets, ofShard] of groups) {
    missing += await countMissingInShard(queries, ofShard, buckets).catch((error: unknown) => {
      if (isWorkerLost(error)) return 0;
      throw error;
    });
  }
  return missing;
}

const columns = `system_identifier AS "systemIdentifier", timeline,
  database_identifier AS "databaseIdentifier", numbering_jumps AS jumps,
  recovered_jumps AS "recoveredJumps", recovery_required_at AS "recoveryRequiredAt"`;

/** `lock` keeps the row until the end of the database transaction. */
export async function readStoredTimeline(
  queries: Queries,
  { lock = false } = {},
): Promise<StoredTimeline | undefined> {
  const rows = await queries.query(
    `SELECT ${columns} FROM database_timeline WHERE singleton${lock ? ' FOR UPDATE' : ''}`,
  );
  return rows[0] as StoredTimeline | undefined;
}

/** Changes nothing if another process was first. */
export async function insertStoredTimeline(
  queries: Queries,
  { systemIdentifier, timeline, databaseIdentifier }: ServerPosition,
): Promise<void> {
  await queries.query(
    `INSERT INTO database_timeline
       (singleton, system_identifier, timeline, database_identifier, numbering_jumps, recovered_jumps, changed_at)
     VALUES (true, $1, $2, $3, 0, 0, now()) ON CONFLICT DO NOTHING`,
    [systemIdentifier, timeline, databaseIdentifier],
  );
}

export async function storePostgresTimeline(
  queries: Queries,
  { systemIdentifier, timeline, databaseIdentifier }: ServerPosition,
  { jumps, isRecoveryRequired }: { jumps: number; isRecoveryRequired: boolean },
): Promise<void> {
  await queries.query(
    `UPDATE database_timeline SET system_identifier = $1, timeline = $2, database_identifier = $3,
       numbering_jumps = $4, recovery_required_at = CASE WHEN $5 THEN coalesce(recovery_required_at, now()) ELSE recovery_required_at END,
       changed_at = now() WHERE singleton`,
    [systemIdentifier, timeline, databaseIdentifier, jumps, isRecoveryRequired],
  );
}

/** Numbers that were issued before the recovery and numbers after it never meet. */
export async function endStoredRecovery(queries: Queries): Promise<StoredTimeline> {
  const rows = await queries.query(
    `UPDATE database_timeline SET numbering_jumps = numbering_jumps + 1,
       recovered_jumps = numbering_jumps + 1, recovery_required_at = NULL, changed_at = now()
     WHERE singleton RETURNING ${columns}`,
  );
  return rows[0] as StoredTimeline;
}

/** The rows of a head table are locked in the order of its key, as its writers do. */
const skip = (table: string, column: string, margin: number) =>
  `UPDATE ${table} h SET ${column} = h.${column} + ${margin}
   FROM (SELECT organization_id FROM ${table} ORDER BY organization_id FOR UPDATE) l
   WHERE h.organization_id = l.organization_id`;

/**
 * More than an organisation writes between the state that was restored and the last one. The request log keeps a
 * number of rows, which a large margin would delete.
 */
const skipTexts = [
  skip('feed_heads', 'position', 1_000_000),
  skip('audit_heads', 'skipped', 100_000),
  skip('request_log_heads', 'sequence', 1_000),
];

/** STAN, RRN and file numbers follow from `numbering_jumps`; the other numbers are stored with each organisation. */
export async function skipStoredNumbers(queries: Queries): Promise<void> {
  for (const text of skipTexts) await queries.query(text);
}
