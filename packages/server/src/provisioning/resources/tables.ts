// The tables of provisioning, with the columns besides name, status, labels and version.
import type { EntityTable } from './resource-sql.ts';

export const organizations: EntityTable = {
  name: 'organizations',
  id: 'organization_id',
  columns: ['parent_organization_id', 'ancestor_ids', 'approval_code_required'],
  scopeSql: (organizationId) =>
    `(organization_id = ${organizationId} OR ancestor_ids @> ARRAY[${organizationId}]::uuid[])`,
  uniqueIndexes: {},
};

export const merchants: EntityTable = {
  name: 'merchants',
  id: 'merchant_id',
  merchantColumn: 'merchant_id',
  columns: ['address', 'country', 'mcc', 'time_zone', 'contact'],
  uniqueIndexes: {},
};

export const stores: EntityTable = {
  name: 'stores',
  id: 'store_id',
  merchantColumn: 'merchant_id',
  storeColumn: 'store_id',
  columns: ['merchant_id', 'address', 'time_zone'],
  uniqueIndexes: {},
};

export const logicalDevices: EntityTable = {
  name: 'logical_devices',
  id: 'logical_device_id',
  merchantColumn: 'merchant_id',
  storeColumn: 'store_id',
  columns: ['merchant_id', 'store_id'],
  extraExpression: `(SELECT coalesce(jsonb_agg(p.physical_device_id ORDER BY p.physical_device_id), '[]')
     FROM physical_devices p WHERE p.organization_id = logical_devices.organization_id
       AND p.logical_device_id = logical_devices.logical_device_id
       AND p.removed_at IS NULL) AS physical_device_ids`,
  uniqueIndexes: {},
};

export const physicalDevices: EntityTable = {
  name: 'physical_devices',
  id: 'physical_device_id',
  merchantColumn: 'merchant_id',
  columns: ['merchant_id', 'logical_device_id', 'serial_number', 'make', 'model', 'family'],
  extraExpression: `(SELECT jsonb_build_object('method', c.method, 'at', c.claimed_at,
       'terminal', c.make || '_' || c.model || '-' || c.serial_number)
     FROM terminal_claims c WHERE c.organization_id = physical_devices.organization_id
       AND c.physical_device_id = physical_devices.physical_device_id) AS claim`,
  uniqueIndexes: { physical_devices_serial: 'serialNumber' },
};

export const pointsOfSale: EntityTable = {
  name: 'points_of_sale',
  id: 'point_of_sale_id',
  merchantColumn: 'merchant_id',
  storeColumn: 'store_id',
  columns: ['merchant_id', 'store_id'],
  uniqueIndexes: {},
};

export const acquirerLinks: EntityTable = {
  name: 'acquirer_links',
  id: 'acquirer_link_id',
  columns: [
    'adapter',
    'host',
    'port',
    'tls',
    'client_certificate',
    'institution_id',
    'approval',
    'dialect',
    'connections',
    'tpdu',
    'zone_pin_key',
    'mac_key',
    'zone_master_key',
    'http_json',
  ],
  uniqueIndexes: { acquirer_links_name: 'name' },
};

export const acquirerContracts: EntityTable = {
  name: 'acquirer_contracts',
  id: 'contract_id',
  merchantColumn: 'merchant_id',
  columns: [
    'merchant_id',
    'acquirer_link_id',
    'acquirer_merchant_id',
    'terminal_id_from',
    'terminal_id_to',
    'mcc',
    'currencies',
    'capture_modes',
    'default_capture_mode',
    'capture_transport',
    'partial_cancel',
    'multiple_capture',
    'over_capture_percent',
    'partial_approval',
    'clear_card_data',
    'hold_days',
    'routing',
    'cut_over_time',
    'offline_limits',
  ],
  uniqueIndexes: {},
};
