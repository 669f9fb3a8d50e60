// Searches provisioned entities of every type by name, identifier or serial number.
import {
  type FoundItem,
  type FoundType,
  foundTypes,
  type ProvisioningCriteria,
  throwProblem,
} from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import type { Database } from '../../platform/index.ts';
import { readName } from '../devices/find-device.ts';
import type { Scope } from '../resources/caller-scope.ts';
import { isUuid, tsnOf } from '../resources/format-rules.ts';
import type { Row } from '../resources/resource-sql.ts';
import { canHold, type Mark, type Search, searchRows, type Wanted } from './search-sql.ts';

const base = '/provisioning/v2';

const segments: Readonly<Record<FoundType, string>> = {
  Organization: 'organizations',
  Merchant: 'merchants',
  Store: 'stores',
  LogicalDevice: 'logical-devices',
  PhysicalDevice: 'physical-devices',
  PointOfSale: 'points-of-sale',
};

/** A search needs one of these; `type` and `status` alone match nearly all rows. */
const narrowing = ['q', 'externalId', 'serialNumber', 'merchantId', 'storeId'] as const;

const clientIdForm = /^pos-(?<id>.{36})$/i;

/** The content of a cursor: rank, identifier and sort name. */
export const searchKeyForm =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the one character that the database cannot hold
  /^(?<rank>[0-5])\.(?<id>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(?<name>[^\u0000]*)$/;

function readKey(key: string): Mark {
  const { rank = '', id = '', name = '' } = searchKeyForm.exec(key)?.groups ?? {};
  return { rank: Number(rank), id, name };
}

function wantedOf(text: string): Wanted {
  const name = readName(text);
  const pointOfSaleId = clientIdForm.exec(text)?.groups?.['id'];
  return {
    text,
    ...name,
    ...(pointOfSaleId !== undefined && isUuid(pointOfSaleId) ? { pointOfSaleId } : {}),
  };
}

function searchOf(criteria: ProvisioningCriteria, scope: Scope): Search {
  const { type, q, externalId, serialNumber, merchantId, storeId, status } = criteria;
  const search = {
    externalId,
    serialNumber,
    merchantId,
    storeId,
    status,
    types: foundTypes.filter((one) => type === undefined || type === one),
    wanted: q === undefined ? undefined : wantedOf(q),
  };
  // A caller of a merchant does not see types without a merchant, such as organisations.
  const seen = { ...search, merchantId: merchantId ?? scope.merchantId };
  return { ...search, types: search.types.filter((one) => canHold(one, seen)) };
}

function demandCriterion(criteria: ProvisioningCriteria): void {
  if (narrowing.some((name) => criteria[name] !== undefined)) return;
  const detail = `At least one of ${narrowing.join(', ')} is needed.`;
  throwProblem('field_required', detail, {
    errors: [{ pointer: '?q', code: 'field_required', detail: 'or another criterion is needed' }],
  });
}

function viewOf(row: Row): FoundItem {
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
    ...(serialNumber === null ? {} : { tsn: tsnOf(hardware) }),
    path: `${base}/${segments[type]}/${row['id']}`,
  };
}

export type SearchProvisioned = (
  scope: Scope,
  criteria: ProvisioningCriteria,
  page: PageRequest,
) => Promise<FoundPage<FoundItem>>;

/** @example const { items } = await createSearch(database)(scope, { q: 'till' }, { limit: 50 }); */
export function createSearch(database: Database): SearchProvisioned {
  return async (scope, criteria, { limit, after }) => {
    demandCriterion(criteria);
    const rows = await searchRows(database, scope, searchOf(criteria, scope), foundTypes, {
      limit: limit + 1,
      after: after === undefined ? undefined : readKey(after),
    });
    const items = rows.slice(0, limit);
    const last = rows.length > limit ? items.at(-1) : undefined;
    return {
      items: items.map(viewOf),
      next: last && `${last['rank']}.${last['id']}.${last['sort_name']}`,
    };
  };
}
