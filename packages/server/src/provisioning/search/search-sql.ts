// SQL for the search: one statement over all tables, in which each table uses its own indexes.
import { createHash } from 'node:crypto';
import type { FoundType } from '@switchyard/contract';
import type { Database } from '../../platform/index.ts';
import type { Scope } from '../resources/caller-scope.ts';
import { nameBegins, place, type Row, type Table, within } from '../resources/resource-sql.ts';
import {
  logicalDevices,
  merchants,
  organizations,
  physicalDevices,
  pointsOfSale,
  stores,
} from '../resources/tables.ts';

/** The possible meanings of a search text, other than the beginning of a name. */
export type Wanted = {
  readonly text: string;
  readonly id?: string | undefined;
  readonly pointOfSaleId?: string | undefined;
  readonly serialNumber?: string | undefined;
  /** The make and model, if they precede the serial number. */
  readonly prefix?: string | undefined;
};

export type Search = {
  readonly types: readonly FoundType[];
  readonly wanted?: Wanted | undefined;
  readonly externalId?: string | undefined;
  readonly serialNumber?: string | undefined;
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
  readonly status?: string | undefined;
};

/** The last row of the previous page; its name matters only for a text search. */
export type Mark = { readonly rank: number; readonly id: string; readonly name: string };

export type Page = { readonly limit: number; readonly after?: Mark | undefined };

type Searched = {
  readonly table: Table;
  readonly merchant?: true;
  /** The expression for the store of a row; absent for tables without stores. */
  readonly store?: string;
  /** The condition for rows in a store. */
  readonly inStore?: (placeholder: string) => string;
  readonly hardware?: true;
};

const column = 'store_id';
const inOwnColumn = (placeholder: string) => `${column} = ${placeholder}`;
const placesOf = `FROM logical_devices l
  WHERE l.organization_id = physical_devices.organization_id`;

const searched: Readonly<Record<FoundType, Searched>> = {
  Organization: { table: organizations },
  Merchant: { table: merchants, merchant: true },
  Store: { table: stores, merchant: true, store: column, inStore: inOwnColumn },
  LogicalDevice: { table: logicalDevices, merchant: true, store: column, inStore: inOwnColumn },
  PhysicalDevice: {
    table: physicalDevices,
    merchant: true,
    store: `(SELECT l.store_id ${placesOf}
      AND l.logical_device_id = physical_devices.logical_device_id)`,
    inStore: (placeholder) => `logical_device_id IN (SELECT l.logical_device_id ${placesOf}
      AND l.store_id = ${placeholder})`,
    hardware: true,
  },
  PointOfSale: { table: pointsOfSale, merchant: true, store: column, inStore: inOwnColumn },
};

/** True if rows of a type can match; otherwise the statement omits the type. */
export function canHold(type: FoundType, search: Search): boolean {
  const { merchant, inStore, hardware } = searched[type];
  if (search.serialNumber !== undefined && hardware === undefined) return false;
  if (search.storeId !== undefined && inStore === undefined) return false;
  return search.merchantId === undefined || merchant !== undefined;
}

const sortName = `lower(name) COLLATE "C"`;

function selected(rank: number, { table, merchant, store, hardware }: Searched): string {
  const own = (name: string, type: string) => (hardware === undefined ? `NULL::${type}` : name);
  return `${rank} AS rank, ${table.id} AS id, organization_id, name, external_id, status,
    ${merchant === undefined ? 'NULL::uuid' : 'merchant_id'} AS merchant_id,
    ${store ?? 'NULL::uuid'} AS store_id, ${own('logical_device_id', 'uuid')} AS logical_device_id,
    ${own('serial_number', 'text')} AS serial_number, ${own('make', 'text')} AS make,
    ${own('model', 'text')} AS model, ${sortName} AS sort_name`;
}

/**
 * One condition for each meaning of the text. Each uses one index, so no table is fully scanned.
 */
function meanings(wanted: Wanted, type: FoundType, values: unknown[]): string[] {
  const { table, hardware } = searched[type];
  const text = place(values, wanted.text);
  const ways = [nameBegins(text), `external_id = ${text}::text`];
  const id = type === 'PointOfSale' ? (wanted.id ?? wanted.pointOfSaleId) : wanted.id;
  if (id !== undefined) ways.push(`${table.id} = ${place(values, id)}::uuid`);
  if (hardware !== undefined && wanted.serialNumber !== undefined) {
    const serial = `serial_number = ${place(values, wanted.serialNumber)}`;
    const { prefix } = wanted;
    ways.push(
      prefix === undefined
        ? serial
        : `${serial} AND make || '_' || model = ${place(values, prefix)}`,
    );
  }
  return ways;
}

function clausesOf(search: Search, scope: Scope, type: FoundType, values: unknown[]): string[] {
  const { table, inStore } = searched[type];
  const clauses = [within(table, scope, values)];
  const equal = (name: string, value: string | undefined) => {
    if (value !== undefined) clauses.push(`${name} = ${place(values, value)}`);
  };
  equal('external_id', search.externalId);
  equal('serial_number', search.serialNumber);
  equal('merchant_id', search.merchantId);
  equal('status', search.status);
  if (search.storeId !== undefined && inStore !== undefined) {
    clauses.push(inStore(place(values, search.storeId)));
  }
  return clauses;
}

/** Selects the rows of one type, sorted by name for a text search, otherwise by creation. */
function textOf(
  search: Search,
  scope: Scope,
  [rank, type]: readonly [number, FoundType],
  { limit, after }: Page,
  values: unknown[],
): string {
  const of = searched[type];
  // Qualified with the table, because the bare name refers to the column of the result.
  const id = `${of.table.name}.${of.table.id}`;
  const clauses = clausesOf(search, scope, type, values);
  const byName = search.wanted !== undefined;
  if (after?.rank === rank) {
    const last = `${place(values, after.id)}::uuid`;
    clauses.push(
      byName
        ? `(${sortName}, ${id}) > (${place(values, after.name)}::text, ${last})`
        : `${id} > ${last}`,
    );
  }
  const order = `ORDER BY ${byName ? `${sortName}, ` : ''}${id} LIMIT ${place(values, limit)}`;
  const ways = search.wanted === undefined ? ['TRUE'] : meanings(search.wanted, type, values);
  const found = ways.map(
    (way) => `(SELECT ${selected(rank, of)} FROM ${of.table.name}
      WHERE ${[...clauses, way].join(' AND ')} ${order})`,
  );
  return found.join(' UNION ');
}

/**
 * True for the most frequent searches: one text over all types, first page. They have few different
 * statements, and planning one takes several times longer than running it.
 */
function isCommon(search: Search, scope: Scope, { after }: Page): boolean {
  const { types, wanted, externalId, ...criteria } = search;
  const isOne = (wanted === undefined) !== (externalId === undefined);
  const isBare = Object.values(criteria).every((value) => value === undefined);
  const isFirst = after === undefined && scope.storeId === undefined;
  return isOne && isBare && isFirst && types.length > 1;
}

/** Returns the rows type by type, in the order of their ranks. */
export async function searchRows(
  database: Database,
  scope: Scope,
  search: Search,
  ranks: readonly FoundType[],
  page: Page,
): Promise<Row[]> {
  const values: unknown[] = [];
  const first = page.after?.rank ?? 0;
  const parts = ranks
    .map((type, rank) => [rank, type] as const)
    .filter(([rank, type]) => rank >= first && search.types.includes(type))
    .map((ranked) => `SELECT * FROM (${textOf(search, scope, ranked, page, values)}) one`);
  if (parts.length === 0) return [];
  const order = search.wanted === undefined ? 'rank, id' : 'rank, sort_name, id';
  const text = `SELECT * FROM (${parts.join(' UNION ALL ')}) found
    ORDER BY ${order} LIMIT ${place(values, page.limit)}`;
  if (!isCommon(search, scope, page)) return database.query<Row>(text, values);
  const name = `provisioning-search-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  return database.prepared<Row>({ name, text }, values);
}
