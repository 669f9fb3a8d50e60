// Defines the SQL of the frequent QR payment statements, and their JSON input rows.
import {
  allBuckets,
  bucketOf,
  bucketSql,
  isoTime,
  requireSameBucket,
} from '../../platform/index.ts';
import type { PaymentChange, QrRow, StoredEvent } from '../transaction/records.ts';
import { loadedColumns, merchantIndexCondition, organizationIndexCondition } from './qr-rows.ts';

const intents = `jsonb_to_recordset($1::jsonb) AS n(bucket smallint, organization_id uuid, transaction_id uuid,
      merchant_id uuid, store_id uuid, device_id uuid, client_transaction_id text,
      service_id uuid, provider_id uuid, amount bigint, currency text, expires_at timestamptz,
      due_at timestamptz, facts jsonb, at timestamptz, type text, data jsonb)`;

const insertPaymentsFrom = (
  source: string,
) => `INSERT INTO qr_transactions (bucket, organization_id, transaction_id,
      merchant_id, store_id, device_id,
      client_transaction_id, service_id, provider_id, status, phase, amount, currency, paid,
      refunded, refund_reserved, provider_sequence, provider_events, version, operation_count,
      looks, expires_at, due_at, facts, created_at, updated_at)
    SELECT bucket, organization_id, transaction_id, merchant_id, store_id, device_id,
      client_transaction_id, service_id, provider_id, 'Created', 'Created', amount, currency, 0,
      0, 0, 0, 0, 1, 0, 0, expires_at, due_at, facts, at, at
    FROM ${source} ON CONFLICT (bucket, client_transaction_id, merchant_id)
      WHERE client_transaction_id IS NOT NULL DO NOTHING`;

const insertFirstEvents =
  'INSERT INTO qr_events AS e (bucket, organization_id, transaction_id, sequence, type, at, data)';

/** Inserts intents; an existing row stays unchanged and is not returned. */
export const insertPayment = {
  name: 'qr-begin',
  text: `WITH r AS MATERIALIZED (
    SELECT * FROM ${intents}
  ), tx AS (
    ${insertPaymentsFrom('r')}
    RETURNING transaction_id
  ), ev AS (
    ${insertFirstEvents}
    SELECT r.bucket, r.organization_id, r.transaction_id, 1, r.type, r.at, r.data
    FROM r WHERE (r.transaction_id IN (SELECT transaction_id FROM tx)) IS TRUE
  )
  SELECT transaction_id AS id FROM tx`,
};

export function paymentInsertRow(
  row: QrRow,
  event: StoredEvent,
  dueAt: string | null,
): Record<string, unknown> {
  return {
    bucket: requireSameBucket(row.merchantId, row.transactionId),
    organization_id: row.organizationId,
    transaction_id: row.transactionId,
    merchant_id: row.merchantId,
    store_id: row.storeId,
    device_id: row.deviceId,
    client_transaction_id: row.clientTransactionId,
    service_id: row.serviceId,
    provider_id: row.providerId,
    amount: row.position.amount,
    currency: row.position.currency,
    expires_at: isoTime(row.expiresAt),
    due_at: dueAt,
    facts: row.facts,
    at: event.at,
    type: event.type,
    data: event.data,
  };
}

const changes = `jsonb_to_recordset($1::jsonb) AS r(bucket smallint, organization_id uuid, transaction_id uuid,
      expected integer, i integer, status text, phase text, paid bigint, refunded bigint,
      refund_reserved bigint, settled bigint, ending text, hold text, provider_sequence integer,
      provider_events integer, provider_transaction_id text, operation_count integer, looks integer,
      expires_at timestamptz, due_at timestamptz, at timestamptz, type text, data jsonb,
      provider_event_id uuid, outbox_id uuid, merchant_id uuid, operations jsonb)`;

const matchesVersion = `t.bucket = r.bucket /* one shard: t */ AND t.transaction_id = r.transaction_id
      AND t.organization_id = r.organization_id AND t.version = r.expected`;

const updatePaymentsFrom = (
  source: string,
) => `UPDATE qr_transactions t SET status = r.status, phase = r.phase,
      paid = r.paid,
      refunded = r.refunded, refund_reserved = r.refund_reserved, settled = r.settled,
      ending = r.ending, hold = r.hold,
      provider_sequence = r.provider_sequence, provider_events = r.provider_events,
      provider_transaction_id = r.provider_transaction_id, version = r.expected + 1,
      operation_count = r.operation_count, looks = r.looks, expires_at = r.expires_at,
      due_at = r.due_at, updated_at = r.at
    FROM ${source} WHERE ${matchesVersion}`;

/**
 * The rows behind a change of payments.
 *
 * @param from the records `r` of the changed payments
 * @param key the alias that has their keys
 */
const insertsBehindChange = (
  from: string,
  key: string,
): [event: string, outbox: string, operation: string] => [
  `INSERT INTO qr_events (bucket, organization_id, transaction_id, sequence, type, at, data,
      provider_event_id)
    SELECT ${key}.bucket, ${key}.organization_id, ${key}.transaction_id, r.expected + 1, r.type, r.at, r.data,
      r.provider_event_id FROM ${from}`,
  `INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
    SELECT ${key}.bucket, ${key}.organization_id, r.outbox_id, r.type, ${key}.transaction_id, r.expected + 1, r.at
    FROM ${from} WHERE r.outbox_id IS NOT NULL`,
  `INSERT INTO qr_operations (bucket, organization_id, transaction_id, number, operation_id, merchant_id,
      kind, status, amount, client_operation_id, details, created_at, updated_at)
    SELECT ${key}.bucket, ${key}.organization_id, ${key}.transaction_id, o.number, o.operation_id, r.merchant_id, o.kind,
      o.status, o.amount, o.client_operation_id, o.details, o.created_at, o.updated_at
    FROM ${from} CROSS JOIN LATERAL jsonb_to_recordset(r.operations) AS o(number integer, operation_id uuid, kind text,
      status text, amount bigint, client_operation_id text, details jsonb, created_at timestamptz,
      updated_at timestamptz)
    ON CONFLICT (bucket, transaction_id, number) DO UPDATE
      SET status = excluded.status, details = excluded.details, updated_at = excluded.updated_at`,
];

const [insertEvent, insertOutbox, insertOperations] = insertsBehindChange('tx AS r', 'r');
const changedPayments = `${changes} JOIN qr_transactions t ON ${matchesVersion}`;

/**
 * Inserts events and operations only for updated rows, so a late change leaves nothing. The refund
 * amounts are in the same guarded row, so two refunds cannot reserve the same money.
 */
export const commitChange = {
  name: 'qr-commit',
  text: `WITH r AS (
    SELECT * FROM ${changes}
  ), tx AS (
    ${updatePaymentsFrom('r')}
    RETURNING r.*
  ), ev AS (
    ${insertEvent}
  ), ob AS (
    ${insertOutbox}
  ), op AS (
    ${insertOperations}
  )
  SELECT i FROM tx`,
  // The lock keeps the versions until the update, so that all statements find the same payments.
  inShard: [
    `SELECT 1 FROM ${changedPayments} ORDER BY t.transaction_id FOR UPDATE OF t`,
    ...insertsBehindChange(changedPayments, 't'),
    `${updatePaymentsFrom(changes)} RETURNING r.i`,
  ],
};

export function toStatementChange(
  { before, after, event, operations }: PaymentChange,
  i: number,
  { outboxId, dueAt }: { outboxId: string | undefined; dueAt: string | null },
): Record<string, unknown> {
  const { position } = after;
  return {
    bucket: bucketOf(after.transactionId),
    organization_id: after.organizationId,
    transaction_id: after.transactionId,
    expected: before.version,
    i,
    status: after.status,
    phase: position.phase,
    paid: position.paid,
    refunded: position.refunded,
    refund_reserved: position.refundReserved,
    settled: position.settled,
    ending: position.ending,
    hold: position.hold,
    provider_sequence: position.sequence,
    provider_events: after.providerEvents,
    provider_transaction_id: after.providerTransactionId ?? null,
    operation_count: after.operationCount,
    looks: after.pollAttempts,
    expires_at: isoTime(after.expiresAt),
    due_at: dueAt,
    at: event.at,
    type: event.type,
    data: event.data,
    provider_event_id: event.data.provider?.eventId ?? null,
    outbox_id: outboxId ?? null,
    merchant_id: after.merchantId,
    operations: operations.map((each) => ({
      number: each.number,
      operation_id: each.operationId,
      kind: each.kind,
      status: each.status,
      amount: each.amount,
      client_operation_id: each.clientOperationId ?? null,
      details: each.details,
      created_at: each.createdAt,
      updated_at: each.updatedAt,
    })),
  };
}

/** Each row has the server's identifier, or the client's identifier with its merchant. */
export const findPayment = {
  name: 'qr-find',
  text: `SELECT r.i, ${loadedColumns}
    FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::text[], $5::uuid[]) WITH ORDINALITY
      AS r(bucket, organization_id, transaction_id, client_transaction_id, merchant_id, i)
    JOIN qr_transactions t ON t.bucket = r.bucket /* one shard: t */ AND t.organization_id = r.organization_id
      AND t.transaction_id = coalesce(r.transaction_id, (
        SELECT c.transaction_id FROM qr_transactions c WHERE c.bucket = r.bucket /* one shard: c */
          AND c.client_transaction_id = r.client_transaction_id AND c.merchant_id = r.merchant_id))`,
};

/** Without a merchant: looks into all buckets. */
export const findByClientId = {
  name: 'qr-find-by-client-id',
  text: `SELECT ${loadedColumns} FROM qr_transactions t
    WHERE t.bucket = ANY ('${allBuckets}'::smallint[]) AND t.client_transaction_id = $2
      AND t.organization_id = $1 LIMIT $3`,
};

/** Finds a payment by its provider, with whether the event is already stored. */
export const findForProvider = {
  name: 'qr-find-for-provider',
  text: `SELECT ${loadedColumns}, EXISTS (SELECT 1 FROM qr_events e
      WHERE e.bucket = t.bucket /* one shard: e */ AND e.transaction_id = t.transaction_id
        AND e.provider_event_id = $4) AS is_known
    FROM qr_transactions t WHERE t.bucket = $1 AND t.transaction_id = $3 AND t.provider_id = $2`,
};

export const findOperation = {
  name: 'qr-find-operation',
  text: `SELECT transaction_id, number FROM qr_operations
    WHERE bucket = $1 AND organization_id = $2 AND client_operation_id = $3 AND merchant_id = $4 AND kind = $5`,
};

export const eventsAfter = {
  name: 'qr-events-after',
  text: `SELECT sequence, type, at, data FROM qr_events
    WHERE bucket = $1 AND organization_id = $2 AND transaction_id = $3 AND sequence > $4
    ORDER BY sequence LIMIT $5`,
};

/** Events with a display, the first answer, a failure, a payer or a hold. */
export const eventsForView = {
  name: 'qr-shown-events',
  text: `SELECT sequence, type, at, data FROM qr_events
    WHERE bucket = $1 AND organization_id = $2 AND transaction_id = $3
      AND (data ? 'display' OR data ? 'answered' OR data ? 'failure' OR data ? 'payer'
        OR type = 'qr.held')
    ORDER BY sequence`,
};

/** On Citus, where each claim is sent to one shard. */
export const findDue = {
  name: 'qr-due',
  text: 'SELECT bucket FROM qr_transactions WHERE due_at <= $1 LIMIT 1',
};

/**
 * Claims due payments for a limited time; after a crash another process claims them. It leaves out
 * the providers in $4, which have enough running polls.
 */
export const claimDuePayments = {
  name: 'qr-claim',
  text: `UPDATE qr_transactions t SET due_at = $2
    FROM (
      SELECT bucket, transaction_id FROM qr_transactions
      WHERE due_at <= $1 /* one shard: qr_transactions */ AND provider_id <> ALL ($4::uuid[])
      ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
    ) AS c
    WHERE t.bucket = c.bucket /* one shard: t */ AND t.transaction_id = c.transaction_id
    RETURNING t.organization_id, t.transaction_id, t.provider_id`,
};

/** Sets the next poll after a poll without changes, unless the version has changed. */
export const postpone = {
  name: 'qr-postpone',
  text: `UPDATE qr_transactions SET due_at = $4, looks = $5
    WHERE bucket = $1 AND transaction_id = $2 AND version = $3`,
};

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const reviewFilters = {
  any: '',
  held: 'AND t.hold IS NOT NULL',
  free: 'AND t.hold IS NULL',
} as const;

/**
 * Newest first, after the cursor $2, with one statement per index. $4 is the store, $5 the
 * merchant.
 */
export function listPayments(review: keyof typeof reviewFilters, isForMerchant: boolean) {
  const ofOrganization = review === 'held' ? '' : `AND t.${organizationIndexCondition}`;
  const scope = isForMerchant
    ? `t.bucket = ${bucketSql('$5::uuid')} AND t.merchant_id = $5 AND t.${merchantIndexCondition}`
    : `$5::uuid IS NULL ${ofOrganization}`;
  return {
    name: `qr-list-${review}${isForMerchant ? '-merchant' : ''}`,
    text: `SELECT ${loadedColumns} FROM qr_transactions t
    WHERE t.organization_id = $1 AND t.transaction_id < coalesce($2::uuid, '${lastId}')
      AND ${scope} AND ($4::uuid IS NULL OR t.store_id = $4) ${reviewFilters[review]}
    ORDER BY t.transaction_id DESC LIMIT $3`,
  };
}

/** Like `eventsForView` for many payments, without displays. */
export const eventsForViews = {
  name: 'qr-shown-events-of',
  text: `SELECT transaction_id, sequence, type, at, data - 'display' AS data FROM qr_events
    WHERE bucket = ANY ($1::smallint[]) AND organization_id = $2 AND transaction_id = ANY ($3::uuid[])
      AND (data ? 'answered' OR data ? 'failure' OR data ? 'payer' OR type = 'qr.held')
    ORDER BY sequence`,
};

/** The versions that are newer than the given ones, for requests that wait. */
export const newerVersions = {
  name: 'qr-versions',
  text: `SELECT t.organization_id, t.transaction_id, t.version
    FROM unnest($1::smallint[], $2::uuid[], $3::integer[])
      AS r(bucket, transaction_id, version)
    JOIN qr_transactions t ON t.bucket = r.bucket
      AND t.transaction_id = r.transaction_id AND t.version > r.version`,
};
