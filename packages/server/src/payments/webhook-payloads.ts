// Webhook payloads of transactions, batches and clearing files: identifiers, amounts and response, never card data.
import { defined } from '@switchyard/contract';
import {
  bucketOf,
  bucketSql,
  encodeSimpleArray,
  type OutboxEventData,
  type OutboxEventMapper,
  type OutboxRow,
  queryByShard,
} from '../platform/index.ts';
import type { RecentTransactions } from './repository/transaction-repository.ts';
import { summarizeResponse } from './transaction/terminal-action.ts';
import type { EventData, TransactionRow } from './transaction/transaction.ts';

/**
 * One index look-up for each row, so the cost does not depend on the size of the tables. One text instead of
 * six columns: the driver parses each column separately.
 */
const selectEventDataText = `SELECT r.outbox_id AS "outboxId", r.transaction_id AS "subjectId", e.data, json_strip_nulls(json_build_object(
    'merchantId', t.merchant_id, 'storeId', t.store_id, 'deviceId', t.device_id, 'amount', t.amount,
    'currency', t.currency, 'clientTransactionId', t.client_transaction_id)) AS sale
  FROM unnest($1::smallint[], $2::uuid[], $3::int[], $4::uuid[])
    AS r(bucket, transaction_id, sequence, outbox_id)
  CROSS JOIN LATERAL (SELECT merchant_id, client_transaction_id, store_id, device_id, amount, currency
    FROM transactions WHERE bucket = r.bucket /* one shard: transactions */
      AND transaction_id = r.transaction_id LIMIT 1) t
  CROSS JOIN LATERAL (SELECT data FROM transaction_events WHERE bucket = r.bucket /* one shard: transaction_events */
    AND transaction_id = r.transaction_id AND sequence = r.sequence LIMIT 1) e`;

type SaleMembers = Pick<
  TransactionRow,
  'merchantId' | 'storeId' | 'deviceId' | 'amount' | 'currency' | 'clientTransactionId'
>;

function createEventFacts(
  event: EventData,
  sale: SaleMembers,
  transactionId: string,
): OutboxEventData {
  const { merchantId, storeId, deviceId, amount: saleAmount, currency, clientTransactionId } = sale;
  const { state, amount, operation, authorizationCode, confirmBy, settlementDate } = event;
  const { missing, reason, response } = event;
  const data = defined({
    storeId,
    deviceId,
    transactionId,
    clientTransactionId,
    state,
    saleAmount,
    currency,
    amount,
    operation,
    authorizationCode,
    confirmBy,
    settlementDate,
    missing,
    reason,
    response:
      response &&
      summarizeResponse(
        { ...defined({ reason }), ...response },
        { contactless: false, zeroAmount: saleAmount === 0 },
      ),
  });
  return { merchantId, data, ...defined({ traceparent: event.traceparent }) };
}

const bySubject = (rows: readonly OutboxRow[]) => ({
  rows,
  bucketOf: ({ subjectId }: OutboxRow) => bucketOf(subjectId),
});

type RecentLookup = Pick<RecentTransactions, 'find'>;

const createEventReader =
  (recent: RecentLookup | undefined): OutboxEventMapper['read'] =>
  async (rows, trx) => {
    const facts = new Map<string, OutboxEventData>();
    const missing: OutboxRow[] = [];
    for (const row of rows) {
      const { outboxId, organizationId, subjectId, sequence } = row;
      const transaction = recent?.find(organizationId, subjectId, sequence);
      const event = transaction?.events[sequence - 1];
      if (transaction === undefined || event?.sequence !== sequence) missing.push(row);
      else facts.set(outboxId, createEventFacts(event.data, transaction.row, subjectId));
    }
    if (missing.length === 0) return facts;
    type EventDataRow = { outboxId: string; subjectId: string; data: EventData; sale: SaleMembers };
    const eventRows = await queryByShard(trx, bySubject(missing), (ofShard, buckets) => {
      const values = [
        encodeSimpleArray(ofShard.map((row) => bucketOf(row.subjectId))),
        encodeSimpleArray(ofShard.map((row) => row.subjectId)),
        encodeSimpleArray(ofShard.map((row) => row.sequence)),
        encodeSimpleArray(ofShard.map((row) => row.outboxId)),
      ];
      return trx.query<EventDataRow>(selectEventDataText, values, buckets);
    });
    for (const { outboxId, subjectId, data, sale } of eventRows)
      facts.set(outboxId, createEventFacts(data, sale, subjectId));
    return facts;
  };

/**
 * Events whose payload is read from one row.
 *
 * @param source table with the column organization_id; `key` is the condition of its key for the row `r`
 * @param members arguments of json_build_object; a member that is NULL is left out
 */
const createRowEvents = (
  prefix: string,
  source: { table: string; key: string; merchantId: string; members: string },
): OutboxEventMapper => ({
  prefix,
  async read(rows, trx) {
    const text = `SELECT r.outbox_id AS "outboxId", t.merchant_id AS "merchantId", t.data
      FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, outbox_id, id)
      CROSS JOIN LATERAL (SELECT ${source.merchantId} AS merchant_id,
          json_strip_nulls(json_build_object(${source.members})) AS data FROM ${source.table}
        WHERE organization_id = r.organization_id AND ${source.key} LIMIT 1) t`;
    type EventRow = OutboxEventData & { outboxId: string };
    const eventRows = await queryByShard(trx, bySubject(rows), (ofShard, buckets) => {
      const values = [
        encodeSimpleArray(ofShard.map((row) => row.organizationId)),
        encodeSimpleArray(ofShard.map((row) => row.outboxId)),
        encodeSimpleArray(ofShard.map((row) => row.subjectId)),
      ];
      return trx.query<EventRow>(text, values, buckets);
    });
    return new Map(eventRows.map(({ outboxId, ...facts }) => [outboxId, facts]));
  },
});

/** A batch without an identifier of the client stores its own there. */
const batchEvents = createRowEvents('batch.', {
  table: 'capture_batches',
  key: `bucket = ${bucketSql('r.id')} /* one shard: capture_batches */ AND batch_id = r.id`,
  merchantId: 'merchant_id',
  members: `'batchId', batch_id, 'total', total, 'succeeded', succeeded, 'failed', failed, 'filed', filed,
    'clientOperationId', nullif(client_operation_id, batch_id::text)`,
});

const clearingEvents = createRowEvents('clearing.', {
  table: 'clearing_files',
  key: 'file_id = r.id',
  merchantId: 'NULL',
  members: `'fileId', file_id, 'acquirerLinkId', link_id, 'number', sequence, 'lineCount', line_count,
    'amounts', amounts, 'accepted', accepted, 'rejected', rejected, 'reason', reason`,
});

/** Also for processes without vault keys. `recent` has the transactions that this process has committed. */
export function paymentEvents(recent?: RecentLookup): readonly OutboxEventMapper[] {
  const read = createEventReader(recent);
  return [
    { prefix: 'transaction.', read },
    { prefix: 'offline.', read },
    batchEvents,
    clearingEvents,
  ];
}
