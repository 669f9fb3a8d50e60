// SQL for settlements: last day first, by primary key or by the index of the merchant.
import { isoTime, type Queries } from '../../platform/index.ts';
import type { SettlementKey } from './settlement-id.ts';

export type SettlementRow = SettlementKey & {
  readonly captures: number;
  readonly captured: bigint;
  readonly refunds: number;
  readonly refunded: bigint;
  readonly reversals: number;
  readonly reversed: bigint;
  readonly pendingCaptures: number;
  readonly pending: bigint;
  readonly updatedAt: string;
};

export type SettlementFilter = {
  readonly organizationId: string;
  readonly merchantId: string | undefined;
  readonly acquirerLinkId: string | undefined;
  readonly currency: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
};

const columns = `settlement_date::text AS day, link_id AS "acquirerLinkId", merchant_id AS "merchantId", currency,
    captures, captured::text, refunds, refunded::text, reversals, reversed::text,
    pending_captures AS "pendingCaptures", pending::text, updated_at AS "updatedAt"`;

type Row = SettlementKey & {
  captures: number;
  captured: string;
  refunds: number;
  refunded: string;
  reversals: number;
  reversed: string;
  pendingCaptures: number;
  pending: string;
  updatedAt: Date;
};

const toSettlementRow = (row: Row): SettlementRow => ({
  ...row,
  captured: BigInt(row.captured),
  refunded: BigInt(row.refunded),
  reversed: BigInt(row.reversed),
  pending: BigInt(row.pending),
  updatedAt: isoTime(row.updatedAt.getTime()),
});

/** The index by merchant is partial, and its condition `captures >= 0` is true for every row. */
export const listSettlementsSql = (
  hasMerchant: boolean,
) => `SELECT ${columns} FROM report_settlements
  WHERE organization_id = $1 AND ${hasMerchant ? 'merchant_id = $2 AND captures >= 0' : '$2::uuid IS NULL'}
    AND settlement_date >= $3::date AND settlement_date <= $4::date
    AND ($5::uuid IS NULL OR link_id = $5) AND ($6::text IS NULL OR currency = $6)
    AND ($7::date IS NULL
      OR (settlement_date, link_id, merchant_id, currency) < ($7::date, $8::uuid, $9::uuid, $10::text))
  ORDER BY settlement_date DESC, link_id DESC, merchant_id DESC, currency DESC LIMIT $11`;

const firstDay = '1970-01-01';
const lastDay = '9999-12-31';

export async function listSettlements(
  queries: Queries,
  filter: SettlementFilter,
  { after, limit }: { after: SettlementKey | undefined; limit: number },
): Promise<SettlementRow[]> {
  // PostgreSQL has no year 0, and no settlement exists before 1970.
  const from = filter.from === undefined || filter.from < firstDay ? firstDay : filter.from;
  const to = filter.to ?? lastDay;
  if (to < firstDay) return [];
  const rows = await queries.query<Row>(listSettlementsSql(filter.merchantId !== undefined), [
    filter.organizationId,
    filter.merchantId ?? null,
    // A page continues at the last day of the previous page; later days need no read.
    from,
    after !== undefined && after.day < to ? after.day : to,
    filter.acquirerLinkId ?? null,
    filter.currency ?? null,
    after?.day ?? null,
    after?.acquirerLinkId ?? null,
    after?.merchantId ?? null,
    after?.currency ?? null,
    limit,
  ]);
  return rows.map(toSettlementRow);
}

export const findSettlementSql = `SELECT ${columns} FROM report_settlements WHERE organization_id = $1
  AND settlement_date = $2 AND link_id = $3 AND merchant_id = $4 AND currency = $5`;

export async function findSettlement(
  queries: Queries,
  organizationId: string,
  { day, acquirerLinkId, merchantId, currency }: SettlementKey,
): Promise<SettlementRow | undefined> {
  const values = [organizationId, day, acquirerLinkId, merchantId, currency];
  const [row] = await queries.query<Row>(findSettlementSql, values);
  return row === undefined ? undefined : toSettlementRow(row);
}

export type SettlementFilePart = { fileId: string; lines: number; amount: string };

export const settlementFilesSql = `SELECT file_id AS "fileId", lines, amount::text FROM report_settlement_files
  WHERE organization_id = $1 AND settlement_date = $2 AND link_id = $3 AND merchant_id = $4
    AND currency = $5 ORDER BY file_id LIMIT $6`;

export const listSettlementFiles = (
  queries: Queries,
  organizationId: string,
  { day, acquirerLinkId, merchantId, currency }: SettlementKey,
  limit: number,
): Promise<SettlementFilePart[]> =>
  queries.query<SettlementFilePart>(settlementFilesSql, [
    organizationId,
    day,
    acquirerLinkId,
    merchantId,
    currency,
    limit,
  ]);
