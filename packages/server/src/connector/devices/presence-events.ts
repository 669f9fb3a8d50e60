// Publishes events for devices that have connected or disconnected for a minimum time.
import { defined, formatTsn } from '@switchyard/contract';
import {
  bucketSql,
  type Clock,
  createPoller,
  type Database,
  isoTime,
  type Log,
  type OutboxEventData,
  type OutboxEventMapper,
  type Poller,
  toRecords,
} from '../../platform/index.ts';
import type { ConnectorTimes } from '../runtime/connector-settings.ts';
import { leaseRenewalMs } from './device-presence.ts';

/** The maximum number of rows of each kind in one statement. */
const rowsMax = 500;

/**
 * $1 is the current time. A device must have its state since $2 or earlier, and its last event must
 * be at $3 or earlier. The lease of a dead node expires later than the minimum time; $5 decides if
 * the statement includes such leases.
 */
const publishText = `WITH came AS (
    SELECT organization_id, physical_device_id FROM device_presence
    WHERE NOT reported_online AND online_until IS NOT NULL AND online_until > $1 AND since <= $2
      AND (reported_at IS NULL OR reported_at <= $3)
    ORDER BY since LIMIT $4 FOR UPDATE SKIP LOCKED
  ), went AS (
    SELECT organization_id, physical_device_id FROM device_presence
    WHERE reported_online AND online_until IS NULL AND since <= $2 AND reported_at <= $3
    ORDER BY since LIMIT $4 FOR UPDATE SKIP LOCKED
  ), lapsed AS (
    SELECT organization_id, physical_device_id FROM device_presence
    WHERE $5 AND reported_online AND online_until <= $1 AND reported_at <= $3
    ORDER BY online_until LIMIT $4 FOR UPDATE SKIP LOCKED
  ), changed AS (
    UPDATE device_presence p SET reported_online = NOT p.reported_online, reported_at = $1,
      reported_since = CASE WHEN p.online_until <= $1 THEN p.online_until ELSE p.since END,
      changes = p.changes + 1
    FROM (SELECT * FROM came UNION ALL SELECT * FROM went UNION ALL SELECT * FROM lapsed) AS due
    WHERE p.organization_id = due.organization_id
      AND p.physical_device_id = due.physical_device_id
    RETURNING p.organization_id, p.physical_device_id, p.reported_online, p.changes
  )
  INSERT INTO outbox (bucket, organization_id, outbox_id, kind, subject_id, sequence, created_at)
  SELECT ${bucketSql('physical_device_id')}, organization_id, gen_random_uuid(),
    CASE WHEN reported_online THEN 'device.online' ELSE 'device.offline' END,
    physical_device_id, changes, $1
  FROM changed RETURNING subject_id`;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: Pick<ConnectorTimes, 'stateStableMs' | 'eventIntervalMs' | 'eventPollMs'>;
};

/**
 * Several processes may publish: one of them publishes each row. While the database is unavailable,
 * no node can renew its leases. After that, an expired lease says nothing about a device until all
 * nodes had time to renew.
 *
 * @example createPresencePublisher(deps).start();
 */
export function createPresencePublisher({ database, clock, log, times }: Deps): Poller {
  let wasDatabaseDown = false;
  let leasesTrustedFrom = 0;
  return createPoller({
    pollMs: times.eventPollMs,
    async poll() {
      const now = clock.now();
      const published = await database.query(publishText, [
        isoTime(now),
        isoTime(now - times.stateStableMs),
        isoTime(now - times.eventIntervalMs),
        rowsMax,
        !wasDatabaseDown && now >= leasesTrustedFrom,
      ]);
      if (wasDatabaseDown) leasesTrustedFrom = now + leaseRenewalMs;
      wasDatabaseDown = false;
      return published.length >= rowsMax;
    },
    onError(error) {
      wasDatabaseDown = true;
      log.error(
        { err: error },
        'the server could not publish events of connected and disconnected devices',
      );
    },
  });
}

type EventRecord = {
  outboxId: string;
  merchantId?: string;
  storeId?: string;
  deviceId?: string;
  physicalDeviceId: string;
  make: string;
  model: string;
  serialNumber: string;
  since?: number;
};

const readEventDataText = `SELECT r.outbox_id, coalesce(d.merchant_id, h.merchant_id) AS merchant_id,
    d.store_id, d.logical_device_id AS device_id, h.physical_device_id, h.make, h.model, h.serial_number,
    p.reported_since AS since
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS r(organization_id, physical_device_id, outbox_id)
  JOIN physical_devices h ON h.organization_id = r.organization_id
    AND h.physical_device_id = r.physical_device_id
  LEFT JOIN logical_devices d ON d.organization_id = h.organization_id
    AND d.logical_device_id = h.logical_device_id AND d.removed_at IS NULL
  LEFT JOIN device_presence p ON p.organization_id = h.organization_id
    AND p.physical_device_id = h.physical_device_id`;

function eventDataOf(event: Omit<EventRecord, 'outboxId'>): OutboxEventData {
  const { merchantId, make, model, serialNumber, since, ...data } = event;
  return {
    merchantId: merchantId ?? null,
    data: {
      ...data,
      tsn: formatTsn({ make, model, serialNumber }),
      ...defined({ since: since === undefined ? undefined : isoTime(since) }),
    },
  };
}

/** Reads the data of a batch with one query. */
export const presenceEvents: OutboxEventMapper = {
  prefix: 'device.',
  async read(rows, trx) {
    const values = [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.subjectId),
      rows.map((row) => row.outboxId),
    ];
    const events = toRecords<EventRecord>(await trx.query(readEventDataText, values));
    return new Map(events.map(({ outboxId, ...event }) => [outboxId, eventDataOf(event)]));
  },
};
