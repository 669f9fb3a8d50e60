// Queries of the reporting module. They also run in processes without vault keys.
import type { ClearingFile } from '@switchyard/contract';
import { referenceClearingFormat } from '../acquiring/index.ts';
import {
  allBuckets,
  bucketOf,
  bucketSql,
  encodeSimpleArray,
  isUuid,
  nilUuid,
  type Queries,
  queryByShard,
} from '../platform/index.ts';
import { type ClearingFileRow, findFilesSql } from './clearing/clearing-sql.ts';
import {
  type TransactionResultRow,
  toTransactionRecord,
  transactionSelectList,
} from './repository/transaction-sql.ts';
import type { TransactionRecord } from './transaction/transaction.ts';

export { viewWithEvents as viewTransactionWithEvents } from './http/transaction-view.ts';

/** One index look-up for each transaction, so the cost does not depend on the size of the tables. */
export const selectTransactionsText = `SELECT ${transactionSelectList} FROM unnest($2::uuid[]) AS r(transaction_id)
  CROSS JOIN LATERAL (SELECT * FROM transactions WHERE bucket = ${bucketSql('r.transaction_id')} /* one shard: transactions */
    AND transaction_id = r.transaction_id AND organization_id = $1 LIMIT 1) t`;

/** In no order. Unknown identifiers are left out. */
export async function readTransactions(
  queries: Queries,
  organizationId: string,
  transactionIds: readonly string[],
): Promise<TransactionRecord[]> {
  if (transactionIds.length === 0) return [];
  const rows = await queryByShard(queries, { rows: transactionIds, bucketOf }, (ids, buckets) => {
    const values = [organizationId, encodeSimpleArray(ids)];
    return queries.query<TransactionResultRow>(selectTransactionsText, values, buckets);
  });
  return rows.map(toTransactionRecord);
}

const merchantBucketsText = `SELECT DISTINCT ${bucketSql('merchant_id')} AS bucket FROM merchants
  WHERE organization_id = $1 AND ${bucketSql('merchant_id')} >= $2 ORDER BY bucket`;
export const listTransactionIdsText = `SELECT transaction_id AS id FROM transactions
  WHERE bucket = $1 AND organization_id = $2 AND transaction_id > $3 ORDER BY transaction_id LIMIT $4`;

/**
 * The identifiers behind `after`, bucket by bucket, each in the order of time. Reads only the buckets of the
 * organisation's merchants, so that transactions of other organisations are not scanned.
 */
export async function listTransactionIds(
  queries: Queries,
  organizationId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const start = bucketOf(after);
  const buckets = await queries.query<{ bucket: number }>(merchantBucketsText, [
    organizationId,
    start,
  ]);
  const ids: string[] = [];
  for (const { bucket } of buckets) {
    const values = [bucket, organizationId, bucket === start ? after : nilUuid, limit - ids.length];
    const rows = await queries.query<{ id: string }>(listTransactionIdsText, values);
    for (const { id } of rows) ids.push(id);
    if (ids.length === limit) break;
  }
  return ids;
}

const listClearingFileIdsText = `SELECT file_id AS id FROM clearing_files
  WHERE organization_id = $1 AND file_id > $2 ORDER BY file_id LIMIT $3`;

/** Identifiers greater than `after`, in the order of time. */
export async function listClearingFileIds(
  queries: Queries,
  organizationId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const values = [organizationId, after, limit];
  return (await queries.query<{ id: string }>(listClearingFileIdsText, values)).map(({ id }) => id);
}

const maxMatches = 20;

/** By the client's or the server's identifier. $3 is null if the text cannot be one of the server. */
const findByIdentifierText = `(SELECT transaction_id AS "paymentId", created_at AS "createdAt" FROM transactions
    WHERE bucket = ANY ('${allBuckets}'::smallint[]) AND client_transaction_id = $2 AND organization_id = $1
    LIMIT ${maxMatches})
  UNION ALL
  (SELECT transaction_id, created_at FROM transactions
    WHERE bucket = ${bucketSql('$3::uuid')} AND transaction_id = $3 AND organization_id = $1)`;

/** A client's identifier may exist once for each merchant. */
export async function findTransactionsByIdentifier(
  queries: Queries,
  organizationId: string,
  identifier: string,
): Promise<{ paymentId: string; createdAt: string }[]> {
  const id = isUuid(identifier) ? identifier.toLowerCase() : null;
  type Row = { paymentId: string; createdAt: Date };
  const rows = await queries.query<Row>(findByIdentifierText, [organizationId, identifier, id]);
  return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }));
}

type ClearingTotal = {
  linkId: string;
  settlementDate: string;
  merchantId: string;
  currency: string;
  lines: number;
  amount: string;
};

const clearingTotalsText = `SELECT l.link_id AS "linkId", l.settlement_date::text AS "settlementDate",
    t.merchant_id AS "merchantId", l.currency, count(*)::int AS lines, sum(l.amount)::text AS amount
  FROM clearing_lines l JOIN transactions t ON t.bucket = l.bucket AND t.transaction_id = l.transaction_id
  WHERE l.organization_id = $1 AND l.file_id = $2
  GROUP BY l.link_id, l.settlement_date, t.merchant_id, l.currency`;

/** Sums of a clearing file by merchant, day and currency. Empty for a rejected file. */
export const readClearingTotals = (
  queries: Queries,
  organizationId: string,
  fileId: string,
): Promise<ClearingTotal[]> =>
  queries.query<ClearingTotal>(clearingTotalsText, [organizationId, fileId]);

export async function readClearingFiles(
  queries: Queries,
  organizationId: string,
  fileIds: readonly string[],
): Promise<Pick<ClearingFile, 'clearingFileId' | 'fileName' | 'state'>[]> {
  const rows = await queries.query<ClearingFileRow>(findFilesSql, [
    organizationId,
    encodeSimpleArray(fileIds),
  ]);
  return rows.map((row) => {
    const { fileId: clearingFileId, state } = row;
    return { clearingFileId, fileName: referenceClearingFormat.fileName(row), state };
  });
}
