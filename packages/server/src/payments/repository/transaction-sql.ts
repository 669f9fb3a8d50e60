// SQL that reads transactions, and how their rows become records.
import { allBuckets, bucketOf, parseSafeInteger } from '../../platform/index.ts';
import type { Phase, State } from '../transaction/state-machine.ts';
import type {
  EventData,
  StoredOperation,
  TransactionRecord,
  TransactionRow,
} from '../transaction/transaction.ts';

const fieldSeparator = '|';

/** In the order of {@link toTransactionRow}. client_transaction_id is last: it may contain the separator. */
const transactionColumns = `t.organization_id, t.transaction_id, t.merchant_id,
    coalesce(t.store_id::text, ''), coalesce(t.device_id::text, ''), t.contract_id, t.amount, t.currency,
    t.over_capture_allowance, t.phase, t.authorized, t.captured, t.cancelled, t.refunded,
    t.capture_reserved, t.cancel_reserved, t.refund_reserved, t.state, t.version, t.operation_count,
    t.deadline, t.created_at, t.updated_at, t.client_transaction_id`;

/** For {@link toTransactionRecord}. One text in place of 24 columns: the driver parses each column separately. */
export const transactionSelectList = `concat_ws('${fieldSeparator}', ${transactionColumns}) AS fields,
    (SELECT json_agg(json_build_array(e.sequence, e.type, e.at, e.data) ORDER BY e.sequence)
      FROM transaction_events e WHERE e.bucket = t.bucket /* one shard: e */
        AND e.transaction_id = t.transaction_id) AS events,
    CASE WHEN t.operation_count > 0 THEN
      (SELECT json_agg(json_build_object('operationNumber', o.operation_number, 'operationId', o.operation_id,
          'kind', o.kind, 'status', o.status, 'amount', o.amount,
          'clientOperationId', o.client_operation_id, 'details', o.details,
          'deadline', o.deadline, 'createdAt', o.created_at, 'updatedAt', o.updated_at)
          ORDER BY o.operation_number)
        FROM operations o WHERE o.bucket = t.bucket /* one shard: o */
          AND o.transaction_id = t.transaction_id)
    END AS operations`;

type EventRow = [sequence: number, type: string, at: string, data: EventData];
type OperationRow = Omit<StoredOperation, 'deadline' | 'clientOperationId'> & {
  deadline: string;
  clientOperationId: string | null;
};

export type TransactionResultRow = {
  fields: string;
  events: EventRow[] | null;
  operations: OperationRow[] | null;
};

const millisecondTimeLength = '2026-01-02T03:04:05.678'.length;

/** PostgreSQL separates date and time by a space or `T` and has up to six fractional digits and an offset. */
function toIsoTime(text: string): string {
  const zone = text.indexOf('+', millisecondTimeLength);
  const isUtc = zone > 0 && (text.endsWith('+00') || text.endsWith('+00:00'));
  if (!isUtc) return new Date(text).toISOString();
  return `${text.slice(0, 10)}T${text.slice(11, millisecondTimeLength)}Z`;
}

function toTransactionRow(text: string): TransactionRow {
  const fields = text.split(fieldSeparator);
  let index = 0;
  const nextText = () => fields[index++] ?? '';
  const nextInteger = () => parseSafeInteger(nextText());
  const nextTime = () => toIsoTime(nextText());
  return {
    organizationId: nextText(),
    transactionId: nextText(),
    merchantId: nextText(),
    storeId: nextText() || undefined,
    deviceId: nextText() || undefined,
    contractId: nextText(),
    amount: nextInteger(),
    currency: nextText(),
    overCaptureAllowance: nextInteger(),
    position: {
      phase: nextText() as Phase,
      authorized: nextInteger(),
      captured: nextInteger(),
      cancelled: nextInteger(),
      refunded: nextInteger(),
      captureReserved: nextInteger(),
      cancelReserved: nextInteger(),
      refundReserved: nextInteger(),
    },
    state: nextText() as State,
    version: nextInteger(),
    operationCount: nextInteger(),
    deadline: Date.parse(nextTime()),
    createdAt: nextTime(),
    updatedAt: nextTime(),
    clientTransactionId: fields.slice(index).join(fieldSeparator),
  };
}

const toOperation = (row: OperationRow): StoredOperation => ({
  ...row,
  clientOperationId: row.clientOperationId ?? undefined,
  deadline: Date.parse(toIsoTime(row.deadline)),
  createdAt: toIsoTime(row.createdAt),
  updatedAt: toIsoTime(row.updatedAt),
});

export const toTransactionRecord = (result: TransactionResultRow): TransactionRecord => ({
  row: toTransactionRow(result.fields),
  events: (result.events ?? []).map(([sequence, type, at, data]) => {
    return { sequence, type, at: toIsoTime(at), data };
  }),
  operations: (result.operations ?? []).map(toOperation),
});

/** By the server's identifier, or by the client's and the merchant, also of a repeated upload. */
export const findTransactions = {
  name: 'payments-find-transactions',
  text: `SELECT r.i, ${transactionSelectList}
    FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) WITH ORDINALITY
      AS r(bucket, organization_id, transaction_id, client_transaction_id, merchant_id, i)
    JOIN transactions t ON t.bucket = r.bucket /* one shard: t */ AND t.organization_id = r.organization_id
      AND t.transaction_id = coalesce(r.transaction_id, (
        SELECT c.transaction_id FROM transactions c WHERE c.bucket = r.bucket /* one shard: c */
          AND c.client_transaction_id = r.client_transaction_id AND c.merchant_id = r.merchant_id), (
        SELECT a.transaction_id FROM offline_sale_identifiers a
        WHERE a.bucket = r.bucket /* one shard: a */ AND a.merchant_id = r.merchant_id
          AND a.client_transaction_id = r.client_transaction_id))`,
};

/**
 * Without a merchant: looks into all buckets. `OFFSET 0` makes the planner use the whole primary key, also on tables
 * without statistics.
 */
export const findTransactionsByClientId = {
  name: 'payments-find-by-client-id',
  text: `SELECT ${transactionSelectList} FROM (
      SELECT bucket, transaction_id FROM transactions
      WHERE bucket = ANY ('${allBuckets}'::smallint[]) AND client_transaction_id = $2 AND organization_id = $1
      UNION ALL SELECT bucket, transaction_id FROM offline_sale_identifiers
      WHERE bucket = ANY ('${allBuckets}'::smallint[]) AND client_transaction_id = $2 AND organization_id = $1
      LIMIT $3) AS r
    CROSS JOIN LATERAL (SELECT * FROM transactions m WHERE m.bucket = r.bucket
      AND m.transaction_id = r.transaction_id OFFSET 0) AS t`,
};

export const findOperation = {
  name: 'payments-find-operation',
  text: `SELECT transaction_id AS "transactionId", operation_number AS "operationNumber" FROM operations
    WHERE bucket = $1 AND organization_id = $2 AND client_operation_id = $3 AND merchant_id = $4 AND kind = $5`,
};

export type OperationLookup = {
  organizationId: string;
  merchantId: string;
  kind: string;
  clientOperationId: string;
};

export const findOperationValues = (key: OperationLookup): unknown[] => [
  bucketOf(key.merchantId),
  key.organizationId,
  key.clientOperationId,
  key.merchantId,
  key.kind,
];

/** Time for a live process to store an outcome after its deadline. All processes share the database's clock. */
const deadlineMargin = "interval '250 milliseconds'";

const transactionKeyColumns =
  'organization_id AS "organizationId", transaction_id AS "transactionId"';

export const selectSalesWithoutOutcome = {
  name: 'payments-sales-without-outcome',
  text: `SELECT ${transactionKeyColumns} FROM transactions
    WHERE phase = 'Received' AND deadline < now() - ${deadlineMargin} ORDER BY deadline LIMIT $1`,
};

export const selectExpiredAuthorizations = {
  name: 'payments-expired-authorizations',
  text: `SELECT ${transactionKeyColumns} FROM transactions
    WHERE phase = 'Approved' AND authorized > captured + cancelled AND authorization_expires_at <= $1
      AND capture_reserved = 0 AND cancel_reserved = 0
    ORDER BY authorization_expires_at LIMIT $2`,
};

export const selectOperationsWithoutOutcome = {
  name: 'payments-operations-without-outcome',
  text: `SELECT ${transactionKeyColumns}, operation_number AS "operationNumber" FROM operations
    WHERE status = 'Sent' AND deadline < now() - ${deadlineMargin} ORDER BY deadline LIMIT $1`,
};

// Each condition has a partial index. The events with a context name the links of the sale.
export const selectLinksInUse = `SELECT DISTINCT e.data->'context'->>'linkId' AS "linkId"
  FROM (
    SELECT bucket, transaction_id FROM transactions WHERE phase = 'Received'
    UNION
    SELECT bucket, transaction_id FROM transactions WHERE phase IN ('Stored', 'Submitted')
    UNION
    SELECT bucket, transaction_id FROM operations WHERE status = 'Sent'
    UNION
    SELECT bucket, transaction_id FROM operations WHERE status = 'Pending'
  ) unfinished
  JOIN transaction_events e USING (bucket, transaction_id)
  WHERE e.data->'context' IS NOT NULL`;
