// SQL that writes transactions, and the JSON rows of its parameters.
import { defined } from '@switchyard/contract';
import { bucketOf, isoTime, requireSameBucket } from '../../platform/index.ts';
import { authorizationExpiresAt } from '../transaction/settlement-and-expiry.ts';
import type { StoredEvent, TransactionChange, TransactionRow } from '../transaction/transaction.ts';

const intentRecordDefinition = `bucket smallint, organization_id uuid, transaction_id uuid,
      merchant_id uuid, client_transaction_id text, store_id uuid, device_id uuid,
      contract_id uuid, phase text, amount bigint, currency text, over_capture_allowance bigint,
      allowed_ms integer, authorization_expires_at timestamptz, at timestamptz, type text, data json`;

const intents = `json_to_recordset($1::json) AS n(${intentRecordDefinition})`;

const insertTransactionsFrom = (
  source: string,
) => `INSERT INTO transactions (bucket, organization_id, transaction_id,
      merchant_id, client_transaction_id,
      store_id, device_id, contract_id, state, phase, amount, currency, over_capture_allowance, authorized,
      captured, cancelled, refunded, capture_reserved, cancel_reserved, refund_reserved, version,
      operation_count, deadline, authorization_expires_at, created_at, updated_at)
    SELECT bucket, organization_id, transaction_id, merchant_id, client_transaction_id, store_id,
      device_id, contract_id, phase, phase, amount, currency, over_capture_allowance, 0, 0, 0, 0,
      0, 0, 0, 1, 0, now() + allowed_ms * interval '1 millisecond', authorization_expires_at, at, at
    FROM ${source} ON CONFLICT (bucket, client_transaction_id, merchant_id)
      WHERE client_transaction_id IS NOT NULL DO NOTHING`;

const insertEvents =
  'INSERT INTO transaction_events AS e (bucket, organization_id, transaction_id, sequence, type, at, data)';

/**
 * A row whose identifier is taken, also by a repeated upload of an offline sale, is not inserted and not
 * returned. The scalar subquery and `IS TRUE` prevent a hash of the whole table and a nested-loop join.
 */
export const insertTransaction = {
  name: 'payments-insert-transaction',
  text: `WITH r AS MATERIALIZED (
    SELECT n.* FROM ${intents}
    WHERE (SELECT a.transaction_id FROM offline_sale_identifiers a
        WHERE a.bucket = n.bucket AND a.merchant_id = n.merchant_id
          AND a.client_transaction_id = n.client_transaction_id) IS NULL
  ), tx AS (
    ${insertTransactionsFrom('r')}
    RETURNING transaction_id
  ), ev AS (
    ${insertEvents}
    SELECT r.bucket, r.organization_id, r.transaction_id, 1, r.type, r.at, r.data
    FROM r WHERE (r.transaction_id IN (SELECT transaction_id FROM tx)) IS TRUE
  )
  SELECT transaction_id AS id FROM tx`,
  inShard: [
    insertTransactionsFrom(intents),
    // Citus refuses an INSERT that reads a table: a sale that was uploaded under another identifier is deleted again.
    `DELETE FROM transactions t USING ${intents}, offline_sale_identifiers a
    WHERE a.bucket = n.bucket /* one shard: a */ AND a.merchant_id = n.merchant_id
      AND a.client_transaction_id = n.client_transaction_id
      AND t.bucket = n.bucket /* one shard: t */ AND t.transaction_id = n.transaction_id`,
    `${insertEvents}
    SELECT t.bucket, t.organization_id, t.transaction_id, 1, n.type, n.at, n.data FROM ${intents}
    JOIN transactions t ON t.bucket = n.bucket /* one shard: t */ AND t.transaction_id = n.transaction_id
    RETURNING e.transaction_id AS id`,
  ],
};

export function toInsertRow(row: TransactionRow, event: StoredEvent): Record<string, unknown> {
  const { context } = event.data;
  const expiresAt = context && authorizationExpiresAt(row.createdAt, context);
  return {
    bucket: requireSameBucket(row.merchantId, row.transactionId),
    organization_id: row.organizationId,
    transaction_id: row.transactionId,
    merchant_id: row.merchantId,
    client_transaction_id: row.clientTransactionId,
    store_id: row.storeId,
    device_id: row.deviceId,
    contract_id: row.contractId,
    phase: row.position.phase,
    amount: row.amount,
    currency: row.currency,
    over_capture_allowance: row.overCaptureAllowance,
    allowed_ms: row.deadline - Date.parse(row.createdAt),
    authorization_expires_at: expiresAt === undefined ? undefined : isoTime(expiresAt),
    at: event.at,
    type: event.type,
    data: event.data,
  };
}

const changeRecordDefinition = `bucket smallint, organization_id uuid, transaction_id uuid, expected integer,
      state text, phase text, authorized bigint, captured bigint, cancelled bigint, refunded bigint,
      "captureReserved" bigint, "cancelReserved" bigint, "refundReserved" bigint,
      operation_count integer, at timestamptz, type text, data json, outbox_id uuid`;

const operationRecordDefinition = `${changeRecordDefinition},
      merchant_id uuid, "operationNumber" integer, "operationId" uuid, kind text, status text, amount bigint,
      "clientOperationId" text, details jsonb, allowed_ms integer, "createdAt" timestamptz,
      job_id uuid, job_kind text, payload jsonb, due_at timestamptz, queue_id uuid, clearing_link uuid,
      settlement_date date, settlement_end timestamptz, currency text, line jsonb`;

const recordsOf = (definition: string) => `json_to_recordset($1::json) AS r(${definition})`;

const matchesVersion = `t.bucket = r.bucket /* one shard: t */ AND t.transaction_id = r.transaction_id
      AND t.organization_id = r.organization_id AND t.version = r.expected`;

const updateTransactionsFrom = (
  source: string,
) => `UPDATE transactions t SET state = r.state, phase = r.phase,
      authorized = r.authorized,
      captured = r.captured, cancelled = r.cancelled, refunded = r.refunded,
      capture_reserved = r."captureReserved", cancel_reserved = r."cancelReserved",
      refund_reserved = r."refundReserved", version = r.expected + 1,
      operation_count = r.operation_count, updated_at = r.at
    FROM ${source} WHERE ${matchesVersion}`;

/**
 * The rows behind a change of transactions.
 *
 * @param from the records `r` of the changed transactions
 * @param key the alias that has their keys
 */
const insertEventAndOutbox = (from: string, key: string): [event: string, outbox: string] => [
  `${insertEvents}
    SELECT ${key}.bucket, ${key}.organization_id, ${key}.transaction_id, r.expected + 1, r.type, r.at, r.data FROM ${from}`,
  `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT ${key}.bucket, ${key}.organization_id, r.outbox_id, r.type, ${key}.transaction_id, r.expected + 1, r.at FROM ${from}`,
];

const insertOperationJobAndLine = (
  from: string,
  key: string,
): [operation: string, job: string, line: string] => [
  `INSERT INTO operations (bucket, organization_id, transaction_id, operation_number, operation_id,
      merchant_id, kind, status, amount, client_operation_id, details, deadline, created_at, updated_at)
    SELECT ${key}.bucket, ${key}.organization_id, ${key}.transaction_id, r."operationNumber", r."operationId",
      r.merchant_id, r.kind, r.status, r.amount, r."clientOperationId", r.details,
      now() + r.allowed_ms * interval '1 millisecond', r."createdAt", r.at
    FROM ${from} WHERE r."operationNumber" IS NOT NULL
    ON CONFLICT (bucket, transaction_id, operation_number) DO UPDATE
      SET status = excluded.status, amount = excluded.amount, details = excluded.details, updated_at = excluded.updated_at`,
  `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at, queue_id)
    SELECT ${key}.bucket, ${key}.organization_id, r.job_id, r.job_kind, r.payload, r.due_at, 0, r.at, r.queue_id
    FROM ${from} WHERE r.job_id IS NOT NULL`,
  `INSERT INTO clearing_lines (bucket, organization_id, transaction_id, operation_number, link_id,
      settlement_date, due_at, amount, currency, content, status)
    SELECT ${key}.bucket, ${key}.organization_id, ${key}.transaction_id, r."operationNumber", r.clearing_link,
      r.settlement_date, r.settlement_end, r.amount, r.currency, r.line, 'Waiting'
    FROM ${from} WHERE r.clearing_link IS NOT NULL`,
];

/** Event and outbox row are inserted only when the version check succeeds. */
const [insertEventOfChange, insertOutboxOfChange] = insertEventAndOutbox('tx AS r', 'r');
const [insertOperation, insertJob, insertLine] = insertOperationJobAndLine('tx AS r', 'r');
const updateTransactionCte = `tx AS (
    ${updateTransactionsFrom('r')}
    RETURNING r.*
  ), ev AS (
    ${insertEventOfChange}
  ), ob AS (
    ${insertOutboxOfChange}
  )`;

export const updateWithEvent = {
  name: 'payments-update-with-event',
  text: `WITH r AS (
    SELECT * FROM ${recordsOf(changeRecordDefinition)}
  ), ${updateTransactionCte}
  SELECT transaction_id AS id FROM tx`,
};

const operationRecords = recordsOf(operationRecordDefinition);
const changedTransactions = `${operationRecords} JOIN transactions t ON ${matchesVersion}`;

export const updateWithOperation = {
  name: 'payments-update-with-operation',
  text: `WITH r AS (
    SELECT * FROM ${operationRecords}
  ), ${updateTransactionCte}, op AS (
    ${insertOperation}
  ), jb AS (
    ${insertJob}
  ), cl AS (
    ${insertLine}
  )
  SELECT transaction_id AS id FROM tx`,
  // The lock keeps the versions until the update, so that all statements find the same transactions.
  inShard: [
    `SELECT 1 FROM ${changedTransactions} ORDER BY t.transaction_id FOR UPDATE OF t`,
    ...insertEventAndOutbox(changedTransactions, 't'),
    ...insertOperationJobAndLine(changedTransactions, 't'),
    `${updateTransactionsFrom(operationRecords)} RETURNING t.transaction_id AS id`,
  ],
};

export function toUpdateRow(change: TransactionChange, outboxId: string): Record<string, unknown> {
  const { before, after, event, operation, job, clearing } = change;
  if (job !== undefined) requireSameBucket(after.merchantId, job.jobId);
  return {
    bucket: bucketOf(after.transactionId),
    organization_id: after.organizationId,
    transaction_id: after.transactionId,
    expected: before.version,
    state: after.state,
    ...after.position,
    operation_count: after.operationCount,
    at: event.at,
    type: event.type,
    data: event.data,
    outbox_id: outboxId,
    ...operation,
    ...defined({
      merchant_id: operation && after.merchantId,
      allowed_ms: operation && operation.deadline - Date.parse(operation.createdAt),
      job_id: job?.jobId,
      job_kind: job?.kind,
      payload: job?.payload,
      due_at: job?.dueAt,
      queue_id: job?.queueId,
      clearing_link: clearing?.linkId,
      settlement_date: clearing?.settlementDate,
      settlement_end: clearing?.dueAt,
      currency: clearing?.line.currency,
      line: clearing?.line,
    }),
  };
}

/**
 * By web one identifier names a refund or a cancel, of any transaction. A concurrent insert waits for the row of
 * the first one, also in another process.
 */
export const claimWebOperationId = `INSERT INTO refund_by_web_ids
    (bucket, organization_id, client_operation_id, merchant_id, transaction_id, operation_number)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING operation_number`;

/** Stores an acquirer failover before the message is sent. */
export const updateRoute = `WITH tx AS (
    UPDATE transactions SET contract_id = $5, over_capture_allowance = $6, version = $7, updated_at = $8
    WHERE bucket = $1 AND transaction_id = $3 AND organization_id = $2 AND version = $4 AND phase = 'Received'
    RETURNING bucket, organization_id, transaction_id
  ), ev AS (
    INSERT INTO transaction_events (bucket, organization_id, transaction_id, sequence, type, at, data)
    SELECT bucket, organization_id, transaction_id, $7, $9, $8, $10::json FROM tx
  ), ob AS (
    INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT bucket, organization_id, $11, $9, transaction_id, $7, $8 FROM tx
  )
  SELECT transaction_id FROM tx`;
