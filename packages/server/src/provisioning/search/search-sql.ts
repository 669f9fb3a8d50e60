// SQL for the search: one statement over all tables, in which each table uses its own indexes.
import { createHash } from 'node:crypto';
import type { FoundType } from '@switchyard/contract';
import type { Database } from '../../platform/index.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import {
  addParameter,
  type EntityTable,
  nameStartsWith,
  type Row,
  scopeCondition,
} from '../resources/resource-sql.ts';
import {
  logicalDevices,
  merchants,
  organizations,
  physicalDevices,
  pointsOfSale,
  stores,
} from '../resources/tables.ts';

/** The possible meanings of a search text, other than the beginning of a name. */
export type SearchText = {
  readonly text: string;
  readonly id?: string | undefined;
  readonly pointOfSaleId?: string | undefined;
  readonly serialNumber?: string | undefined;
  /** The make and model, if they precede the serial number. */
  readonly makeAndModel?: string | undefined;
};

export type EntitySearch = {
  readonly types: readonly FoundType[];
  readonly searchText?: SearchText | undefined;
  readonly externalId?: string | undefined;
  readonly serialNumber?: string | undefined;
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
  readonly status?: string | undefined;
};

/** The last row of the previous page; its name matters only for a text search. */
export type SearchPosition = { readonly rank: number; readonly id: string; readonly name: string };

export type SearchPageRequest = {
  readonly limit: number;
  readonly after?: SearchPosition | undefined;
};

type SearchedTable = {
  readonly table: EntityTable;
  readonly merchant?: true;
  /** The expression for the store of a row; absent for tables without stores. */
  readonly store?: string;
  /** The condition for rows in a store. */
  readonly inStore?: (placeholder: string) => string;
  readonly hardware?: true;
};

const storeColumn = 'store_id';
const isInOwnStore = (placeholder: string) => `${storeColumn} = ${placeholder}`;
const fromLogicalDevices = `FROM logical_devices l
  WHERE l.organization_id = physical_devices.organization_id`;

const searchedTables: Readonly<Record<FoundType, SearchedTable>> = {
  Organization: { table: organizations },
  Merchant: { table: merchants, merchant: true },
  Store: { table: stores, merchant: true, store: storeColumn, inStore: isInOwnStore },
  LogicalDevice: {
    table: logicalDevices,
    merchant: true,
    store: storeColumn,
    inStore: isInOwnStore,
  },
  PhysicalDevice: {
    table: physicalDevices,
    merchant: true,
    store: `(SELECT l.store_id ${fromLogicalDevices}
      AND l.logical_device_id = physical_devices.logical_device_id)`,
    inStore: (
      placeholder,
    ) => `logical_device_id IN (SELECT l.logical_device_id ${fromLogicalDevices}
      AND l.store_id = ${placeholder})`,
    hardware: true,
  },
  PointOfSale: { table: pointsOfSale, merchant: true, store: storeColumn, inStore: isInOwnStore },
};

/** True if rows of a type can match; otherwise the statement omits the type. */
export function canMatch(type: FoundType, search: EntitySearch): boolean {
  const { merchant, inStore, hardware } = searchedTables[type];
  if (search.serialNumber !== undefined && hardware === undefined) return false;
  if (search.storeId !== undefined && inStore === undefined) return false;
  return search.merchantId === undefined || merchant !== undefined;
}

const sortNameSql = `lower(name) COLLATE "C"`;

function selectColumns(rank: number, { table, merchant, store, hardware }: SearchedTable): string {
  const orNull = (name: string, type: string) => (hardware === undefined ? `NULL::${type}` : name);
  return `${rank} AS rank, ${table.id} AS id, organization_id, name, external_id, status,
    ${merchant === undefined ? 'NULL::uuid' : 'merchant_id'} AS merchant_id,
    ${store ?? 'NULL::uuid'} AS store_id, ${orNull('logical_device_id', 'uuid')} AS logical_device_id,
    ${orNull('serial_number', 'text')} AS serial_number, ${orNull('make', 'text')} AS make,
    ${orNull('model', 'text')} AS model, ${sortNameSql} AS sort_name`;
}

/**
 * One condition for each meaning of the text. Each uses one index, so no table is fully scanned.
 */
function textConditions(searchText: SearchText, type: FoundType, values: unknown[]): string[] {
  const { table, hardware } = searchedTables[type];
  const text = addParameter(values, searchText.text);
  const conditions = [nameStartsWith(text), `external_id = ${text}::text`];
  const id = type === 'PointOfSale' ? (searchText.id ?? searchText.pointOfSaleId) : searchText.id;
  if (id !== undefined) conditions.push(`${table.id} = ${addParameter(values, id)}::uuid`);
  if (hardware !== undefined && searchText.serialNumber !== undefined) {
    const serial = `serial_number = ${addParameter(values, searchText.serialNumber)}`;
    const { makeAndModel } = searchText;
    conditions.push(
      makeAndModel === undefined
        ? serial
        : `${serial} AND make || '_' || model = ${addParameter(values, makeAndModel)}`,
    );
  }
  return conditions;
}

function criteriaConditions(
  search: EntitySearch,
  scope: CallerScope,
  type: FoundType,
  values: unknown[],
): string[] {
  const { table, inStore } = searchedTables[type];
  const clauses = [scopeCondition(table, scope, values)];
  const equal = (name: string, value: string | undefined) => {
    if (value !== undefined) clauses.push(`${name} = ${addParameter(values, value)}`);
  };
  equal('external_id', search.externalId);
  equal('serial_number', search.serialNumber);
  equal('merchant_id', search.merchantId);
  equal('status', search.status);
  if (search.storeId !== undefined && inStore !== undefined) {
    clauses.push(inStore(addParameter(values, search.storeId)));
  }
  return clauses;
}

/** Selects the rows of one type, sorted by name for a text search, otherwise by creation. */
function buildTypeQuery(
  search: EntitySearch,
  scope: CallerScope,
  [rank, type]: readonly [number, FoundType],
  { limit, after }: SearchPageRequest,
  values: unknown[],
): string {
  const searchedTable = searchedTables[type];
  // Qualified with the table, because the bare name refers to the column of the result.
  const id = `${searchedTable.table.name}.${searchedTable.table.id}`;
  const clauses = criteriaConditions(search, scope, type, values);
  const byName = search.searchText !== undefined;
  if (after?.rank === rank) {
    const last = `${addParameter(values, after.id)}::uuid`;
    clauses.push(
      byName
        ? `(${sortNameSql}, ${id}) > (${addParameter(values, after.name)}::text, ${last})`
        : `${id} > ${last}`,
    );
  }
  const order = `ORDER BY ${byName ? `${sortNameSql}, ` : ''}${id} LIMIT ${addParameter(values, limit)}`;
  const conditions =
    search.searchText === undefined ? ['TRUE'] : textConditions(search.searchText, type, values);
  const selects = conditions.map(
    (condition) => `(SELECT ${selectColumns(rank, searchedTable)} FROM ${searchedTable.table.name}
      WHERE ${[...clauses, condition].join(' AND ')} ${order})`,
  );
  return selects.join(' UNION ');
}

/**
 * True for the most frequent searches: one text over all types, first page. They have few different
 * statements, and planning one takes several times longer than running it.
 */
function isFrequentSearch(
  search: EntitySearch,
  scope: CallerScope,
  { after }: SearchPageRequest,
): boolean {
  const { types, searchText, externalId, ...criteria } = search;
  const isOne = (searchText === undefined) !== (externalId === undefined);
  const isBare = Object.values(criteria).every((value) => value === undefined);
  const isFirst = after === undefined && scope.storeId === undefined;
  return isOne && isBare && isFirst && types.length > 1;
}

/** Returns the rows type by type, in the order of their ranks. */
export async function findSearchRows(
  database: Database,
  scope: CallerScope,
  search: EntitySearch,
  ranks: readonly FoundType[],
  page: SearchPageRequest,
): Promise<Row[]> {
  const values: unknown[] = [];
  const first = page.after?.rank ?? 0;
  const parts = ranks
    .map((type, rank) => [rank, type] as const)
    .filter(([rank, type]) => rank >= first && search.types.includes(type))
    .map((ranked) => `SELECT * FROM (${buildTypeQuery(search, scope, ranked, page, values)}) one`);
  if (parts.length === 0) return [];
  const order = search.searchText === undefined ? 'rank, id' : 'rank, sort_name, id';
  const text = `SELECT * FROM (${parts.join(' UNION ALL ')}) found
    ORDER BY ${order} LIMIT ${addParameter(values, page.limit)}`;
  if (!isFrequentSearch(search, scope, page)) return database.query<Row>(text, values);
  const name = `provisioning-search-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  return database.query<Row>({ name, text }, values);
}
