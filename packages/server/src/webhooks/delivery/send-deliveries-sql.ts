// Plans, reads and marks deliveries by SQL, and leases endpoints to processes.
import { type Database, type Queries, toRecords } from '../../platform/index.ts';
import type { SealedKeys } from '../endpoints/endpoint-keys.ts';

export type EndpointKey = { readonly organizationId: string; readonly endpointId: string };

/** An enabled endpoint, read in the transaction that publishes the events. */
export type EnabledEndpoint = EndpointKey & {
  readonly eventTypes: readonly string[];
  readonly merchantId: string | null;
};

/** Leaves out endpoints of merchants without an event, because there may be thousands of them. */
export async function findEnabledEndpoints(
  queries: Queries,
  events: readonly { readonly organizationId: string; readonly merchantId: string | null }[],
): Promise<EnabledEndpoint[]> {
  const merchants = events.flatMap(({ merchantId }) => (merchantId === null ? [] : [merchantId]));
  return queries.query<EnabledEndpoint>(
    `SELECT organization_id AS "organizationId", endpoint_id AS "endpointId",
       event_types AS "eventTypes", merchant_id AS "merchantId"
     FROM webhook_endpoints
     WHERE organization_id = ANY($1::uuid[]) AND status = 'Enabled'
       AND (merchant_id IS NULL OR merchant_id = ANY($2::uuid[]))`,
    [[...new Set(events.map(({ organizationId }) => organizationId))], [...new Set(merchants)]],
  );
}

export type NewDelivery = EndpointKey & {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly type: string;
  readonly position: number | null;
  readonly body: string | null;
  /** The span that caused the event, if it was sampled. */
  readonly traceparent?: string | null;
};

const insertDeliveriesText = `INSERT INTO webhook_deliveries AS d (organization_id, delivery_id, endpoint_id,
    event_id, type, position, body, traceparent, status, attempts, due_at, log, created_at, updated_at)
  SELECT r.organization_id, r.delivery_id, r.endpoint_id, r.event_id, r.type, r.position, r.body,
    r.traceparent, 'Pending', 0, $8, '[]', $8, $8
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::bigint[], $7::text[],
      $9::text[])
    AS r(organization_id, delivery_id, endpoint_id, event_id, type, position, body, traceparent)
  ORDER BY r.organization_id, r.delivery_id
  ON CONFLICT (organization_id, delivery_id) DO `;

const insertDeliveriesTexts = {
  /** An existing delivery stays unchanged. */
  none: `${insertDeliveriesText}NOTHING`,
  failed: `${insertDeliveriesText}UPDATE SET status = 'Pending', attempts = 0, due_at = excluded.due_at,
    updated_at = excluded.updated_at WHERE d.status = 'Failed'`,
  ended: `${insertDeliveriesText}UPDATE SET status = 'Pending', attempts = 0, due_at = excluded.due_at,
    updated_at = excluded.updated_at WHERE d.status <> 'Pending'`,
};

/** @param again which existing deliveries the server sends again */
export async function insertDeliveries(
  queries: Queries,
  rows: readonly NewDelivery[],
  now: string,
  again: keyof typeof insertDeliveriesTexts = 'none',
): Promise<void> {
  await queries.query(insertDeliveriesTexts[again], [
    rows.map((row) => row.organizationId),
    rows.map((row) => row.deliveryId),
    rows.map((row) => row.endpointId),
    rows.map((row) => row.eventId),
    rows.map((row) => row.type),
    rows.map((row) => row.position),
    rows.map((row) => row.body),
    now,
    rows.map((row) => row.traceparent ?? null),
  ]);
}

/** Times in epoch milliseconds. */
export type LeasedEndpoint = EndpointKey &
  SealedKeys & {
    readonly url: string;
    readonly version: number;
    readonly failures: number;
    readonly failingSince?: number;
  };

const endpointColumns = `e.organization_id, e.endpoint_id, e.url, e.version, e.keys_sealed,
  e.previous_sealed, e.previous_until, e.older_keys`;
const isSameEndpointSql = (list: string) =>
  `l.organization_id = ${list}.organization_id AND l.endpoint_id = ${list}.endpoint_id`;
const keysSql = 'unnest($1::uuid[], $2::uuid[]) AS k(organization_id, endpoint_id)';

const keyValues = (keys: readonly EndpointKey[]) => [
  keys.map(({ organizationId }) => organizationId),
  keys.map(({ endpointId }) => endpointId),
];

/** The lease end uses the database clock, because the clocks of two processes may differ. */
const leaseEnd = (milliseconds: string) =>
  `clock_timestamp() + ${milliseconds} * interval '1 millisecond'`;

/** Leases the endpoints that are free, enabled and not paused. */
export async function leaseEndpoints(
  database: Database,
  keys: readonly EndpointKey[],
  lease: { readonly token: string; readonly now: string; readonly leaseMs: number },
): Promise<LeasedEndpoint[]> {
  const rows = await database.query(
    `WITH free AS (
       SELECT l.organization_id, l.endpoint_id FROM webhook_delivery_queues AS l JOIN ${keysSql} ON ${isSameEndpointSql('k')}
       WHERE l.lease_until <= statement_timestamp() AND l.resting_until <= $4
       ORDER BY l.organization_id, l.endpoint_id FOR UPDATE OF l SKIP LOCKED
     )
     UPDATE webhook_delivery_queues AS l SET lease_token = $3, lease_until = ${leaseEnd('$5')}
     FROM free JOIN webhook_endpoints AS e
       ON e.organization_id = free.organization_id AND e.endpoint_id = free.endpoint_id
     WHERE ${isSameEndpointSql('free')} AND e.status = 'Enabled'
     RETURNING ${endpointColumns}, l.failures, l.failing_since`,
    [...keyValues(keys), lease.token, lease.now, lease.leaseMs],
  );
  return toRecords(rows);
}

/** Renews the leases that this process still holds, and returns them with the endpoint's status. */
export async function renewEndpointLeases(
  database: Database,
  keys: readonly EndpointKey[],
  lease: { readonly token: string; readonly leaseMs: number },
): Promise<(Omit<LeasedEndpoint, 'failures' | 'failingSince'> & { readonly status: string })[]> {
  const rows = await database.query(
    `UPDATE webhook_delivery_queues AS l SET lease_until = ${leaseEnd('$4')}
     FROM ${keysSql} JOIN webhook_endpoints AS e
       ON e.organization_id = k.organization_id AND e.endpoint_id = k.endpoint_id
     WHERE ${isSameEndpointSql('k')} AND l.lease_token = $3
     RETURNING ${endpointColumns}, e.status`,
    [...keyValues(keys), lease.token, lease.leaseMs],
  );
  return toRecords(rows);
}

export type EndpointHealthUpdate = EndpointKey & {
  readonly pausedUntil: string;
  readonly failures: number;
  readonly failingSince: string | null;
  readonly succeededAt: string | null;
};

/** Stores the health of leased endpoints; with `isDone` it also releases them. */
export async function storeEndpointHealth(
  database: Database,
  token: string,
  ends: readonly EndpointHealthUpdate[],
  isDone: boolean,
): Promise<void> {
  await database.query(
    `UPDATE webhook_delivery_queues AS l SET resting_until = k.resting_until, failures = k.failures,
       failing_since = k.failing_since, succeeded_at = coalesce(k.succeeded_at, l.succeeded_at),
       lease_until = CASE WHEN $8::boolean THEN 'epoch' ELSE l.lease_until END,
       lease_token = CASE WHEN $8::boolean THEN NULL ELSE l.lease_token END
     FROM unnest($1::uuid[], $2::uuid[], $4::timestamptz[], $5::integer[], $6::timestamptz[],
       $7::timestamptz[]) AS k(organization_id, endpoint_id, resting_until, failures, failing_since,
       succeeded_at)
     WHERE ${isSameEndpointSql('k')} AND l.lease_token = $3`,
    [
      ...keyValues(ends),
      token,
      ends.map((end) => end.pausedUntil),
      ends.map((end) => end.failures),
      ends.map((end) => end.failingSince),
      ends.map((end) => end.succeededAt),
      isDone,
    ],
  );
}

export async function endEndpointPause(
  database: Database,
  { organizationId, endpointId }: EndpointKey,
): Promise<void> {
  await database.query(
    `UPDATE webhook_delivery_queues SET resting_until = 'epoch'
     WHERE organization_id = $1 AND endpoint_id = $2`,
    [organizationId, endpointId],
  );
}

export const findDueEndpointsText = `SELECT l.organization_id AS "organizationId",
    l.endpoint_id AS "endpointId"
  FROM webhook_delivery_queues AS l
  WHERE l.lease_until <= statement_timestamp() AND l.resting_until <= $1 AND EXISTS (
    SELECT FROM webhook_deliveries AS d
    WHERE d.organization_id = l.organization_id AND d.endpoint_id = l.endpoint_id
      AND d.status = 'Pending' AND d.due_at <= $1)
    AND EXISTS (SELECT FROM webhook_endpoints AS e WHERE e.organization_id = l.organization_id
      AND e.endpoint_id = l.endpoint_id AND e.status = 'Enabled')
  LIMIT $2`;

/** Finds endpoints with due deliveries and no lease: after a crash, or after a pause. */
export async function findDueEndpoints(
  database: Database,
  now: string,
  limit: number,
): Promise<EndpointKey[]> {
  return database.query<EndpointKey>(findDueEndpointsText, [now, limit]);
}

export type DueDelivery = {
  readonly organizationId: string;
  readonly endpointId: string;
  readonly deliveryId: string;
  readonly eventId: string;
  readonly attempts: number;
  readonly dueAt: Date;
  readonly createdAt: Date;
  /** Null if the feed no longer contains the event. */
  readonly body: string | null;
  readonly traceparent: string | null;
};

/** A read begins after this delivery, in the order of due times. */
export type DeliveryPosition = { readonly dueAt: string; readonly deliveryId: string };

export type DueRead = EndpointKey & { readonly limit: number; readonly after: DeliveryPosition };

const dueStatement = {
  name: 'webhooks-due',
  text: `SELECT d.organization_id AS "organizationId", d.endpoint_id AS "endpointId",
    d.delivery_id AS "deliveryId", d.event_id AS "eventId", d.attempts, d.due_at AS "dueAt",
    d.created_at AS "createdAt", coalesce(d.body, f.body) AS body, d.traceparent
  FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::timestamptz[], $5::uuid[])
    AS k(organization_id, endpoint_id, most, after_at, after_id)
  CROSS JOIN LATERAL (
    SELECT * FROM webhook_deliveries AS w
    WHERE w.organization_id = k.organization_id AND w.endpoint_id = k.endpoint_id
      AND w.status = 'Pending' AND (w.due_at, w.delivery_id) > (k.after_at, k.after_id)
      AND w.due_at <= $6
    ORDER BY w.due_at, w.delivery_id LIMIT k.most
  ) AS d
  LEFT JOIN LATERAL (
    SELECT e.body FROM feed_events AS e
    WHERE e.organization_id = d.organization_id AND e.position = d.position LIMIT 1
  ) AS f ON true`,
};

/** Returns the oldest first. A read that begins before deliveries in flight includes them. */
export async function readDueDeliveries(
  database: Database,
  reads: readonly DueRead[],
  now: string,
): Promise<DueDelivery[]> {
  return database.hot<DueDelivery>(dueStatement, [
    ...keyValues(reads),
    reads.map(({ limit }) => limit),
    reads.map(({ after }) => after.dueAt),
    reads.map(({ after }) => after.deliveryId),
    now,
  ]);
}

export type DeliveryUpdate = {
  readonly organization_id: string;
  readonly delivery_id: string;
  readonly status: 'Pending' | 'Delivered' | 'Failed';
  /**
   * The due time at the start of the attempt; another value now means a resend during the attempt.
   */
  readonly taken_at: string;
  readonly due_at: string;
  readonly at: string;
  readonly entry: Readonly<Record<string, unknown>>;
};

export const logEntriesMax = 20;

// A failed attempt does not affect a schedule that began after it; a successful attempt ends it.
const isCurrentSql = `(r.status = 'Delivered' OR date_trunc('milliseconds', d.due_at) = r.taken_at)`;

// The condition avoids "Pending", so that PostgreSQL uses the primary key and not the partial
// index.
const updateStatement = {
  name: 'webhooks-mark',
  text: `UPDATE webhook_deliveries AS d SET
    status = CASE WHEN ${isCurrentSql} THEN r.status ELSE d.status END,
    attempts = CASE WHEN ${isCurrentSql} THEN d.attempts + 1 ELSE d.attempts END,
    due_at = CASE WHEN ${isCurrentSql} THEN r.due_at ELSE d.due_at END, updated_at = r.at,
    log = CASE WHEN jsonb_array_length(d.log) >= ${logEntriesMax} THEN d.log - 0 ELSE d.log END || r.entry
  FROM jsonb_to_recordset($1::jsonb) AS r(organization_id uuid, delivery_id uuid, status text,
    taken_at timestamptz, due_at timestamptz, at timestamptz, entry jsonb)
  WHERE d.organization_id = r.organization_id AND d.delivery_id = r.delivery_id
    AND d.status NOT IN ('Delivered', 'Failed')`,
};

/** Does not change deliveries that another process has completed, or that were deleted. */
export async function updateDeliveries(
  database: Database,
  updates: readonly DeliveryUpdate[],
): Promise<void> {
  await database.hot(updateStatement, [JSON.stringify(updates)]);
}

export async function findOldestDue(database: Database, now: string): Promise<Date | undefined> {
  const [row] = await database.query<{ due_at: Date | null }>(
    `SELECT min(d.due_at) AS due_at FROM webhook_delivery_queues AS l
     JOIN webhook_endpoints AS e ON e.organization_id = l.organization_id
       AND e.endpoint_id = l.endpoint_id AND e.status = 'Enabled'
     CROSS JOIN LATERAL (
       SELECT w.due_at FROM webhook_deliveries AS w
       WHERE w.organization_id = l.organization_id AND w.endpoint_id = l.endpoint_id
         AND w.status = 'Pending' AND w.due_at <= $1
       ORDER BY w.due_at LIMIT 1
     ) AS d WHERE l.failures = 0`,
    [now],
  );
  return row?.due_at ?? undefined;
}
