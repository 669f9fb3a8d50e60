// The SQL that writes reports: one organisation at a time, under the row that says how far they are.
import { nil, type RunQuery } from '../run.ts';

/** `Wiping` begins a walk anew; with the walk over it is `Following`. */
export type Stage = 'Wiping' | 'Cards' | 'Qr' | 'Files' | 'Following';
/** `swept` is up to where the feed was forgotten. */
export type Position = {
  position: number;
  stage: Stage;
  place: string;
  swept: number;
  /** The last position of the feed, which may have no event. */
  head: number;
};
/** `isForeign` where a version before this one was the last that wrote: it knew fewer sums. */
export type HeldPosition = Position & { isForeign: boolean };

/** Where the feed of an organisation is now, all that was before is left to the walk. */
export const beginText = `INSERT INTO report_positions (organization_id, position, as_of, stage, place, written_as_of)
  SELECT $1, coalesce((SELECT position FROM feed_heads WHERE organization_id = $1), 0), $2::timestamptz,
    'Cards', '${nil}', $2::timestamptz
  ON CONFLICT (organization_id) DO NOTHING`;

/** Nothing where another process has it now. */
export const holdText = `SELECT p.position, p.stage, coalesce(p.place, '${nil}') AS place,
    p.written_as_of IS DISTINCT FROM p.as_of AS "isForeign", coalesce(h.swept, 0) AS swept,
    coalesce(h.position, 0) AS head
  FROM report_positions p LEFT JOIN feed_heads h ON h.organization_id = p.organization_id
  WHERE p.organization_id = $1 FOR UPDATE OF p SKIP LOCKED`;

const reachedAt = "CASE WHEN $4::text = 'Following' THEN $3::timestamptz ELSE as_of END";

/** While a walk is under way nobody is told that reports are of now. */
export const moveText = `UPDATE report_positions SET position = $2, as_of = ${reachedAt},
    written_as_of = ${reachedAt}, stage = $4, place = $5
  WHERE organization_id = $1`;

/** Whether all payments are in the reports, but for the last ones. */
export const wholeText = `SELECT stage = 'Following' AND written_as_of IS NOT DISTINCT FROM as_of AS "isWhole"
  FROM report_positions WHERE organization_id = $1`;

/** What has happened to whom behind a position; never the bodies. */
export const newsText = `SELECT position, type, subject_id AS "subjectId", sequence, created_at AS "createdAt"
  FROM feed_events WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT $3`;

export type News = {
  position: number;
  type: string;
  subjectId: string;
  sequence: number;
  createdAt: Date;
};

/** Organisations with something to do, behind one of them, and since when it waits. */
export const behindText = `SELECT h.organization_id AS "organizationId", p.position IS NULL AS "isNew",
    coalesce((SELECT e.created_at FROM feed_events e WHERE e.organization_id = h.organization_id
      AND e.position > coalesce(p.position, 0) ORDER BY e.position LIMIT 1), p.as_of) AS since
  FROM feed_heads h LEFT JOIN report_positions p ON p.organization_id = h.organization_id
  WHERE h.organization_id > $1
    AND (p.position IS NULL OR p.position < h.position OR p.stage <> 'Following'
      OR p.written_as_of IS DISTINCT FROM p.as_of)
  ORDER BY h.organization_id LIMIT $2`;

/** In the order of the key: whoever else writes them comes the same way. */
export const countText = `UPDATE report_classes c SET payments = c.payments + r.delta
  FROM unnest($2::integer[], $3::bigint[]) AS r(class_id, delta)
  WHERE c.organization_id = $1 AND c.class_id = r.class_id`;

export type SettlementKey = {
  readonly date: string;
  readonly linkId: string;
  readonly merchantId: string;
  readonly currency: string;
};

/** By name of the column. */
export type SettlementSums = SettlementKey & { readonly sums: Map<string, bigint> };

export const settlementColumns = [
  'captures',
  'captured',
  'refunds',
  'refunded',
  'reversals',
  'reversed',
  'pending_captures',
  'pending',
] as const;

export const settleText = `INSERT INTO report_settlements AS s (organization_id, settlement_date, link_id,
    merchant_id, currency, ${settlementColumns.join(', ')}, updated_at)
  SELECT $1, r.date, r."linkId", r."merchantId", r.currency,
    ${settlementColumns.map((name) => `r.${name}`).join(', ')}, $3
  FROM jsonb_to_recordset($2::jsonb) AS r(date date, "linkId" uuid, "merchantId" uuid, currency text,
    ${settlementColumns.map((name) => `${name} bigint`).join(', ')})
  ON CONFLICT (organization_id, settlement_date, link_id, merchant_id, currency)
  DO UPDATE SET ${settlementColumns.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')},
    updated_at = excluded.updated_at`;

export async function writeSettlements(
  run: RunQuery,
  organizationId: string,
  all: readonly SettlementSums[],
  at: string,
): Promise<void> {
  const rows = all.map(({ sums, ...key }) => ({
    ...key,
    ...Object.fromEntries(settlementColumns.map((name) => [name, String(sums.get(name) ?? 0n)])),
  }));
  await run(settleText, [organizationId, JSON.stringify(rows), at]);
}

/** A file once told is told again the same: what was refused has given its lines back, and keeps what it held. */
export const filesText = `INSERT INTO report_settlement_files (organization_id, settlement_date, link_id,
    merchant_id, currency, file_id, lines, amount)
  SELECT $1, r."settlementDate", r."linkId", r."merchantId", r.currency, r."fileId", r.lines, r.amount
  FROM jsonb_to_recordset($2::jsonb) AS r("settlementDate" date, "linkId" uuid, "merchantId" uuid,
    currency text, "fileId" uuid, lines bigint, amount bigint)
  ON CONFLICT (organization_id, settlement_date, link_id, merchant_id, currency, file_id) DO NOTHING`;

const wipedAtOnce = 5000;

/** The dictionaries stay: processes remember them. */
const wipedTables = [
  ['report_payments', 'created_at, payment_id'],
  ['report_cells', 'level, day, merchant_id, store_id, device_id, group_id'],
  ['report_settlements', 'settlement_date, link_id, merchant_id, currency'],
  ['report_settlement_files', 'settlement_date, link_id, merchant_id, currency, file_id'],
  ['report_movements', 'link_id, settlement_date, payment_id, number'],
] as const;

/** Deletes a part of the reports of an organisation; false once nothing is left. */
export async function wipePart(run: RunQuery, organizationId: string): Promise<boolean> {
  for (const [table, key] of wipedTables) {
    const [row] = await run<{ count: number }>(
      `WITH gone AS (DELETE FROM ${table} WHERE organization_id = $1 AND (${key}) IN (
         SELECT ${key} FROM ${table} WHERE organization_id = $1 ORDER BY ${key} LIMIT ${wipedAtOnce})
         RETURNING 1)
       SELECT count(*)::int AS count FROM gone`,
      [organizationId],
    );
    if ((row?.count ?? 0) > 0) return true;
  }
  await run('UPDATE report_classes SET payments = 0 WHERE organization_id = $1', [organizationId]);
  return false;
}
