// Defines the entities that import lines can change, with the schemas and rules of single routes.
import {
  type BulkType,
  bulkDeletions,
  bulkParents,
  LogicalDeviceInput,
  LogicalDeviceReplacement,
  MerchantInput,
  MerchantReplacement,
  PhysicalDeviceInput,
  PhysicalDeviceReplacement,
  PointOfSaleInput,
  PointOfSaleReplacement,
  StoreInput,
  StoreReplacement,
} from '@switchyard/contract';
import type { TObject } from 'typebox';
import { logicalDeviceDefinition } from '../../devices/logical-devices.ts';
import { physicalDeviceDefinition } from '../../devices/physical-devices.ts';
import { createPointOfSaleDefinition } from '../../devices/points-of-sale.ts';
import { merchantDefinition } from '../../merchants/merchants.ts';
import { storeDefinition } from '../../merchants/stores.ts';
import type { ResourceDefinition } from '../../resources/resource-definition.ts';
import type { EntityTable } from '../../resources/resource-sql.ts';
import { logicalDevices, merchants, stores } from '../../resources/tables.ts';

/** A parent of the entity, which the line names by identifier or by external identifier. */
export type Parent = {
  readonly member: string;
  readonly external: string;
  readonly table: EntityTable;
  readonly notFound: 'merchant_not_found' | 'store_not_found' | 'device_not_found';
  /** The column with which rows below refer to the parent. */
  readonly column: string;
};

export type BulkKind = {
  readonly type: BulkType;
  readonly kind: ResourceDefinition<object>;
  readonly input: TObject;
  readonly replacement: TObject;
  readonly deletion: TObject;
  /** The additional members of a line: external identifiers of parents, the logical device. */
  readonly besides: TObject;
  /** From the top down; each parent limits the search for the next one. */
  readonly parents: readonly Parent[];
  /** The parent that limits the search for the entity's own external identifier. */
  readonly within?: Parent;
  /** Only a caller of the organisation may create and delete this kind. */
  readonly organizationOnly?: true;
  /** Hardware can also be identified by serial number, and is linked to a logical device. */
  readonly isHardware?: true;
};

const merchant: Parent = {
  member: 'merchantId',
  external: 'merchantExternalId',
  table: merchants,
  notFound: 'merchant_not_found',
  column: 'merchant_id',
};
const store: Parent = {
  member: 'storeId',
  external: 'storeExternalId',
  table: stores,
  notFound: 'store_not_found',
  column: 'store_id',
};
/** The logical device that hardware is linked to. */
export const place: Parent = {
  member: 'logicalDeviceId',
  external: 'logicalDeviceExternalId',
  table: logicalDevices,
  notFound: 'device_not_found',
  column: 'logical_device_id',
};

/** `credentials.ts` writes the credentials with the rows; the decision about a line does not. */
function notHere(): never {
  throw new Error('whoever judges a line makes no credentials');
}

/** The order in which rows are locked and written: parents first. */
export const bulkKinds: readonly BulkKind[] = [
  {
    type: 'merchant',
    kind: merchantDefinition,
    input: MerchantInput,
    replacement: MerchantReplacement,
    deletion: bulkDeletions.merchant,
    besides: bulkParents.merchant,
    parents: [],
    organizationOnly: true,
  },
  {
    type: 'store',
    kind: storeDefinition,
    input: StoreInput,
    replacement: StoreReplacement,
    deletion: bulkDeletions.store,
    besides: bulkParents.store,
    parents: [merchant],
    within: merchant,
  },
  {
    type: 'logicalDevice',
    kind: logicalDeviceDefinition,
    input: LogicalDeviceInput,
    replacement: LogicalDeviceReplacement,
    deletion: bulkDeletions.logicalDevice,
    besides: bulkParents.logicalDevice,
    parents: [merchant, store],
    within: store,
  },
  {
    type: 'physicalDevice',
    kind: physicalDeviceDefinition,
    input: PhysicalDeviceInput,
    replacement: PhysicalDeviceReplacement,
    deletion: bulkDeletions.physicalDevice,
    besides: bulkParents.physicalDevice,
    parents: [merchant, store, place],
    isHardware: true,
  },
  {
    type: 'pointOfSale',
    kind: createPointOfSaleDefinition(notHere),
    input: PointOfSaleInput,
    replacement: PointOfSaleReplacement,
    deletion: bulkDeletions.pointOfSale,
    besides: bulkParents.pointOfSale,
    parents: [merchant, store],
    within: store,
  },
];

const byType = new Map<string, BulkKind>(bulkKinds.map((one) => [one.type, one]));

export function bulkKindOf(type: string): BulkKind {
  const found = byType.get(type);
  if (found === undefined) throw new RangeError(`no import has lines of the type ${type}`);
  return found;
}
