// Searches provisioned entities of every type by name, identifier or serial number.
import {
  type FoundItem,
  type FoundType,
  formatTsn,
  foundTypes,
  type ProvisioningCriteria,
  throwProblem,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import { type Database, isUuid } from '../../platform/index.ts';
import { parseDeviceName } from '../devices/find-device.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import type { Row } from '../resources/resource-sql.ts';
import {
  canMatch,
  type EntitySearch,
  findSearchRows,
  type SearchPosition,
  type SearchText,
} from './search-sql.ts';

const base = '/provisioning/v2';

const pathSegments: Readonly<Record<FoundType, string>> = {
  Organization: 'organizations',
  Merchant: 'merchants',
  Store: 'stores',
  LogicalDevice: 'logical-devices',
  PhysicalDevice: 'physical-devices',
  PointOfSale: 'points-of-sale',
};

/** A search needs one of these; `type` and `status` alone match nearly all rows. */
const requiredCriteria = ['q', 'externalId', 'serialNumber', 'merchantId', 'storeId'] as const;

const posClientIdPattern = /^pos-(?<id>.{36})$/i;

/** The content of a cursor: rank, identifier and sort name. */
export const searchCursorPattern =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the one character that the database cannot hold
  /^(?<rank>[0-5])\.(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?<name>[^\u0000]*)$/;

function parseCursor(key: string): SearchPosition {
  const { rank = '', id = '', name = '' } = searchCursorPattern.exec(key)?.groups ?? {};
  return { rank: Number(rank), id, name };
}

function toSearchText(text: string): SearchText {
  const name = parseDeviceName(text);
  const pointOfSaleId = posClientIdPattern.exec(text)?.groups?.['id'];
  return {
    text,
    ...name,
    ...(pointOfSaleId !== undefined && isUuid(pointOfSaleId) ? { pointOfSaleId } : {}),
  };
}

function toEntitySearch(criteria: ProvisioningCriteria, scope: CallerScope): EntitySearch {
  const { type, q, externalId, serialNumber, merchantId, storeId, status } = criteria;
  const search = {
    externalId,
    serialNumber,
    merchantId,
    storeId,
    status,
    types: foundTypes.filter((one) => type === undefined || type === one),
    searchText: q === undefined ? undefined : toSearchText(q),
  };
  // A caller of a merchant does not see types without a merchant, such as organisations.
  const scopedSearch = { ...search, merchantId: merchantId ?? scope.merchantId };
  return { ...search, types: search.types.filter((one) => canMatch(one, scopedSearch)) };
}

function requireCriterion(criteria: ProvisioningCriteria): void {
  if (requiredCriteria.some((name) => criteria[name] !== undefined)) return;
  const detail = `At least one of ${requiredCriteria.join(', ')} is required.`;
  throwProblem('field_required', detail, {
    errors: [{ pointer: '?q', code: 'field_required', detail: 'or another criterion is required' }],
  });
}

function toFoundItem(row: Row): FoundItem {
  const type = foundTypes[Number(row['rank'])] ?? 'Organization';
  const optional = (name: string, column: string) =>
    (row[column] ?? null) === null ? {} : { [name]: String(row[column]) };
  const serialNumber = row['serial_number'] ?? null;
  const hardware = {
    make: String(row['make']),
    model: String(row['model']),
    serialNumber: String(serialNumber),
  };
  return {
    type,
    id: String(row['id']),
    organizationId: String(row['organization_id']),
    name: String(row['name']),
    ...optional('externalId', 'external_id'),
    status: row['status'] === 'Disabled' ? 'Disabled' : 'Enabled',
    ...optional('merchantId', 'merchant_id'),
    ...optional('storeId', 'store_id'),
    ...optional('logicalDeviceId', 'logical_device_id'),
    ...optional('serialNumber', 'serial_number'),
    ...(serialNumber === null ? {} : { tsn: formatTsn(hardware) }),
    path: `${base}/${pathSegments[type]}/${row['id']}`,
  };
}

export type SearchEntities = (
  scope: CallerScope,
  criteria: ProvisioningCriteria,
  page: PageRequest,
) => Promise<FoundPage<FoundItem>>;

/** @example const { items } = await createEntitySearch(database)(scope, { q: 'till' }, { limit: 50 }); */
export function createEntitySearch(database: Database): SearchEntities {
  return async (scope, criteria, page) => {
    requireCriterion(criteria);
    return readPage(
      page,
      ({ limit, after }) =>
        findSearchRows(database, scope, toEntitySearch(criteria, scope), foundTypes, {
          limit,
          after: after === undefined ? undefined : parseCursor(after),
        }),
      (row) => `${row['rank']}.${row['id']}.${row['sort_name']}`,
      toFoundItem,
    );
  };
}
