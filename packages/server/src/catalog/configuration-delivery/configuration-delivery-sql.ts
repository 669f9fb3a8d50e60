// SQL for deliveries: the versions that devices read, the request times, and acknowledgements.
import {
  type DeviceAcknowledgement,
  defined,
  type FleetDeviceDelivery,
} from '@switchyard/contract';
import {
  isoTime,
  type PublicSigningKey,
  publicSigningKey,
  type Queries,
  toRecords,
} from '../../platform/index.ts';
import type { DesiredVersions, VersionsByService } from './device-document.ts';

/** Times in epoch milliseconds. */
export type DeliveryRecord = {
  requestedAt: number;
  sentVersion: string;
  sentServices: VersionsByService;
  sentAt: number;
  appliedVersion?: string;
  appliedServices?: VersionsByService;
  appliedAt?: number;
  failedVersion?: string;
  failedReason?: string;
  failedAt?: number;
};

export type SentConfiguration = DesiredVersions & {
  readonly organizationId: string;
  readonly logicalDeviceId: string;
};

/**
 * One statement for all simultaneous requests; sent_at is the time when a version was first sent.
 */
const sentConfigurationsSql = `INSERT INTO device_configurations AS d
    (organization_id, logical_device_id, requested_at, sent_version, sent_services, sent_at)
  SELECT r."organizationId", r."logicalDeviceId", $2, r.version, r.versions, $2
  FROM jsonb_to_recordset($1::jsonb)
    AS r("organizationId" uuid, "logicalDeviceId" uuid, version text, versions jsonb)
  ON CONFLICT (organization_id, logical_device_id) DO UPDATE SET
    requested_at = excluded.requested_at,
    sent_at = CASE WHEN d.sent_version = excluded.sent_version THEN d.sent_at
      ELSE excluded.sent_at END,
    sent_version = excluded.sent_version, sent_services = excluded.sent_services`;

export async function recordSentConfigurations(
  queries: Queries,
  sent: readonly SentConfiguration[],
  now: string,
): Promise<void> {
  await queries.query(sentConfigurationsSql, [JSON.stringify(sent), now]);
}

const columns = `d.requested_at, d.sent_version, d.sent_services, d.sent_at, d.applied_version,
  d.applied_services, d.applied_at, d.failed_version, d.failed_reason, d.failed_at`;

export async function findDelivery(
  queries: Queries,
  organizationId: string,
  logicalDeviceId: string,
): Promise<DeliveryRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${columns} FROM device_configurations d
     WHERE organization_id = $1 AND logical_device_id = $2`,
    [organizationId, logicalDeviceId],
  );
  return toRecords<DeliveryRecord>(rows)[0];
}

/** The last acknowledgement counts; a repeated one changes nothing, so its first time stays. */
const acknowledgementSql = `UPDATE device_configurations SET
    applied_version = CASE WHEN $4 THEN $3 WHEN applied_version = $3 THEN NULL
      ELSE applied_version END,
    applied_services = CASE WHEN $4 THEN $5::jsonb WHEN applied_version = $3 THEN NULL
      ELSE applied_services END,
    applied_at = CASE WHEN $4 THEN $7::timestamptz WHEN applied_version = $3 THEN NULL
      ELSE applied_at END,
    failed_version = CASE WHEN $4 THEN NULL ELSE $3 END,
    failed_reason = CASE WHEN $4 THEN NULL ELSE $6 END,
    failed_at = CASE WHEN $4 THEN NULL ELSE $7::timestamptz END
  WHERE organization_id = $1 AND logical_device_id = $2
    AND CASE WHEN $4 THEN applied_version IS DISTINCT FROM $3 OR failed_version IS NOT NULL
      ELSE failed_version IS DISTINCT FROM $3 OR failed_reason IS DISTINCT FROM $6 END`;

export async function recordAcknowledgement(
  queries: Queries,
  key: { organizationId: string; logicalDeviceId: string },
  { version, applied, reason }: DeviceAcknowledgement,
  { versions, now }: { versions: VersionsByService; now: string },
): Promise<void> {
  await queries.query(acknowledgementSql, [
    key.organizationId,
    key.logicalDeviceId,
    version,
    applied,
    JSON.stringify(versions),
    reason ?? null,
    now,
  ]);
}

export type DeliveryQuery = {
  readonly status?: 'Pending' | 'Applied' | 'Failed';
  readonly serviceId?: string;
  readonly merchantId?: string;
  readonly storeId?: string;
};

/** A device that never asked has no delivery. */
type DeviceDeliveryRecord = Partial<DeliveryRecord> & {
  logicalDeviceId: string;
  storeId: string;
  merchantId: string;
  deliveryStatus: FleetDeviceDelivery['status'];
};

/**
 * Organisations nest less deep than this; the limit also stops at an unexpected cycle of parents.
 */
const ancestorsMax = 16;

/** True if a configuration at the device or above it changed after the device last asked. */
const changedSinceSql = `EXISTS (
    SELECT FROM service_configurations c
    WHERE c.organization_id = ANY (above.ids) AND c.updated_at > d.requested_at
      AND c.entity_id = ANY (above.ids || ARRAY[l.merchant_id, l.store_id, l.logical_device_id])
      AND ($2::uuid IS NULL OR c.service_id = $2))`;

/** Compares the versions of one service if it is given, otherwise the version of all services. */
const deliveryStatusSql = `CASE
    WHEN d.sent_version IS NULL THEN 'Pending'
    WHEN ${changedSinceSql} THEN 'Pending'
    WHEN coalesce(CASE WHEN $2::uuid IS NULL THEN d.applied_version = d.sent_version
      ELSE d.applied_services ->> $2::text = d.sent_services ->> $2::text END, false) THEN 'Applied'
    WHEN d.failed_version = d.sent_version THEN 'Failed'
    ELSE 'Pending' END`;

/**
 * A device that never asked is pending; with a service filter, the list omits it. The statement
 * examines at most $8 devices, so that a page stays cheap when few devices match. It also returns
 * the last examined device, if more devices may follow.
 */
const deliveriesSql = `WITH RECURSIVE line AS (
    SELECT organization_id, parent_organization_id, 0 AS height
    FROM organizations WHERE organization_id = $1
    UNION ALL
    SELECT o.organization_id, o.parent_organization_id, line.height + 1
    FROM line JOIN organizations o ON o.organization_id = line.parent_organization_id
    WHERE line.height < ${ancestorsMax}
  ), above AS (SELECT array_agg(organization_id) AS ids FROM line),
  looked AS (
    SELECT l.logical_device_id, l.store_id, l.merchant_id, ${columns},
      ${deliveryStatusSql} AS delivery_status
    FROM logical_devices l CROSS JOIN above
    LEFT JOIN device_configurations d
      ON d.organization_id = $1 AND d.logical_device_id = l.logical_device_id
    WHERE l.organization_id = $1 AND l.removed_at IS NULL
      AND ($3::uuid IS NULL OR l.merchant_id = $3) AND ($4::uuid IS NULL OR l.store_id = $4)
      AND ($6::uuid IS NULL OR l.logical_device_id > $6)
      AND ($5::text IS DISTINCT FROM 'Failed' OR d.failed_version IS NOT NULL)
    ORDER BY l.logical_device_id LIMIT $8
  ), fleet AS (
    SELECT * FROM looked
    WHERE ($5::text IS NULL OR delivery_status = $5)
      AND ($2::uuid IS NULL OR sent_services ? $2::text)
    ORDER BY logical_device_id LIMIT $7
  )
  SELECT fleet.*, (SELECT logical_device_id FROM looked ORDER BY 1 OFFSET $8 - 1) AS looked_until
  FROM (VALUES (1)) one LEFT JOIN fleet ON true ORDER BY fleet.logical_device_id`;

/** The next page examines further devices. */
const examinedDevicesMax = 5_000;

export type DeliveryPage = {
  readonly rows: readonly DeviceDeliveryRecord[];
  /** The last row of a full page, or the last examined device if more may follow. */
  readonly next?: string;
};

export async function listDeliveries(
  queries: Queries,
  organizationId: string,
  { status, serviceId, merchantId, storeId }: DeliveryQuery,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<DeliveryPage> {
  const isFiltered = (status ?? serviceId) !== undefined;
  const found = await queries.query(deliveriesSql, [
    organizationId,
    serviceId?.toLowerCase() ?? null,
    merchantId ?? null,
    storeId ?? null,
    status ?? null,
    after ?? null,
    limit + 1,
    isFiltered ? examinedDevicesMax : limit + 1,
  ]);
  const records = toRecords<DeviceDeliveryRecord & { lookedUntil?: string }>(found);
  const rows = records.filter(({ logicalDeviceId }) => logicalDeviceId !== undefined);
  const pageRows = rows.slice(0, limit);
  const next = rows.length > limit ? pageRows.at(-1)?.logicalDeviceId : records[0]?.lookedUntil;
  return { rows: pageRows, ...defined({ next }) };
}

/** Converts the members about the delivery into an API response. */
export function toDeliveryView({
  requestedAt,
  sentVersion,
  sentAt,
  appliedVersion,
  appliedAt,
  failedVersion,
  failedReason,
  failedAt,
}: Partial<DeliveryRecord>): Omit<
  FleetDeviceDelivery,
  'logicalDeviceId' | 'status' | 'merchantId' | 'storeId'
> {
  const failure =
    failedVersion === undefined || failedAt === undefined
      ? undefined
      : { version: failedVersion, at: isoTime(failedAt), ...defined({ reason: failedReason }) };
  return defined({
    requestedAt: toTime(requestedAt),
    sentVersion,
    sentAt: toTime(sentAt),
    appliedVersion,
    appliedAt: toTime(appliedAt),
    failure,
  });
}

const toTime = (at: number | undefined) => (at === undefined ? undefined : isoTime(at));

/** More than the number of master keys that an installation ever has. */
const olderKeysMax = 99;

export async function insertSigningKey(
  queries: Queries,
  { kid, x }: PublicSigningKey,
  now: string,
): Promise<void> {
  await queries.query(
    `INSERT INTO device_configuration_keys (key_id, public_key, created_at) VALUES ($1, $2, $3)
     ON CONFLICT (key_id) DO NOTHING`,
    [kid, x, now],
  );
}

/** The public keys of previous master keys, newest first. */
export async function listOlderSigningKeys(
  queries: Queries,
  currentKeyId: string,
): Promise<PublicSigningKey[]> {
  const rows = await queries.query(
    `SELECT public_key FROM device_configuration_keys WHERE key_id <> $1
     ORDER BY created_at DESC, key_id LIMIT ${olderKeysMax}`,
    [currentKeyId],
  );
  return rows.map((row) => publicSigningKey(String(row['public_key'])));
}
