// SQL that updates reports, one organisation at a time, with a lock on the row of its position.
import { nilUuid, type Queries } from '../../platform/index.ts';

/** `Wiping` starts a new run over all payments; after the run the stage is `Following`. */
export type ProjectionStage = 'Wiping' | 'Cards' | 'Qr' | 'Files' | 'Following';
/** `swept` is the position up to which feed events were deleted. */
export type ProjectionPosition = {
  position: number;
  stage: ProjectionStage;
  place: string;
  swept: number;
  /** The last position of the feed, which may have no event. */
  head: number;
};
/** `isForeign` is true if an older version wrote last, which did not compute all sums. */
export type LockedPosition = ProjectionPosition & { isForeign: boolean };

/** Starts at the current position of the feed; the run reads all earlier payments. */
export const insertPositionSql = `INSERT INTO report_positions (organization_id, position, as_of, stage, place, written_as_of)
  SELECT $1, coalesce((SELECT position FROM feed_heads WHERE organization_id = $1), 0), $2::timestamptz,
    'Cards', '${nilUuid}', $2::timestamptz
  ON CONFLICT (organization_id) DO NOTHING`;

/** Returns no row while another process holds the lock. */
export const lockPositionSql = `SELECT p.position, p.stage, coalesce(p.place, '${nilUuid}') AS place,
    p.written_as_of IS DISTINCT FROM p.as_of AS "isForeign", coalesce(h.swept, 0) AS swept,
    coalesce(h.position, 0) AS head
  FROM report_positions p LEFT JOIN feed_heads h ON h.organization_id = p.organization_id
  WHERE p.organization_id = $1 FOR UPDATE OF p SKIP LOCKED`;

const reachedAtSql = "CASE WHEN $4::text = 'Following' THEN $3::timestamptz ELSE as_of END";

/** During a run `as_of` does not advance, because the reports are not complete. */
export const updatePositionSql = `UPDATE report_positions SET position = $2, as_of = ${reachedAtSql},
    written_as_of = ${reachedAtSql}, stage = $4, place = $5
  WHERE organization_id = $1`;

/** True if the reports contain all payments except the latest ones. */
export const isCompleteSql = `SELECT stage = 'Following' AND written_as_of IS NOT DISTINCT FROM as_of AS "isWhole"
  FROM report_positions WHERE organization_id = $1`;

/** The events after a position, without their bodies. */
export const feedEventsSql = `SELECT position, type, subject_id AS "subjectId", sequence, created_at AS "createdAt"
  FROM feed_events WHERE organization_id = $1 AND position > $2 ORDER BY position LIMIT $3`;

export type FeedEvent = {
  position: number;
  type: string;
  subjectId: string;
  sequence: number;
  createdAt: Date;
};

/**
 * Organisations with unread events after a given organisation, and the time of the oldest event.
 */
export const organizationsBehindSql = `SELECT h.organization_id AS "organizationId", p.position IS NULL AS "isNew",
    coalesce((SELECT e.created_at FROM feed_events e WHERE e.organization_id = h.organization_id
      AND e.position > coalesce(p.position, 0) ORDER BY e.position LIMIT 1), p.as_of) AS since
  FROM feed_heads h LEFT JOIN report_positions p ON p.organization_id = h.organization_id
  WHERE h.organization_id > $1
    AND (p.position IS NULL OR p.position < h.position OR p.stage <> 'Following'
      OR p.written_as_of IS DISTINCT FROM p.as_of)
  ORDER BY h.organization_id LIMIT $2`;

/** Adds the changes to the number of payments in each class. */
export const updateClassCountsSql = `UPDATE report_classes c SET payments = c.payments + r.delta
  FROM unnest($2::integer[], $3::bigint[]) AS r(class_id, delta)
  WHERE c.organization_id = $1 AND c.class_id = r.class_id`;

/**
 * A class with this share of the payments: a scan by time soon finds a page of them. Small
 * organisations have no frequent class, because their shares change.
 */
export const frequentShare = 1 / 200;
const frequentPaymentsMin = 10_000;

export const markFrequentClassesSql = `UPDATE report_classes SET is_frequent = true
  WHERE organization_id = $1 AND NOT is_frequent AND payments >= ${frequentPaymentsMin}
    AND payments >= ${frequentShare} * (SELECT sum(payments) FROM report_classes WHERE organization_id = $1)
  RETURNING class_id AS "classId"`;

export type SettlementKey = {
  readonly date: string;
  readonly linkId: string;
  readonly merchantId: string;
  readonly currency: string;
};

/** The sums by column name. */
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

export const addSettlementsSql = `INSERT INTO report_settlements AS s (organization_id, settlement_date, link_id,
    merchant_id, currency, ${settlementColumns.join(', ')}, updated_at)
  SELECT $1, r.date, r."linkId", r."merchantId", r.currency,
    ${settlementColumns.map((name) => `r.${name}`).join(', ')}, $3
  FROM jsonb_to_recordset($2::jsonb) AS r(date date, "linkId" uuid, "merchantId" uuid, currency text,
    ${settlementColumns.map((name) => `${name} bigint`).join(', ')})
  ON CONFLICT (organization_id, settlement_date, link_id, merchant_id, currency)
  DO UPDATE SET ${settlementColumns.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')},
    updated_at = excluded.updated_at`;

export async function writeSettlements(
  queries: Queries,
  organizationId: string,
  settlements: readonly SettlementSums[],
  at: string,
): Promise<void> {
  const rows = settlements.map(({ sums, ...key }) => ({
    ...key,
    ...Object.fromEntries(settlementColumns.map((name) => [name, String(sums.get(name) ?? 0n)])),
  }));
  await queries.query(addSettlementsSql, [organizationId, JSON.stringify(rows), at]);
}

/** Reading a file again adds no row; a refused file keeps its recorded lines. */
export const insertSettlementFilesSql = `INSERT INTO report_settlement_files (organization_id, settlement_date, link_id,
    merchant_id, currency, file_id, lines, amount)
  SELECT $1, r."settlementDate", r."linkId", r."merchantId", r.currency, r."fileId", r.lines, r.amount
  FROM jsonb_to_recordset($2::jsonb) AS r("settlementDate" date, "linkId" uuid, "merchantId" uuid,
    currency text, "fileId" uuid, lines bigint, amount bigint)
  ON CONFLICT (organization_id, settlement_date, link_id, merchant_id, currency, file_id) DO NOTHING`;

const deletedRowsPerPart = 5000;

/** The dictionaries stay, because processes cache them. */
const reportTables = [
  ['report_payments', 'created_at, payment_id'],
  ['report_cells', 'level, day, merchant_id, store_id, device_id, group_id, hour'],
  ['report_settlements', 'settlement_date, link_id, merchant_id, currency'],
  ['report_settlement_files', 'settlement_date, link_id, merchant_id, currency, file_id'],
  ['report_movements', 'link_id, settlement_date, payment_id, number'],
] as const;

/** Deletes a part of the reports of an organisation; returns false when nothing is left. */
export async function deleteReportPart(queries: Queries, organizationId: string): Promise<boolean> {
  for (const [table, key] of reportTables) {
    const [row] = await queries.query<{ count: number }>(
      `WITH gone AS (DELETE FROM ${table} WHERE organization_id = $1 AND (${key}) IN (
         SELECT ${key} FROM ${table} WHERE organization_id = $1 ORDER BY ${key} LIMIT ${deletedRowsPerPart})
         RETURNING 1)
       SELECT count(*)::int AS count FROM gone`,
      [organizationId],
    );
    if ((row?.count ?? 0) > 0) return true;
  }
  await queries.query('UPDATE report_classes SET payments = 0 WHERE organization_id = $1', [
    organizationId,
  ]);
  return false;
}
