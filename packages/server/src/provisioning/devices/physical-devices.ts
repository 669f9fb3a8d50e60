// Physical devices: the hardware in the organisation's stock or with a merchant.
import { formatTsn, type PhysicalDevice } from '@switchyard/contract';
import { isoTime, type Queries } from '../../platform/index.ts';
import { requireMerchant } from '../merchants/merchants.ts';
import { lockExistingOrganization } from '../organizations/organization-tree.ts';
import { throwFieldProblem } from '../resources/provisioning-errors.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import type { Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { physicalDevices } from '../resources/tables.ts';
import { releaseClaims, terminalKey } from './terminal-claims-sql.ts';

function formatRowTsn(row: Row): string {
  return formatTsn({
    make: String(row['make']),
    model: String(row['model']),
    serialNumber: String(row['serial_number']),
  });
}

const releaseClaim = (trx: Queries, row: Row) =>
  releaseClaims(trx, String(row['organization_id']), [row]);

/** The claim comes with a row from the database; a new row has none. */
type ClaimColumn = { readonly method: string; readonly at: string; readonly terminal: string };

function claimMembers(row: Row) {
  const claim = row['claim'] as ClaimColumn | null | undefined;
  // Until the commit, a device with a new serial number still shows the claim of the old one.
  return claim && claim.terminal === terminalKey(row)
    ? {
        claimStatus: 'Claimed',
        claimMethod: claim.method,
        claimedAt: isoTime(Date.parse(claim.at)),
      }
    : { claimStatus: 'Unclaimed' };
}

export const physicalDeviceDefinition: ResourceDefinition<PhysicalDevice> = {
  table: physicalDevices,
  notFoundCode: 'device_not_found',
  idMember: 'physicalDeviceId',
  filters: {
    serialNumber: (value) => ({ toSql: (placeholder) => `serial_number = ${placeholder}`, value }),
    merchantId: (value) => ({ toSql: (placeholder) => `merchant_id = ${placeholder}`, value }),
    logicalDeviceId: (value) => ({
      toSql: (placeholder) => `logical_device_id = ${placeholder}`,
      value,
    }),
    storeId: (value) => ({
      toSql: (placeholder) => `logical_device_id IN (SELECT l.logical_device_id
        FROM logical_devices l WHERE l.organization_id = physical_devices.organization_id
          AND l.store_id = ${placeholder})`,
      value,
    }),
  },
  dependants: [],
  lock: (trx, { organizationId }) => lockExistingOrganization(trx, organizationId),
  relatedData: {
    async onReplaced(trx, row, before) {
      if (terminalKey(row) !== terminalKey(before)) await releaseClaim(trx, before);
    },
    onRemoved: releaseClaim,
  },
  toView: (row) =>
    toResourceView(row, {
      physicalDeviceId: row['physical_device_id'],
      merchantId: row['merchant_id'],
      logicalDeviceId: row['logical_device_id'],
      ...commonViewMembers(row),
      serialNumber: row['serial_number'],
      make: row['make'],
      model: row['model'],
      family: row['family'],
      tsn: formatRowTsn(row),
      ...claimMembers(row),
    }),
  async toColumns(lookup, scope, input, current) {
    const merchantId = input['merchantId'] ?? scope.merchantId ?? null;
    const currentMerchantId = current?.['merchant_id'] ?? null;
    if ((current?.['logical_device_id'] ?? null) !== null && merchantId !== currentMerchantId) {
      throwFieldProblem(
        '/merchantId',
        'cannot change while the device is linked',
        'field_read_only',
      );
    }
    if (merchantId !== null && merchantId !== currentMerchantId) {
      await requireMerchant(lookup, scope, merchantId);
    }
    const ownColumns = {
      merchant_id: merchantId,
      serial_number: input['serialNumber'],
      make: input['make'],
      model: input['model'],
      family: input['family'],
    };
    return { ...ownColumns, name: input['name'] ?? formatRowTsn(ownColumns) };
  },
  readOnlyMembers: (row) => ({
    logicalDeviceId: row['logical_device_id'] ?? undefined,
    tsn: formatRowTsn(row),
    ...claimMembers(row),
  }),
};

export const createPhysicalDevices = (deps: ResourceDeps): ResourceOperations<PhysicalDevice> =>
  createResourceOperations(deps, physicalDeviceDefinition);
