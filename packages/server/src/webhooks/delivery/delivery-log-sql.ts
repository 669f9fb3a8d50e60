// Reads, resends and deletes deliveries in the delivery log by SQL.
import type { WebhookDelivery } from '@switchyard/contract';
import { type Queries, smallestUuidAt, toRecords } from '../../platform/index.ts';
import type { ManagedEndpoints } from '../endpoints/endpoint-sql.ts';
import { deliveryIdOf } from './plan-deliveries.ts';

export type DeliveryFilters = {
  readonly endpointId?: string;
  readonly status?: 'Pending' | 'Delivered' | 'Failed';
  readonly eventId?: string;
};

/** Times in epoch milliseconds. */
export type DeliveryRecord = {
  deliveryId: string;
  endpointId: string;
  eventId: string;
  type: string;
  position?: number;
  status: 'Pending' | 'Delivered' | 'Failed';
  attempts: number;
  dueAt: number;
  log: NonNullable<WebhookDelivery['lastAttempt']>[];
  createdAt: number;
  updatedAt: number;
  /** The body that is sent, if it is still stored; absent in lists. */
  body?: string;
};

const columns = `d.delivery_id, d.endpoint_id, d.event_id, d.type, d.position, d.status, d.attempts,
  d.due_at, d.log, d.created_at, d.updated_at`;

export async function findDelivery(
  queries: Queries,
  { organizationId, merchantId }: ManagedEndpoints,
  deliveryId: string,
): Promise<DeliveryRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${columns}, coalesce(d.body, f.body) AS body FROM webhook_deliveries AS d
     LEFT JOIN feed_events AS f
       ON f.organization_id = d.organization_id AND f.position = d.position
     WHERE d.organization_id = $1 AND d.delivery_id = $2 AND ($3::uuid IS NULL OR EXISTS (
       SELECT FROM webhook_endpoints AS e WHERE e.organization_id = d.organization_id
         AND e.endpoint_id = d.endpoint_id AND e.owner_merchant_id = $3))`,
    [organizationId, deliveryId, merchantId ?? null],
  );
  return toRecords<DeliveryRecord>(rows)[0];
}

async function findEndpointIds(
  queries: Queries,
  { organizationId, merchantId }: ManagedEndpoints,
): Promise<string[]> {
  const rows = await queries.query(
    `SELECT endpoint_id FROM webhook_endpoints
     WHERE organization_id = $1 AND ($2::uuid IS NULL OR owner_merchant_id = $2)`,
    [organizationId, merchantId ?? null],
  );
  return rows.map((row) => String(row['endpoint_id']));
}

/** The endpoints to search; undefined means all of them, including deleted ones. */
async function filterEndpointIds(
  queries: Queries,
  scope: ManagedEndpoints,
  endpointId: string | undefined,
): Promise<string[] | undefined> {
  const requestedId = endpointId?.toLowerCase();
  if (scope.merchantId === undefined) return requestedId === undefined ? undefined : [requestedId];
  const ownIds = await findEndpointIds(queries, scope);
  return requestedId === undefined ? ownIds : ownIds.filter((id) => id === requestedId);
}

/** An event has one delivery per endpoint, and its identifier follows from both. */
async function deliveryIdsOfEvent(
  queries: Queries,
  scope: ManagedEndpoints,
  eventId: string,
): Promise<string[]> {
  const endpointIds = await findEndpointIds(queries, scope);
  return endpointIds.map((endpointId) => deliveryIdOf(eventId.toLowerCase(), endpointId));
}

/** Returns the newest deliveries first. */
export async function listDeliveries(
  queries: Queries,
  scope: ManagedEndpoints,
  { endpointId, status, eventId }: DeliveryFilters,
  page: { readonly limit: number; readonly after?: string },
): Promise<DeliveryRecord[]> {
  const deliveryIds =
    eventId === undefined ? null : await deliveryIdsOfEvent(queries, scope, eventId);
  const endpointIds = await filterEndpointIds(queries, scope, endpointId);
  const rows = await queries.query(
    `SELECT ${columns} FROM webhook_deliveries AS d
     WHERE d.organization_id = $1 AND ($2::uuid[] IS NULL OR d.endpoint_id = ANY($2))
       AND ($3::text IS NULL OR d.status = $3) AND ($4::uuid[] IS NULL OR d.delivery_id = ANY($4))
       AND ($5::uuid IS NULL OR d.delivery_id < $5)
     ORDER BY d.delivery_id DESC LIMIT $6`,
    [
      scope.organizationId,
      endpointIds ?? null,
      status ?? null,
      deliveryIds,
      page.after ?? null,
      page.limit,
    ],
  );
  return toRecords(rows);
}

/** Restarts the retry schedule; a pending delivery becomes due at once. */
export async function restartDelivery(
  queries: Queries,
  organizationId: string,
  deliveryId: string,
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE webhook_deliveries SET status = 'Pending', attempts = 0, due_at = $3, updated_at = $3
     WHERE organization_id = $1 AND delivery_id = $2`,
    [organizationId, deliveryId, now],
  );
}

const rowsPerEndpoint = 1_000;
const endpointsPerStep = 100;

/**
 * Deletes a part of the old deliveries of some endpoints. `last` is the start of the next step, and
 * is undefined after the last endpoint.
 */
export async function deleteOldDeliveries(
  queries: Queries,
  before: number,
  after: { readonly organizationId: string; readonly endpointId: string } | undefined,
): Promise<{ deleted: number; last?: { organizationId: string; endpointId: string } }> {
  const [row] = await queries.query(
    `WITH page AS (
       SELECT organization_id, endpoint_id FROM webhook_delivery_queues
       WHERE $1::uuid IS NULL OR (organization_id, endpoint_id) > ($1, $2::uuid)
       ORDER BY organization_id, endpoint_id LIMIT ${endpointsPerStep}
     ), old AS (
       SELECT w.organization_id, w.delivery_id FROM page AS s CROSS JOIN LATERAL (
         SELECT organization_id, delivery_id FROM webhook_deliveries
         WHERE organization_id = s.organization_id AND endpoint_id = s.endpoint_id
           AND delivery_id < $3
         ORDER BY delivery_id LIMIT ${rowsPerEndpoint}) AS w
     ), gone AS (
       DELETE FROM webhook_deliveries AS d USING old
       WHERE d.organization_id = old.organization_id AND d.delivery_id = old.delivery_id
       RETURNING 1
     )
     SELECT (SELECT count(*)::int FROM gone) AS deleted, (SELECT count(*)::int FROM page) AS seen,
       (SELECT organization_id FROM page ORDER BY 1 DESC, endpoint_id DESC LIMIT 1) AS organization,
       (SELECT endpoint_id FROM page ORDER BY organization_id DESC, 1 DESC LIMIT 1) AS endpoint`,
    [after?.organizationId ?? null, after?.endpointId ?? null, smallestUuidAt(before)],
  );
  const deleted = Number(row?.['deleted'] ?? 0);
  if (row === undefined || Number(row['seen']) < endpointsPerStep) return { deleted };
  const last = {
    organizationId: String(row['organization']),
    endpointId: String(row['endpoint']),
  };
  return { deleted, last };
}

const rowsPerDeletedEndpoint = 5_000;

/** Deletes a part of the deliveries of a deleted endpoint. Returns whether more may remain. */
export async function deleteDeliveriesOfEndpoint(
  queries: Queries,
  organizationId: string,
  endpointId: string,
): Promise<boolean> {
  const rows = await queries.query(
    `DELETE FROM webhook_deliveries AS d USING (
       SELECT delivery_id FROM webhook_deliveries
       WHERE organization_id = $1 AND endpoint_id = $2 LIMIT ${rowsPerDeletedEndpoint}) AS o
     WHERE d.organization_id = $1 AND d.delivery_id = o.delivery_id RETURNING 1`,
    [organizationId, endpointId],
  );
  return rows.length === rowsPerDeletedEndpoint;
}
