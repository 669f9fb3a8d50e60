// Links the physical device of a line to the logical device that the line names.
import { throwFieldProblem, throwNotFound } from '../../resources/provisioning-errors.ts';
import type { Row } from '../../resources/resource-sql.ts';
import { logicalDevices } from '../../resources/tables.ts';
import { logicalDeviceReference } from '../body/importable-types.ts';
import type { ImportLine } from '../body/parse-line.ts';
import type { RowCache } from './row-cache.ts';
import { idRowKey } from './row-keys.ts';

/** The maximum number of physical devices of one logical device. */
const physicalDevicesMax = 2;

const physicalDeviceIdsOf = (row: Row) => row['physical_device_ids'] as readonly string[];

/**
 * Returns the logical device that the line names, if the device can be linked to it. Returns
 * undefined if the line names none; the device then keeps its link.
 */
export function findLogicalDeviceToLink(
  { lineMembers }: ImportLine,
  parents: ReadonlyMap<string, string>,
  rowCache: RowCache,
  device: Row | undefined,
): Row | undefined {
  const id = parents.get(logicalDeviceReference.idMember);
  if (id === undefined) return undefined;
  const pointer = `/${logicalDeviceReference.externalIdMember in lineMembers ? logicalDeviceReference.externalIdMember : logicalDeviceReference.idMember}`;
  const [logicalDevice] = rowCache.requireRows(logicalDevices, idRowKey(id), true);
  if (logicalDevice === undefined) return throwNotFound(logicalDeviceReference.notFound);
  const linked = device?.['logical_device_id'] ?? null;
  if (linked !== null && linked !== logicalDevice['logical_device_id']) {
    throwFieldProblem(pointer, 'is not the logical device that this physical device is linked to');
  }
  if (linked === null && physicalDeviceIdsOf(logicalDevice).length >= physicalDevicesMax) {
    throwFieldProblem(pointer, `already has ${physicalDevicesMax} physical devices`);
  }
  const merchantId = parents.get('merchantId');
  if (merchantId !== undefined && merchantId !== logicalDevice['merchant_id']) {
    throwFieldProblem(pointer, 'belongs to another merchant', 'entity_mismatch');
  }
  return logicalDevice;
}

/** Returns the same row if the device is already linked to it. */
export function withPhysicalDevice(logicalDevice: Row, deviceId: string, now: string): Row {
  const ids = physicalDeviceIdsOf(logicalDevice);
  if (ids.includes(deviceId)) return logicalDevice;
  return {
    ...logicalDevice,
    physical_device_ids: [...ids, deviceId].sort(),
    version: Number(logicalDevice['version']) + 1,
    updated_at: now,
  };
}
