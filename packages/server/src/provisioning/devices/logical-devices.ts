// Logical devices: positions in a store, and the physical devices that are linked to them.
import type { LogicalDevice } from '@switchyard/contract';
import type { Versioned } from '../../http/index.ts';
import { isoTime, type Queries } from '../../platform/index.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { throwFieldProblem, throwNotFound } from '../resources/provisioning-errors.ts';
import type { ReferencedRows } from '../resources/referenced-rows.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import { createRowRepository, type Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { logicalDevices, physicalDevices, stores } from '../resources/tables.ts';

const physicalRecords = createRowRepository(physicalDevices);

export async function requireStore(
  lookup: ReferencedRows,
  scope: CallerScope,
  storeId: unknown,
): Promise<Row> {
  return (await lookup.findForShare(stores, scope, storeId)) ?? throwNotFound('store_not_found');
}

export const logicalDeviceDefinition: ResourceDefinition<LogicalDevice> = {
  table: logicalDevices,
  notFoundCode: 'device_not_found',
  idMember: 'logicalDeviceId',
  filters: {
    merchantId: (value) => ({ toSql: (placeholder) => `merchant_id = ${placeholder}`, value }),
    storeId: (value) => ({ toSql: (placeholder) => `store_id = ${placeholder}`, value }),
  },
  dependants: [{ type: 'PhysicalDevice', table: physicalDevices, column: 'logical_device_id' }],
  toView: (row) =>
    toResourceView(row, {
      logicalDeviceId: row['logical_device_id'],
      merchantId: row['merchant_id'],
      storeId: row['store_id'],
      ...commonViewMembers(row),
      physicalDeviceIds: row['physical_device_ids'],
    }),
  async toColumns(lookup, scope, input, current) {
    const store = current ?? (await requireStore(lookup, scope, input['storeId']));
    return { merchant_id: store['merchant_id'], store_id: store['store_id'] };
  },
  readOnlyMembers: (row) => ({
    merchantId: row['merchant_id'],
    storeId: row['store_id'],
    physicalDeviceIds: row['physical_device_ids'],
  }),
};

/** The hardware must be in scope, not linked elsewhere, and in stock or with this merchant. */
async function requireLinkable(
  queries: Queries,
  scope: CallerScope,
  logicalDevice: Row,
  ids: readonly string[],
) {
  // Sorted, so that two callers that link the same pair take the locks in the same order.
  for (const id of [...ids].sort()) {
    const pointer = `/physicalDeviceIds/${ids.indexOf(id)}`;
    const device = await physicalRecords.find(queries, scope, id, 'update');
    if (device === undefined) throwNotFound('device_not_found');
    const linked = device['logical_device_id'];
    if (linked !== null && linked !== logicalDevice['logical_device_id']) {
      throwFieldProblem(pointer, 'is linked to another logical device');
    }
    const merchantId = device['merchant_id'];
    if (merchantId !== null && merchantId !== logicalDevice['merchant_id']) {
      throwFieldProblem(pointer, 'belongs to another merchant', 'entity_mismatch');
    }
  }
}

/** Links exactly these physical devices to a logical device, and assigns them to its merchant. */
async function replaceLinkedDevices(
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

export type LogicalDevices = ResourceOperations<LogicalDevice> & {
  /** Replaces the hardware of a logical device as a whole. */
  linkPhysicalDevices(
    scope: CallerScope,
    id: string,
    physicalDeviceIds: readonly string[],
    ifMatch?: string,
  ): Promise<Versioned<LogicalDevice>>;
};

export function createLogicalDevices(deps: ResourceDeps): LogicalDevices {
  const resource = createResourceOperations(deps, logicalDeviceDefinition);
  return {
    ...resource,
    linkPhysicalDevices: (scope, id, physicalDeviceIds, ifMatch) =>
      resource.change(
        scope,
        id,
        ifMatch,
        async (queries, logicalDevice) => {
          await requireLinkable(queries, scope, logicalDevice, physicalDeviceIds);
          await replaceLinkedDevices(
            queries,
            logicalDevice,
            physicalDeviceIds,
            isoTime(deps.clock.now()),
          );
          return {};
        },
        'linked',
      ),
  };
}
