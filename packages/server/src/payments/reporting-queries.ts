// Queries of the reporting module. They also run in processes without vault keys.
import type { TransactionWithEvents } from '@switchyard/contract';
import { referenceClearingFormat } from '../acquiring/index.ts';
import { isoTime, plainArray } from '../platform/index.ts';
import { viewWithEvents } from './http/transaction-view.ts';
import {
  type TransactionResultRow,
  toTransactionRecord,
  transactionSelectList,
} from './repository/transaction-mapper.ts';
import { isUuid } from './runtime/find-transaction.ts';
import type { TransactionRecord } from './transaction/transaction.ts';

/** One statement, inside a transaction or not. */
export type RunQuery = <Of extends object>(
  text: string,
  values: readonly unknown[],
) => Promise<Of[]>;

/** One look-up by key for each: what a batch costs does not depend on how full the tables are. */
export const selectTransactionsText = `SELECT ${transactionSelectList} FROM unnest($2::uuid[]) AS r(transaction_id)
  CROSS JOIN LATERAL (SELECT * FROM transactions WHERE organization_id = $1
    AND transaction_id = r.transaction_id LIMIT 1) t`;

/** In no order; what is not there is left out. */
export async function readTransactions(
  run: RunQuery,
  organizationId: string,
  transactionIds: readonly string[],
): Promise<TransactionRecord[]> {
  if (transactionIds.length === 0) return [];
  const values = [organizationId, plainArray(transactionIds)];
  return (await run<TransactionResultRow>(selectTransactionsText, values)).map(toTransactionRecord);
}

export const listTransactionIdsText = `SELECT transaction_id FROM transactions
  WHERE organization_id = $1 AND transaction_id > $2 ORDER BY transaction_id LIMIT $3`;

/** Identifiers in their order, which is that of time, behind one of them. */
export async function listTransactionIds(
  run: RunQuery,
  organizationId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await run<{ transaction_id: string }>(listTransactionIdsText, [
    organizationId,
    after,
    limit,
  ]);
  return rows.map((row) => row.transaction_id);
}

const maxMatches = 20;

/** By the client's name or by ours; $3 is null where the name cannot be one of ours. */
export const findByIdentifierText = `(SELECT transaction_id, created_at FROM transactions
    WHERE organization_id = $1 AND client_transaction_id = $2 LIMIT ${maxMatches})
  UNION ALL
  (SELECT transaction_id, created_at FROM transactions
    WHERE organization_id = $1 AND transaction_id = $3)`;

export type TransactionReference = { readonly paymentId: string; readonly createdAt: string };

/** Those that a name may mean: the client has given one at most for each merchant, and we one at most. */
export async function findTransactionsByIdentifier(
  run: RunQuery,
  organizationId: string,
  identifier: string,
): Promise<TransactionReference[]> {
  const id = isUuid(identifier) ? identifier.toLowerCase() : null;
  const values = [organizationId, identifier, id];
  type Row = { transaction_id: string; created_at: Date };
  const rows = await run<Row>(findByIdentifierText, values);
  return rows.map((row) => ({
    paymentId: row.transaction_id,
    createdAt: isoTime(row.created_at.getTime()),
  }));
}

export const viewTransactionWithEvents = (transaction: TransactionRecord): TransactionWithEvents =>
  viewWithEvents(transaction);

/** Lines of a clearing file that are settled together. */
export type ClearingTotal = {
  linkId: string;
  settlementDate: string;
  merchantId: string;
  currency: string;
  lines: number;
  amount: string;
};

const clearingTotalsText = `SELECT l.link_id AS "linkId", l.settlement_date::text AS "settlementDate",
    t.merchant_id AS "merchantId", l.currency, count(*)::int AS lines, sum(l.amount)::text AS amount
  FROM clearing_lines l JOIN transactions t ON t.organization_id = l.organization_id
    AND t.transaction_id = l.transaction_id
  WHERE l.organization_id = $1 AND l.file_id = $2
  GROUP BY l.link_id, l.settlement_date, t.merchant_id, l.currency`;

/** What a clearing file holds, by merchant, day and currency; nothing where it was refused. */
export const readClearingTotals = (
  run: RunQuery,
  organizationId: string,
  fileId: string,
): Promise<ClearingTotal[]> => run<ClearingTotal>(clearingTotalsText, [organizationId, fileId]);

export type ClearingFileSummary = {
  clearingFileId: string;
  fileName: string;
  state: 'Made' | 'Acknowledged' | 'Settled' | 'Rejected';
};

type ClearingFileRow = {
  file_id: string;
  link_id: string;
  institution_id: string;
  sequence: number;
  state: ClearingFileSummary['state'];
  created_at: Date;
};

const selectClearingFilesText = `SELECT file_id, link_id, institution_id, sequence, state, created_at
  FROM clearing_files WHERE organization_id = $1 AND file_id = ANY($2::uuid[])`;

export async function readClearingFiles(
  run: RunQuery,
  organizationId: string,
  fileIds: readonly string[],
): Promise<ClearingFileSummary[]> {
  const rows = await run<ClearingFileRow>(selectClearingFilesText, [
    organizationId,
    plainArray(fileIds),
  ]);
  return rows.map((row) => ({
    clearingFileId: row.file_id,
    fileName: referenceClearingFormat.fileName({
      fileId: row.file_id,
      linkId: row.link_id,
      institutionId: row.institution_id,
      sequence: row.sequence,
      createdAt: row.created_at.toISOString(),
    }),
    state: row.state,
  }));
}

const listClearingFileIdsText = `SELECT file_id FROM clearing_files
  WHERE organization_id = $1 AND file_id > $2 ORDER BY file_id LIMIT $3`;

export async function listClearingFileIds(
  run: RunQuery,
  organizationId: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await run<{ file_id: string }>(listClearingFileIdsText, [
    organizationId,
    after,
    limit,
  ]);
  return rows.map((row) => row.file_id);
}
