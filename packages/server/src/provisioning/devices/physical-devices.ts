// Physical devices: the hardware in the organisation's stock or with a merchant.
import type { PhysicalDevice } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { isoTime } from '../../platform/index.ts';
import { requireMerchant } from '../merchants/merchants.ts';
import { holdOrganization } from '../organizations/organization-tree.ts';
import { tsnOf } from '../resources/format-rules.ts';
import { refuseField } from '../resources/provisioning-errors.ts';
import type { Kind } from '../resources/resource-definition.ts';
import { createResource, type Deps, type Resource } from '../resources/resource-operations.ts';
import { type Row, runIn } from '../resources/resource-sql.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import { physicalDevices } from '../resources/tables.ts';
import { releaseClaims, terminalKey } from './terminal-claims-sql.ts';

function tsnOfRow(row: Row): string {
  return tsnOf({
    make: String(row['make']),
    model: String(row['model']),
    serialNumber: String(row['serial_number']),
  });
}

const release = (trx: Kysely<unknown>, row: Row) =>
  releaseClaims(runIn(trx), String(row['organization_id']), [row]);

/** The claim comes with a row from the database; a new row has none. */
type Claim = { readonly method: string; readonly at: string; readonly terminal: string };

function claimFactsOf(row: Row) {
  const claim = row['claim'] as Claim | null | undefined;
  // Until the commit, a device with a new serial number still shows the claim of the old one.
  return claim && claim.terminal === terminalKey(row)
    ? {
        claimStatus: 'Claimed',
        claimMethod: claim.method,
        claimedAt: isoTime(Date.parse(claim.at)),
      }
    : { claimStatus: 'Unclaimed' };
}

export const physicalDeviceKind: Kind<PhysicalDevice> = {
  table: physicalDevices,
  notFound: 'device_not_found',
  idMember: 'physicalDeviceId',
  filters: {
    serialNumber: (value) => ({ of: (placeholder) => `serial_number = ${placeholder}`, value }),
    merchantId: (value) => ({ of: (placeholder) => `merchant_id = ${placeholder}`, value }),
    logicalDeviceId: (value) => ({
      of: (placeholder) => `logical_device_id = ${placeholder}`,
      value,
    }),
    storeId: (value) => ({
      of: (placeholder) => `logical_device_id IN (SELECT l.logical_device_id
        FROM logical_devices l WHERE l.organization_id = physical_devices.organization_id
          AND l.store_id = ${placeholder})`,
      value,
    }),
  },
  dependants: [],
  hold: (run, { organizationId }) => holdOrganization(run, organizationId),
  beside: {
    async replaced(trx, row, before) {
      if (terminalKey(row) !== terminalKey(before)) await release(trx, before);
    },
    removed: release,
  },
  toView: (row) =>
    viewOf(row, {
      physicalDeviceId: row['physical_device_id'],
      merchantId: row['merchant_id'],
      logicalDeviceId: row['logical_device_id'],
      ...commonMembers(row),
      serialNumber: row['serial_number'],
      make: row['make'],
      model: row['model'],
      family: row['family'],
      tsn: tsnOfRow(row),
      ...claimFactsOf(row),
    }),
  async columns(lookup, scope, input, current) {
    const merchantId = input['merchantId'] ?? scope.merchantId ?? null;
    const standing = current?.['merchant_id'] ?? null;
    if ((current?.['logical_device_id'] ?? null) !== null && merchantId !== standing) {
      refuseField('/merchantId', 'stays while the device is linked', 'field_read_only');
    }
    if (merchantId !== null && merchantId !== standing) {
      await requireMerchant(lookup, scope, merchantId);
    }
    const own = {
      merchant_id: merchantId,
      serial_number: input['serialNumber'],
      make: input['make'],
      model: input['model'],
      family: input['family'],
    };
    return { ...own, name: input['name'] ?? tsnOfRow(own) };
  },
  readOnly: (row) => ({
    logicalDeviceId: row['logical_device_id'] ?? undefined,
    tsn: tsnOfRow(row),
    ...claimFactsOf(row),
  }),
};

export const createPhysicalDevices = (deps: Deps): Resource<PhysicalDevice> =>
  createResource(deps, physicalDeviceKind);
