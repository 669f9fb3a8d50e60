// Asks the database which statements it ran, how often and for how long: part of a profile.
import type { Database } from '../../../packages/server/src/platform/index.ts';

const extension = 'pg_stat_statements';
/** Loaded only for a profile: it costs a little itself. */
export const statementCostSettings = { shared_preload_libraries: extension };

const statementsMax = 12;
const nameLengthMax = 60;

/** `Each` is for each answered request. */
export type StatementCost = {
  statement: string;
  callsEach: number;
  rowsPerCall: number;
  /** Time inside the statement, µs; with the wait for a lock, without that for the disk at its commit. */
  usEach: number;
  logBytesEach: number;
};

export async function beginStatementCosts(database: Database): Promise<void> {
  await database.query(`CREATE EXTENSION IF NOT EXISTS ${extension}`);
  await database.query(`SELECT ${extension}_reset()`);
}

/** Bytes of the write-ahead log of the whole PostgreSQL server so far. */
export async function readWalBytes(database: Database): Promise<number> {
  const [row] = await database.query<{ bytes: string | number }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes`,
  );
  return Number(row?.bytes);
}

type CostRow = { query: string; calls: number; rows: number; ms: number; wal: string | number };

export async function readStatementCosts(
  database: Database,
  requests: number,
): Promise<StatementCost[]> {
  const rows = await database.query<CostRow>(
    `SELECT query, calls::int, rows::int, total_exec_time AS ms, wal_bytes AS wal FROM ${extension}
      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
      ORDER BY total_exec_time DESC LIMIT ${statementsMax}`,
  );
  return rows.map(({ query, calls, rows: touched, ms, wal }) => ({
    statement: statementNameOf(query),
    callsEach: calls / requests,
    rowsPerCall: touched / calls,
    usEach: (ms * 1000) / requests,
    logBytesEach: Number(wal) / requests,
  }));
}

/** What it does and to which tables: the text itself is longer than a line. */
export function statementNameOf(query: string): string {
  const flat = query.replace(/\s+/g, ' ').trim();
  const verbs =
    flat.match(/\b(?:INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN) (?!r\b|jsonb|\()\w+/g) ?? [];
  const summary = [...new Set(verbs)].join(', ');
  return (summary === '' ? flat : summary).slice(0, nameLengthMax);
}
