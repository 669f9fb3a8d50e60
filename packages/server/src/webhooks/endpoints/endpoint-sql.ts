// Stores endpoints, and the delivery state of each, by SQL.
import type { DisabledReason } from '@switchyard/contract';
import { type OlderKeyJson, type Queries, toRecords } from '../../platform/index.ts';

/**
 * The endpoints that a caller manages: all of the organisation, or those that one merchant created.
 */
export type ManagedEndpoints = {
  readonly organizationId: string;
  readonly merchantId?: string | undefined;
};

/** Times in epoch milliseconds. */
export type EndpointRecord = {
  organizationId: string;
  endpointId: string;
  url: string;
  eventTypes: string[];
  merchantId?: string;
  ownerMerchantId?: string;
  description?: string;
  status: 'Enabled' | 'Disabled';
  disabledReason?: DisabledReason;
  disabledAt?: number;
  gapAfter?: number;
  /** The bounds of the running replay. */
  replayAfter?: number;
  replayTo?: number;
  verifiedAt?: number;
  publicKey: string;
  keysSealed: Buffer;
  previousPublicKey?: string;
  previousSealed?: Buffer;
  previousUntil?: number;
  olderKeys: OlderKeyJson[];
  version: number;
  createdAt: number;
  updatedAt: number;
};

export type EndpointHealth = {
  restingUntil: number;
  failures: number;
  failingSince?: number;
  succeededAt?: number;
};

const columns = `e.organization_id, e.endpoint_id, e.url, e.event_types, e.merchant_id, e.owner_merchant_id, e.description,
  e.status, e.disabled_reason, e.disabled_at, e.gap_after, e.replay_after, e.replay_to, e.verified_at, e.public_key, e.keys_sealed,
  e.previous_public_key, e.previous_sealed, e.previous_until, e.older_keys, e.version, e.created_at,
  e.updated_at`;
const healthColumns = 'l.resting_until, l.failures, l.failing_since, l.succeeded_at';
const endpointsWithHealth = `webhook_endpoints AS e JOIN webhook_delivery_queues AS l
  ON l.organization_id = e.organization_id AND l.endpoint_id = e.endpoint_id`;

export type NewEndpoint = {
  readonly organizationId: string;
  readonly endpointId: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly merchantId: string | null;
  readonly ownerMerchantId: string | null;
  readonly description: string | null;
  readonly disabledReason: string | null;
  readonly publicKey: string;
  readonly sealed: Buffer;
  readonly now: string;
};

/**
 * Returns undefined if the owner has reached its limit; the lock on the organisation's feed guards
 * the count.
 */
export async function insertEndpoint(
  queries: Queries,
  row: NewEndpoint,
  most: number,
): Promise<EndpointRecord | undefined> {
  await queries.query(
    'INSERT INTO feed_heads (organization_id, position) VALUES ($1, 0) ON CONFLICT DO NOTHING',
    [row.organizationId],
  );
  await queries.query('SELECT position FROM feed_heads WHERE organization_id = $1 FOR UPDATE', [
    row.organizationId,
  ]);
  const rows = await queries.query(
    `INSERT INTO webhook_endpoints AS e (organization_id, endpoint_id, url, event_types, merchant_id,
       description, status, disabled_reason, disabled_at, public_key, keys_sealed, version,
       created_at, updated_at, owner_merchant_id)
     SELECT $1, $2, $3, $4, $5, $6, CASE WHEN $7::text IS NULL THEN 'Enabled' ELSE 'Disabled' END, $7,
       CASE WHEN $7::text IS NULL THEN NULL ELSE $10::timestamptz END, $8, $9, 1, $10, $10,
       $12
     WHERE (SELECT count(*) FROM webhook_endpoints WHERE organization_id = $1
       AND owner_merchant_id IS NOT DISTINCT FROM $12::uuid) < $11
     RETURNING ${columns}`,
    [
      row.organizationId,
      row.endpointId,
      row.url,
      JSON.stringify(row.eventTypes),
      row.merchantId,
      row.description,
      row.disabledReason,
      row.publicKey,
      row.sealed,
      row.now,
      most,
      row.ownerMerchantId,
    ],
  );
  const [made] = toRecords<EndpointRecord>(rows);
  if (made === undefined) return undefined;
  await queries.query(
    `INSERT INTO webhook_delivery_queues (organization_id, endpoint_id, lease_until, resting_until, failures)
     VALUES ($1, $2, 'epoch', 'epoch', 0)`,
    [row.organizationId, row.endpointId],
  );
  return made;
}

export async function findEndpoint(
  queries: Queries,
  { organizationId, merchantId }: ManagedEndpoints,
  endpointId: string,
  lock: '' | 'FOR UPDATE OF e' = '',
): Promise<(EndpointRecord & EndpointHealth) | undefined> {
  const rows = await queries.query(
    `SELECT ${columns}, ${healthColumns} FROM ${endpointsWithHealth}
     WHERE e.organization_id = $1 AND e.endpoint_id = $2
       AND ($3::uuid IS NULL OR e.owner_merchant_id = $3) ${lock}`,
    [organizationId, endpointId, merchantId ?? null],
  );
  return toRecords<EndpointRecord & EndpointHealth>(rows)[0];
}

export async function listEndpoints(
  queries: Queries,
  { organizationId, merchantId }: ManagedEndpoints,
  page: { readonly limit: number; readonly after?: string },
): Promise<(EndpointRecord & EndpointHealth)[]> {
  const rows = await queries.query(
    `SELECT ${columns}, ${healthColumns} FROM ${endpointsWithHealth}
     WHERE e.organization_id = $1 AND ($2::uuid IS NULL OR e.endpoint_id > $2)
       AND ($4::uuid IS NULL OR e.owner_merchant_id = $4)
     ORDER BY e.endpoint_id LIMIT $3`,
    [organizationId, page.after ?? null, page.limit, merchantId ?? null],
  );
  return toRecords(rows);
}

/** The gap keeps its first position, and otherwise begins at the current end of the feed. */
const disableText = `status = 'Disabled', disabled_reason = $3, disabled_at = $4,
  gap_after = coalesce(e.gap_after, (SELECT position FROM feed_heads WHERE organization_id = $1), 0)`;

export type EndpointChange = {
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly merchantId: string | null;
  readonly description: string | null;
};

/** The caller has locked the row. */
export async function updateEndpoint(
  queries: Queries,
  { organizationId, endpointId }: EndpointRecord,
  change: EndpointChange,
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE webhook_endpoints SET url = $3, event_types = $4, merchant_id = $5, description = $6,
       verified_at = CASE WHEN url = $3 THEN verified_at END, version = version + 1, updated_at = $7
     WHERE organization_id = $1 AND endpoint_id = $2`,
    [
      organizationId,
      endpointId,
      change.url,
      JSON.stringify(change.eventTypes),
      change.merchantId,
      change.description,
      now,
    ],
  );
}

export async function enableEndpoint(
  queries: Queries,
  { organizationId, endpointId }: EndpointRecord,
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE webhook_endpoints SET status = 'Enabled', disabled_reason = NULL, disabled_at = NULL,
       version = version + 1, updated_at = $3
     WHERE organization_id = $1 AND endpoint_id = $2`,
    [organizationId, endpointId, now],
  );
  // Failures before the endpoint was disabled no longer count.
  await queries.query(
    `UPDATE webhook_delivery_queues SET resting_until = 'epoch', failures = 0, failing_since = NULL
     WHERE organization_id = $1 AND endpoint_id = $2`,
    [organizationId, endpointId],
  );
}

/** Returns undefined if the endpoint is already disabled or has another URL than `url`. */
export async function disableEndpoint(
  queries: Queries,
  { organizationId, endpointId, url }: { organizationId: string; endpointId: string; url?: string },
  reason: string,
  now: string,
): Promise<EndpointRecord | undefined> {
  const rows = await queries.query(
    `UPDATE webhook_endpoints AS e SET ${disableText}, version = e.version + 1, updated_at = $4
     WHERE e.organization_id = $1 AND e.endpoint_id = $2 AND e.status = 'Enabled'
       AND e.url = coalesce($5, e.url)
     RETURNING ${columns}`,
    [organizationId, endpointId, reason, now, url ?? null],
  );
  return toRecords<EndpointRecord>(rows)[0];
}

export async function markVerified(
  queries: Queries,
  row: EndpointRecord,
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE webhook_endpoints SET verified_at = $3 WHERE organization_id = $1 AND endpoint_id = $2`,
    [row.organizationId, row.endpointId, now],
  );
}

export async function replaceEndpointKeys(
  queries: Queries,
  { organizationId, endpointId }: EndpointRecord,
  keys: {
    readonly sealed: Buffer;
    readonly publicKey: string;
    readonly until: string;
    readonly older: readonly OlderKeyJson[];
  },
  now: string,
): Promise<void> {
  await queries.query(
    `UPDATE webhook_endpoints SET previous_sealed = keys_sealed, previous_public_key = public_key,
       previous_until = $5, keys_sealed = $3, public_key = $4, version = version + 1, updated_at = $6,
       older_keys = $7
     WHERE organization_id = $1 AND endpoint_id = $2`,
    [
      organizationId,
      endpointId,
      keys.sealed,
      keys.publicKey,
      keys.until,
      now,
      JSON.stringify(keys.older),
    ],
  );
}

/** Retention deletes the deliveries later. */
export async function deleteEndpoint(queries: Queries, row: EndpointRecord): Promise<void> {
  const key = [row.organizationId, row.endpointId];
  await queries.query(
    'DELETE FROM webhook_delivery_queues WHERE organization_id = $1 AND endpoint_id = $2',
    key,
  );
  await queries.query(
    'DELETE FROM webhook_endpoints WHERE organization_id = $1 AND endpoint_id = $2',
    key,
  );
}
