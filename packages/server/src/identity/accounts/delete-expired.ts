// Deletes what accounts no longer need: dead links and challenges, and records older than a year.
import { type Database, isoTime } from '../../platform/index.ts';

const dayMs = 86_400_000;
/** PCI DSS 10.5.1 wants a year; a month more, so that a yearly audit sees a whole one. */
export const recordsKeptMs = 396 * dayMs;
/** Used and expired links count for the limit of an hour, and answer questions for a while. */
const linksKeptMs = 7 * dayMs;

type Row = { organization_id: string; key: string };

/** The table, its key beside the organisation, that key as text and back, and the column of its age. */
const tables = [
  {
    name: 'user_links',
    key: 'link_hash',
    shown: "encode(link_hash, 'hex')",
    read: "decode(r.key, 'hex')",
    age: 'expires_at',
    keptMs: linksKeptMs,
  },
  {
    name: 'user_challenges',
    key: 'challenge_hash',
    shown: "encode(challenge_hash, 'hex')",
    read: "decode(r.key, 'hex')",
    age: 'expires_at',
    keptMs: 0,
  },
  {
    name: 'sign_in_records',
    key: 'record_id',
    shown: 'record_id::text',
    read: 'r.key::uuid',
    age: 'at',
    keptMs: recordsKeptMs,
  },
] as const;

export function createExpired(database: Database) {
  async function deleteFrom(
    { name, key, shown, read, age, keptMs }: (typeof tables)[number],
    at: number,
    limit: number,
  ): Promise<number> {
    const rows = await database.query<Row>(
      `SELECT organization_id, ${shown} AS key FROM ${name}
       WHERE ${age} < $1 ORDER BY ${age} LIMIT $2`,
      [isoTime(at - keptMs), limit],
    );
    const tenants = Map.groupBy(rows, (row) => row.organization_id);
    for (const [organizationId, expired] of tenants) {
      await database.query(
        `DELETE FROM ${name} AS t USING jsonb_to_recordset($2::jsonb) AS r(key text)
         WHERE t.organization_id = $1 AND t.${key} = ${read}`,
        [organizationId, JSON.stringify(expired)],
      );
    }
    // Another process may delete the same ones, and more may be behind them.
    return rows.length;
  }

  return async (at: number, limit: number): Promise<number> => {
    const counts = await Promise.all(tables.map((table) => deleteFrom(table, at, limit)));
    return Math.max(...counts);
  };
}
