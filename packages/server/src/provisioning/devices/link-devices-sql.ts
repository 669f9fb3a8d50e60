// SQL that links physical devices to a logical device.
import type { Queries } from '../../platform/index.ts';
import type { Row } from '../resources/resource-sql.ts';

/** Links exactly these physical devices to a logical device, and assigns them to its merchant. */
export async function replaceLinkedDevices(
  queries: Queries,
  logicalDevice: Row,
  physicalDeviceIds: readonly string[],
  now: string,
): Promise<void> {
  const organizationId = logicalDevice['organization_id'];
  const id = logicalDevice['logical_device_id'];
  const [first = null, second = null] = physicalDeviceIds;
  await queries.query(
    `UPDATE physical_devices
     SET logical_device_id = NULL, version = version + 1, updated_at = $3
     WHERE organization_id = $1 AND logical_device_id = $2
       AND physical_device_id IS DISTINCT FROM $4 AND physical_device_id IS DISTINCT FROM $5`,
    [organizationId, id, now, first, second],
  );
  for (const physicalDeviceId of physicalDeviceIds) {
    await queries.query(
      `UPDATE physical_devices
       SET logical_device_id = $3, merchant_id = $4, version = version + 1, updated_at = $5
       WHERE organization_id = $1 AND physical_device_id = $2
         AND logical_device_id IS DISTINCT FROM $3`,
      [organizationId, physicalDeviceId, id, logicalDevice['merchant_id'], now],
    );
  }
}
