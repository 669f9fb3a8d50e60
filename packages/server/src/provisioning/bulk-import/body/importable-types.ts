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
export type ParentReference = {
  readonly idMember: string;
  readonly externalIdMember: string;
  readonly table: EntityTable;
  readonly notFound: 'merchant_not_found' | 'store_not_found' | 'device_not_found';
  /** The column with which rows below refer to the parent. */
  readonly column: string;
};

export type ImportableType = {
  readonly type: BulkType;
  readonly definition: ResourceDefinition<object>;
  readonly input: TObject;
  readonly replacement: TObject;
  readonly deletion: TObject;
  /** The additional members of a line: external identifiers of parents, the logical device. */
  readonly lineMembers: TObject;
  /** From the top down; each parent limits the search for the next one. */
  readonly parents: readonly ParentReference[];
  /** The parent that limits the search for the entity's own external identifier. */
  readonly scopeParent?: ParentReference;
  /** Only a caller of the organisation may create and delete this kind. */
  readonly organizationOnly?: true;
  /** Hardware can also be identified by serial number, and is linked to a logical device. */
  readonly isPhysicalDevice?: true;
};

const merchantReference: ParentReference = {
  idMember: 'merchantId',
  externalIdMember: 'merchantExternalId',
  table: merchants,
  notFound: 'merchant_not_found',
  column: 'merchant_id',
};
const storeReference: ParentReference = {
  idMember: 'storeId',
  externalIdMember: 'storeExternalId',
  table: stores,
  notFound: 'store_not_found',
  column: 'store_id',
};
/** The logical device that hardware is linked to. */
export const logicalDeviceReference: ParentReference = {
  idMember: 'logicalDeviceId',
  externalIdMember: 'logicalDeviceExternalId',
  table: logicalDevices,
  notFound: 'device_not_found',
  column: 'logical_device_id',
};

/** `commit-chunk.ts` writes the credentials together with the rows, after the lines are applied. */
function throwNoPosClients(): never {
  throw new Error('credentials are created when rows are written, not while a line is applied');
}

/** The order in which rows are locked and written: parents first. */
export const importableTypes: readonly ImportableType[] = [
  {
    type: 'merchant',
    definition: merchantDefinition,
    input: MerchantInput,
    replacement: MerchantReplacement,
    deletion: bulkDeletions.merchant,
    lineMembers: bulkParents.merchant,
    parents: [],
    organizationOnly: true,
  },
  {
    type: 'store',
    definition: storeDefinition,
    input: StoreInput,
    replacement: StoreReplacement,
    deletion: bulkDeletions.store,
    lineMembers: bulkParents.store,
    parents: [merchantReference],
    scopeParent: merchantReference,
  },
  {
    type: 'logicalDevice',
    definition: logicalDeviceDefinition,
    input: LogicalDeviceInput,
    replacement: LogicalDeviceReplacement,
    deletion: bulkDeletions.logicalDevice,
    lineMembers: bulkParents.logicalDevice,
    parents: [merchantReference, storeReference],
    scopeParent: storeReference,
  },
  {
    type: 'physicalDevice',
    definition: physicalDeviceDefinition,
    input: PhysicalDeviceInput,
    replacement: PhysicalDeviceReplacement,
    deletion: bulkDeletions.physicalDevice,
    lineMembers: bulkParents.physicalDevice,
    parents: [merchantReference, storeReference, logicalDeviceReference],
    isPhysicalDevice: true,
  },
  {
    type: 'pointOfSale',
    definition: createPointOfSaleDefinition(throwNoPosClients),
    input: PointOfSaleInput,
    replacement: PointOfSaleReplacement,
    deletion: bulkDeletions.pointOfSale,
    lineMembers: bulkParents.pointOfSale,
    parents: [merchantReference, storeReference],
    scopeParent: storeReference,
  },
];

const byType = new Map<string, ImportableType>(importableTypes.map((one) => [one.type, one]));

export function findImportableType(type: string): ImportableType {
  const importableType = byType.get(type);
  if (importableType === undefined) throw new RangeError(`unknown line type ${type}`);
  return importableType;
}
