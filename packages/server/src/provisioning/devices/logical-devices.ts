// Logical devices: positions in a store, and the physical devices that are linked to them.
import type { LogicalDevice } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { Scope } from '../resources/caller-scope.ts';
import { refuseField, refuseUnknown } from '../resources/provisioning-errors.ts';
import type { Lookup } from '../resources/referenced-rows.ts';
import type { Kind } from '../resources/resource-definition.ts';
import {
  createResource,
  type Deps,
  type Resource,
  type Versioned,
} from '../resources/resource-operations.ts';
import { createRecords, type Row, type Run } from '../resources/resource-sql.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import { logicalDevices, physicalDevices, stores } from '../resources/tables.ts';
import { fillPlace } from './link-devices-sql.ts';

const physicalRecords = createRecords(physicalDevices);

export async function requireStore(lookup: Lookup, scope: Scope, storeId: unknown): Promise<Row> {
  return (await lookup.share(stores, scope, storeId)) ?? refuseUnknown('store_not_found');
}

export const logicalDeviceKind: Kind<LogicalDevice> = {
  table: logicalDevices,
  notFound: 'device_not_found',
  idMember: 'logicalDeviceId',
  filters: {
    merchantId: (value) => ({ of: (placeholder) => `merchant_id = ${placeholder}`, value }),
    storeId: (value) => ({ of: (placeholder) => `store_id = ${placeholder}`, value }),
  },
  dependants: [{ type: 'PhysicalDevice', table: physicalDevices, column: 'logical_device_id' }],
  toView: (row) =>
    viewOf(row, {
      logicalDeviceId: row['logical_device_id'],
      merchantId: row['merchant_id'],
      storeId: row['store_id'],
      ...commonMembers(row),
      physicalDeviceIds: row['physical_device_ids'],
    }),
  async columns(lookup, scope, input, current) {
    const store = current ?? (await requireStore(lookup, scope, input['storeId']));
    return { merchant_id: store['merchant_id'], store_id: store['store_id'] };
  },
  readOnly: (row) => ({
    merchantId: row['merchant_id'],
    storeId: row['store_id'],
    physicalDeviceIds: row['physical_device_ids'],
  }),
};

/** The hardware must be in scope, not linked elsewhere, and in stock or with this merchant. */
async function requireFree(run: Run, scope: Scope, place: Row, ids: readonly string[]) {
  // Sorted, so that two callers that link the same pair take the locks in the same order.
  for (const id of [...ids].sort()) {
    const pointer = `/physicalDeviceIds/${ids.indexOf(id)}`;
    const device = await physicalRecords.find(run, scope, id, 'take');
    if (device === undefined) refuseUnknown('device_not_found');
    const linked = device['logical_device_id'];
    if (linked !== null && linked !== place['logical_device_id']) {
      refuseField(pointer, 'is linked to another logical device');
    }
    const merchantId = device['merchant_id'];
    if (merchantId !== null && merchantId !== place['merchant_id']) {
      refuseField(pointer, 'belongs to another merchant', 'entity_mismatch');
    }
  }
}

export type LogicalDevices = Resource<LogicalDevice> & {
  /** Replaces the hardware of a logical device as a whole. */
  link(
    scope: Scope,
    id: string,
    physicalDeviceIds: readonly string[],
    ifMatch?: string,
  ): Promise<Versioned<LogicalDevice>>;
};

export function createLogicalDevices(deps: Deps): LogicalDevices {
  const resource = createResource(deps, logicalDeviceKind);
  return {
    ...resource,
    link: (scope, id, physicalDeviceIds, ifMatch) =>
      resource.change(
        scope,
        id,
        ifMatch,
        async (run, place) => {
          await requireFree(run, scope, place, physicalDeviceIds);
          await fillPlace(run, place, physicalDeviceIds, isoTime(deps.clock.now()));
          return {};
        },
        'linked',
      ),
  };
}
