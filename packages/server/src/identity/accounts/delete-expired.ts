// Deletes expired email links, passkey challenges and old sign-in records.
import { type Database, dayMs, isoTime } from '../../platform/index.ts';

/** PCI DSS 10.5.1 requires one year; one month more gives a yearly audit a full year. */
export const signInRecordRetentionMs = 396 * dayMs;
/** Used and expired links count for the hourly limit, and support can look them up. */
const linkRetentionMs = 7 * dayMs;

type ExpiredRow = { organization_id: string; key: string };

/** Each table: its key next to the organisation, the key as text and back, and the column with its age. */
const expiringTables = [
  {
    name: 'user_links',
    keyColumn: 'link_hash',
    keyAsText: "encode(link_hash, 'hex')",
    keyFromText: "decode(r.key, 'hex')",
    ageColumn: 'expires_at',
    retentionMs: linkRetentionMs,
  },
  {
    name: 'user_challenges',
    keyColumn: 'challenge_hash',
    keyAsText: "encode(challenge_hash, 'hex')",
    keyFromText: "decode(r.key, 'hex')",
    ageColumn: 'expires_at',
    retentionMs: 0,
  },
  {
    name: 'sign_in_records',
    keyColumn: 'record_id',
    keyAsText: 'record_id::text',
    keyFromText: 'r.key::uuid',
    ageColumn: 'at',
    retentionMs: signInRecordRetentionMs,
  },
] as const;

export function createExpiredDataDeletion(database: Database) {
  async function deleteFrom(
    {
      name,
      keyColumn: key,
      keyAsText,
      keyFromText,
      ageColumn: age,
      retentionMs,
    }: (typeof expiringTables)[number],
    now: number,
    limit: number,
  ): Promise<number> {
    const rows = await database.query<ExpiredRow>(
      `SELECT organization_id, ${keyAsText} AS key FROM ${name}
       WHERE ${age} < $1 ORDER BY ${age} LIMIT $2`,
      [isoTime(now - retentionMs), limit],
    );
    const rowsByOrganization = Map.groupBy(rows, (row) => row.organization_id);
    for (const [organizationId, expired] of rowsByOrganization) {
      await database.query(
        `DELETE FROM ${name} AS t USING jsonb_to_recordset($2::jsonb) AS r(key text)
         WHERE t.organization_id = $1 AND t.${key} = ${keyFromText}`,
        [organizationId, JSON.stringify(expired)],
      );
    }
    // Another process may delete the same rows, and there may be more expired rows.
    return rows.length;
  }

  return async (now: number, limit: number): Promise<number> => {
    const counts = await Promise.all(expiringTables.map((table) => deleteFrom(table, now, limit)));
    return Math.max(...counts);
  };
}
