// SQL for provisioning: the same statements for every table of named, versioned entities.

import { CompiledQuery, type Kysely } from 'kysely';
import type { Database } from '../../platform/index.ts';
import type { Scope } from './caller-scope.ts';

export type Row = Readonly<Record<string, unknown>>;
export type Run = (text: string, values: readonly unknown[]) => Promise<Row[]>;

/** `of` receives the placeholder of the value: `(n) => 'store_id = ' + n`. */
export type Condition = { readonly of: (placeholder: string) => string; readonly value: unknown };

export type Table = {
  readonly name: string;
  readonly id: string;
  /** Absent if rows of the table do not belong to merchants. */
  readonly merchantColumn?: 'merchant_id';
  /** The condition for tables whose scope covers rows of further organisations. */
  readonly within?: (organization: string) => string;
  /** Set if a caller that is bound to one store sees only the rows of that store. */
  readonly storeColumn?: 'store_id';
  /** The columns besides those that every provisioning table has. */
  readonly columns: readonly string[];
  /** An additional expression to read, with its alias. */
  readonly extra?: string;
  /** Unique indexes, with the member that each one protects. */
  readonly uniques: Readonly<Record<string, string>>;
};

export type Lock = 'share' | 'take';

const locks: Readonly<Record<Lock, string>> = { share: 'FOR SHARE', take: 'FOR UPDATE' };

const commonColumns = ['name', 'external_id', 'status', 'labels'] as const;
const stampColumns = ['version', 'created_at', 'updated_at'] as const;

export const runOn =
  (database: Database): Run =>
  (text, values) =>
    database.query<Row>(text, values);

export const runIn =
  (trx: Kysely<unknown>): Run =>
  async (text, values) =>
    (await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;

/**
 * Objects are sent as JSON text, because the driver converts a bare array to a PostgreSQL array.
 */
const asParameter = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? JSON.stringify(value)
    : (value ?? null);

export function place(values: unknown[], value: unknown): string {
  values.push(asParameter(value));
  return `$${values.length}`;
}

/** The highest code point: in byte order, no longer text with the same beginning sorts after it. */
const lastCharacter = '\u{10ffff}';

/**
 * Matches the beginning of a name, ignoring case. A range can use the index by name; a LIKE pattern
 * can do so only if the planner knows its value.
 */
export const nameBegins = (placeholder: string): string =>
  `lower(name) COLLATE "C" >= lower(${placeholder}::text) COLLATE "C"
    AND lower(name) COLLATE "C" < lower(${placeholder}::text || '${lastCharacter}') COLLATE "C"`;

/** The condition for rows in the scope; removed rows exist only for earlier payments. */
export function within(table: Table, scope: Scope, values: unknown[]): string {
  const organization = place(values, scope.organizationId);
  const tenant = table.within?.(organization) ?? `organization_id = ${organization}`;
  const own = [tenant, 'removed_at IS NULL'];
  if (scope.merchantId !== undefined) {
    const { merchantColumn: column } = table;
    own.push(column === undefined ? 'FALSE' : `${column} = ${place(values, scope.merchantId)}`);
  }
  if (scope.storeId !== undefined && table.storeColumn !== undefined) {
    own.push(`${table.storeColumn} = ${place(values, scope.storeId)}`);
  }
  return own.join(' AND ');
}

/** @example const stores = createRecords({ name: 'stores', id: 'store_id', … }); */
export function createRecords(table: Table) {
  const written = [...commonColumns, ...table.columns];
  // In the table of organisations both columns are the same, and may appear only once.
  const read = [...new Set(['organization_id', table.id, ...written, ...stampColumns])];
  const selected = [...read, ...(table.extra === undefined ? [] : [table.extra])].join(', ');

  return {
    table,
    /**
     * `selected` lists all expressions to read; `written` lists the columns that a change writes.
     */
    selected,
    written,
    read,

    /** Returns undefined if the identifier was used before, even by a removed row. */
    async insert(run: Run, row: Row): Promise<Row | undefined> {
      const values: unknown[] = [];
      const columns = read.filter((column) => column in row);
      const placed = columns.map((column) => place(values, row[column]));
      const key = [...new Set(['organization_id', table.id])].join(', ');
      const [made] = await run(
        `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${placed.join(', ')})
         ON CONFLICT (${key}) DO NOTHING RETURNING ${selected}`,
        values,
      );
      return made;
    },

    async isUsed(run: Run, organizationId: string, id: string): Promise<boolean> {
      const found = await run(
        `SELECT 1 FROM ${table.name} WHERE organization_id = $1 AND ${table.id} = $2`,
        [organizationId, id],
      );
      return found.length > 0;
    },

    /**
     * `share` prevents changes of a row until the transaction ends; `take` locks it for a change.
     */
    async find(run: Run, scope: Scope, id: string, lock?: Lock): Promise<Row | undefined> {
      const values: unknown[] = [];
      const [row] = await run(
        `SELECT ${selected} FROM ${table.name}
         WHERE ${within(table, scope, values)} AND ${table.id} = ${place(values, id)}
         ${lock === undefined ? '' : locks[lock]}`,
        values,
      );
      return row;
    },

    /** In the order of creation, because UUIDs of version 7 sort by time. */
    async list(
      run: Run,
      scope: Scope,
      conditions: readonly Condition[],
      page: { limit: number; after?: string },
    ): Promise<Row[]> {
      const values: unknown[] = [];
      const clauses = [within(table, scope, values)];
      for (const { of, value } of conditions) clauses.push(of(place(values, value)));
      if (page.after !== undefined) clauses.push(`${table.id} > ${place(values, page.after)}`);
      return run(
        `SELECT ${selected} FROM ${table.name} WHERE ${clauses.join(' AND ')}
         ORDER BY ${table.id} LIMIT ${place(values, page.limit)}`,
        values,
      );
    },

    /** The caller has locked the row, and has checked its scope. */
    async replace(run: Run, organizationId: string, id: string, row: Row): Promise<Row> {
      const values: unknown[] = [];
      const columns = [...written, 'updated_at'].filter((column) => column in row);
      const set = columns.map((column) => `${column} = ${place(values, row[column])}`);
      const [made] = await run(
        `UPDATE ${table.name} SET ${set.join(', ')}, version = version + 1
         WHERE organization_id = ${place(values, organizationId)}
           AND ${table.id} = ${place(values, id)}
         RETURNING ${selected}`,
        values,
      );
      if (made === undefined) throw new Error(`${table.name} lost a locked row`);
      return made;
    },

    async remove(run: Run, organizationId: string, id: string, now: string): Promise<void> {
      await run(
        `UPDATE ${table.name} SET removed_at = $3
         WHERE organization_id = $1 AND ${table.id} = $2`,
        [organizationId, id, now],
      );
    },
  };
}
