// Lists the devices of an organisation with their connection status, page by page.
import {
  type ConnectedDevice,
  type ConnectionStatus,
  type DeviceAttention,
  type DeviceConnection,
  type DeviceCounts,
  defined,
  formatTsn,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, parseTimestamp } from '../../http/index.ts';
import {
  type Clock,
  createPreparedQueries,
  type Database,
  dayMs,
  isoTime,
  isUuid,
  nilUuid,
  toRecords,
} from '../../platform/index.ts';
import { type Backplane, BackplaneError } from '../nodes/backplane.ts';
import { deviceKeyOf } from './check-device-access.ts';

/** The visible devices: all devices of an organisation, or those of a merchant or store. */
export type DeviceScope = {
  readonly organizationId: string;
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
};

export type DeviceFilter = {
  readonly status?: ConnectionStatus | undefined;
  readonly storeId?: string | undefined;
  readonly merchantId?: string | undefined;
  readonly attention?: DeviceAttention | undefined;
  readonly q?: string | undefined;
  readonly changedSince?: string | undefined;
};

export type DeviceList = {
  list(
    scope: DeviceScope,
    filter: DeviceFilter,
    page: PageRequest,
  ): Promise<FoundPage<ConnectedDevice>>;
  find(scope: DeviceScope, physicalDeviceId: string): Promise<ConnectedDevice | undefined>;
  count(
    scope: DeviceScope,
    filter: Pick<DeviceFilter, 'merchantId' | 'storeId'>,
  ): Promise<DeviceCounts>;
};

/** A device and its presence, as `selectText` reads them. */
type StoredDevice = {
  readonly physicalDeviceId: string;
  readonly make: string;
  readonly model: string;
  readonly serialNumber: string;
  readonly family: string;
  readonly name?: string;
  readonly deviceId?: string;
  readonly storeId?: string;
  readonly merchantId?: string;
  readonly onlineUntil?: number;
  readonly since?: number;
  readonly lastSeenAt?: number;
  readonly node?: string;
  readonly enabled: boolean;
  readonly certificateUntil?: number;
};

/** A device without an assignment has no store or merchant that could disable it. */
const isEnabledText = `(h.status = 'Enabled' AND coalesce(d.status, 'Enabled') = 'Enabled'
    AND coalesce(s.status, 'Enabled') = 'Enabled' AND coalesce(m.status, 'Enabled') = 'Enabled')`;
const certificateExpiry = `(SELECT max(c.not_after) FROM device_certificates c
    WHERE c.organization_id = h.organization_id AND c.physical_device_id = h.physical_device_id
      AND c.revoked_at IS NULL)`;

/**
 * $1 is the organisation, $2 and $3 are the merchant and store of the caller. A device without an
 * assignment belongs to its merchant.
 */
const fromClause = (presence: 'JOIN' | 'LEFT JOIN') => `FROM physical_devices h
  LEFT JOIN logical_devices d ON d.organization_id = h.organization_id
    AND d.logical_device_id = h.logical_device_id AND d.removed_at IS NULL
  LEFT JOIN stores s ON s.organization_id = d.organization_id AND s.store_id = d.store_id
  LEFT JOIN merchants m ON m.organization_id = h.organization_id
    AND m.merchant_id = coalesce(d.merchant_id, h.merchant_id)
  ${presence} device_presence p ON p.organization_id = h.organization_id
    AND p.physical_device_id = h.physical_device_id
  WHERE h.organization_id = $1 AND h.removed_at IS NULL
    AND ($2::uuid IS NULL OR coalesce(d.merchant_id, h.merchant_id) = $2)
    AND ($3::uuid IS NULL OR d.store_id IS NULL OR d.store_id = $3)`;

const selectText = (
  presence: 'JOIN' | 'LEFT JOIN',
) => `SELECT h.physical_device_id, h.make, h.model,
    h.serial_number, h.family, d.name, d.logical_device_id AS device_id, d.store_id,
    coalesce(d.merchant_id, h.merchant_id) AS merchant_id,
    p.online_until, p.since, p.last_seen_at, p.node, ${isEnabledText} AS enabled,
    ${certificateExpiry} AS certificate_until
  ${fromClause(presence)}`;

const findText = `${selectText('LEFT JOIN')} AND h.physical_device_id = $4`;

const placeFilter = `AND ($4::uuid IS NULL OR coalesce(d.merchant_id, h.merchant_id) = $4)
    AND ($5::uuid IS NULL OR d.store_id = $5)`;

/**
 * $9 is the `attention` filter, $10 a search text, $11 `changedSince`, $12 the certificate limit.
 */
const listText = (select: string, status: string) => `${select}
    ${placeFilter}
    AND ${status}
    AND h.physical_device_id > $7
    AND ($9::text IS NULL OR CASE $9
      WHEN 'NeverConnected' THEN p.physical_device_id IS NULL
      WHEN 'Disabled' THEN NOT ${isEnabledText}
      WHEN 'InStock' THEN d.logical_device_id IS NULL
      ELSE ${certificateExpiry} < $12::timestamptz END)
    AND ($10::text IS NULL OR starts_with(lower(d.name), lower($10))
      OR starts_with(lower(h.serial_number), lower($10))
      OR lower(h.make || '_' || h.model || '-' || h.serial_number) = lower($10))
    AND ($11::timestamptz IS NULL OR p.since > $11
      OR (p.online_until > $11 AND p.online_until <= $6))
  ORDER BY h.physical_device_id LIMIT $8`;

const countText = `SELECT count(*) AS devices,
    count(*) FILTER (WHERE p.online_until > $6::timestamptz) AS online,
    count(*) FILTER (WHERE p.physical_device_id IS NULL) AS never_connected,
    count(*) FILTER (WHERE NOT ${isEnabledText}) AS disabled,
    count(*) FILTER (WHERE d.logical_device_id IS NULL) AS in_stock,
    count(*) FILTER (WHERE ${certificateExpiry} < $7::timestamptz) AS certificate_ending
  ${fromClause('LEFT JOIN')} ${placeFilter}`;

/**
 * $6 is the current time. `Online` reads only devices that have connected before, not all devices.
 */
const listTextByStatus = {
  Any: listText(selectText('LEFT JOIN'), '$6::timestamptz IS NOT NULL'),
  Online: listText(selectText('JOIN'), 'p.online_until > $6::timestamptz'),
  Offline: listText(
    selectText('LEFT JOIN'),
    '(p.online_until IS NULL OR p.online_until <= $6::timestamptz)',
  ),
} as const;

/** A certificate needs renewal when less than this time is left. */
const certificateRenewalMs = 30 * dayMs;

const toTime = (at: number | undefined) => (at === undefined ? undefined : isoTime(at));

/** An expired lease means that the node of the device died at that time. */
export function connectionOf(
  device: Pick<StoredDevice, 'onlineUntil' | 'since' | 'lastSeenAt' | 'node'>,
  now: number,
): DeviceConnection {
  const { onlineUntil, since, node } = device;
  const lastSeenAt = toTime(device.lastSeenAt);
  return onlineUntil !== undefined && onlineUntil > now
    ? { status: 'Online', ...defined({ since: toTime(since), lastSeenAt, node }) }
    : { status: 'Offline', ...defined({ since: toTime(onlineUntil ?? since), lastSeenAt }) };
}

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly backplane: Pick<Backplane, 'request'>;
};

/** @example const { items, next } = await createDeviceList(deps).list({ organizationId }, {}, page); */
export function createDeviceList({ database, clock, backplane }: Deps): DeviceList {
  const queries = createPreparedQueries(database, 'connector');

  /**
   * Only the node of the device knows the session; the result is empty if that node is not
   * reachable.
   */
  async function findSession(organizationId: string, physicalDeviceId: string) {
    try {
      const key = deviceKeyOf({ organizationId, physicalDeviceId });
      const answer = await backplane.request(key, { kind: 'status' });
      return answer === undefined ? {} : { inSession: answer['claimed'] === true };
    } catch (error) {
      if (error instanceof BackplaneError) return {};
      throw error;
    }
  }

  async function toConnectedDevice(
    organizationId: string,
    device: StoredDevice,
  ): Promise<ConnectedDevice> {
    const { physicalDeviceId, make, model, serialNumber, family, enabled } = device;
    const { name, deviceId, storeId, merchantId } = device;
    const connection = connectionOf(device, clock.now());
    const session =
      connection.status === 'Online' ? await findSession(organizationId, physicalDeviceId) : {};
    return {
      physicalDeviceId,
      tsn: formatTsn({ make, model, serialNumber }),
      family,
      ...defined({ name, deviceId, storeId, merchantId }),
      enabled,
      ...defined({ certificateExpiresAt: toTime(device.certificateUntil) }),
      connection: { ...connection, ...session },
    };
  }

  const scopeValues = ({ organizationId, merchantId, storeId }: DeviceScope) => [
    organizationId,
    merchantId ?? null,
    storeId ?? null,
  ];

  const certificateLimit = () => isoTime(clock.now() + certificateRenewalMs);

  return {
    async list(scope, filter, { limit, after = nilUuid }) {
      const { status, storeId, merchantId, attention, q } = filter;
      const since = filter.changedSince && parseTimestamp(filter.changedSince, '?changedSince');
      const rows = await queries.query(listTextByStatus[status ?? 'Any'], [
        ...scopeValues(scope),
        merchantId ?? null,
        storeId ?? null,
        isoTime(clock.now()),
        after,
        limit + 1,
        attention ?? null,
        q ?? null,
        since ?? null,
        certificateLimit(),
      ]);
      const devices = toRecords<StoredDevice>(rows.slice(0, limit));
      const items = await Promise.all(
        devices.map((device) => toConnectedDevice(scope.organizationId, device)),
      );
      return { items, next: rows.length > limit ? items.at(-1)?.physicalDeviceId : undefined };
    },
    async find(scope, physicalDeviceId) {
      if (!isUuid(physicalDeviceId)) return undefined;
      const rows = await queries.query(findText, [...scopeValues(scope), physicalDeviceId]);
      const [device] = toRecords<StoredDevice>(rows);
      return device && toConnectedDevice(scope.organizationId, device);
    },
    async count(scope, { merchantId, storeId }) {
      const at = isoTime(clock.now());
      const rows = await queries.query(countText, [
        ...scopeValues(scope),
        merchantId ?? null,
        storeId ?? null,
        at,
        certificateLimit(),
      ]);
      const [counts] = toRecords<Omit<DeviceCounts, 'at'>>(rows);
      if (counts === undefined) throw new Error('the count of devices has no row');
      return { at, ...counts };
    },
  };
}
