// Finds a logical device by identifier or serial number, with the hardware that is linked to it.
import { defined } from '@switchyard/contract';
import { type Clock, createPreparedQueries, type Database, isUuid } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';
import { createShortLivedCache } from '../resources/short-lived-cache.ts';

/** The members of the hardware are all present, or all absent if no hardware is linked. */
export type FoundDevice = {
  readonly logicalDeviceId: string;
  readonly storeId: string;
  readonly merchantId: string;
  readonly physicalDeviceId?: string;
  readonly serialNumber?: string;
  readonly make?: string;
  readonly model?: string;
  readonly family?: string;
};

export type DeviceFinder = {
  /** Also undefined if the device, its store, its merchant or an organisation above is disabled. */
  find(
    organizationId: string,
    merchantId: string | undefined,
    nameOrId: string,
  ): Promise<FoundDevice | undefined>;
  invalidateOrganization(organizationId: string): void;
  clear(): void;
};

export type ParsedDeviceName = {
  readonly id?: string;
  readonly serialNumber?: string;
  readonly makeAndModel?: string;
};

/** `MAKE_MODEL-serial`, a serial number without a hyphen, or an identifier. */
const namePattern = /^(?:(?<makeAndModel>[A-Z0-9_]{1,64})-)?(?<serial>[A-Za-z0-9._]{1,32})$/;

/**
 * $1: the organisation. $2: the identifier of a logical or physical device. $3: a serial number.
 * $4: the make and model before the serial number, if the client sent them.
 */
const findDeviceText = `WITH named AS (
    SELECT physical_device_id, logical_device_id FROM physical_devices
    WHERE organization_id = $1 AND removed_at IS NULL AND status = 'Enabled'
      AND (physical_device_id = $2::uuid
        OR serial_number = $3 AND make || '_' || model = coalesce($4, make || '_' || model))
  )
  SELECT d.logical_device_id, d.store_id, d.merchant_id,
    p.physical_device_id, p.serial_number, p.make, p.model, p.family
  FROM logical_devices d
  JOIN stores s ON s.organization_id = d.organization_id AND s.store_id = d.store_id
  JOIN merchants m ON m.organization_id = d.organization_id AND m.merchant_id = d.merchant_id
  JOIN organizations o ON o.organization_id = d.organization_id
  LEFT JOIN LATERAL (
    SELECT * FROM physical_devices h
    WHERE h.organization_id = d.organization_id AND h.logical_device_id = d.logical_device_id
      AND h.removed_at IS NULL AND h.status = 'Enabled'
      AND h.physical_device_id
        = coalesce((SELECT physical_device_id FROM named), h.physical_device_id)
    ORDER BY h.physical_device_id LIMIT 1
  ) p ON true
  WHERE d.organization_id = $1
    AND d.logical_device_id = coalesce((SELECT logical_device_id FROM named), $2::uuid)
    AND d.removed_at IS NULL AND s.removed_at IS NULL AND m.removed_at IS NULL
    AND o.removed_at IS NULL AND d.status = 'Enabled' AND s.status = 'Enabled'
    AND m.status = 'Enabled' AND o.status = 'Enabled'
    AND NOT EXISTS (SELECT 1 FROM organizations a
      WHERE a.organization_id = ANY (o.ancestor_ids) AND a.status = 'Disabled')`;

/** Returns undefined if no device can have such a name. */
export function parseDeviceName(text: string): ParsedDeviceName | undefined {
  if (isUuid(text)) return { id: text };
  const { makeAndModel, serial } = namePattern.exec(text)?.groups ?? {};
  if (serial === undefined) return undefined;
  return { serialNumber: serial, ...defined({ makeAndModel }) };
}

function toFoundDevice(row: Row): FoundDevice {
  const logicalDevice = {
    logicalDeviceId: String(row['logical_device_id']),
    storeId: String(row['store_id']),
    merchantId: String(row['merchant_id']),
  };
  if (row['physical_device_id'] === null) return logicalDevice;
  return {
    ...logicalDevice,
    physicalDeviceId: String(row['physical_device_id']),
    serialNumber: String(row['serial_number']),
    make: String(row['make']),
    model: String(row['model']),
    family: String(row['family']),
  };
}

/** @example const device = await finder.find(organizationId, merchantId, 'AXIUM_DX8000-10000001'); */
export function createDeviceFinder({
  database,
  clock,
}: {
  database: Database;
  clock: Clock;
}): DeviceFinder {
  const cache = createShortLivedCache<FoundDevice | undefined>(clock);
  // Planning this many joins takes longer than running them, so the statement is prepared.
  const queries = createPreparedQueries(database, 'provisioning');

  async function load(
    organizationId: string,
    name: ParsedDeviceName,
  ): Promise<FoundDevice | undefined> {
    const [row] = await queries.query(findDeviceText, [
      organizationId,
      name.id ?? null,
      name.serialNumber ?? null,
      name.makeAndModel ?? null,
    ]);
    return row === undefined ? undefined : toFoundDevice(row);
  }

  return {
    async find(organizationId, merchantId, nameOrId) {
      const name = parseDeviceName(nameOrId);
      if (name === undefined) return undefined;
      const device = await cache.get(organizationId, `${organizationId}|${nameOrId}`, () =>
        load(organizationId, name),
      );
      return merchantId === undefined || device?.merchantId === merchantId ? device : undefined;
    },
    invalidateOrganization: cache.invalidateOrganization,
    clear: cache.clear,
  };
}
