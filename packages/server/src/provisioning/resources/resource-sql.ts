// SQL for provisioning: the same statements for every table of named, versioned entities.

import type { Queries } from '../../platform/index.ts';
import type { CallerScope } from './caller-scope.ts';

export type Row = Readonly<Record<string, unknown>>;
/** `toSql` receives the placeholder of the value: `(n) => 'store_id = ' + n`. */
export type SqlCondition = {
  readonly toSql: (placeholder: string) => string;
  readonly value: unknown;
};

export type EntityTable = {
  readonly name: string;
  readonly id: string;
  /** Absent if rows of the table do not belong to merchants. */
  readonly merchantColumn?: 'merchant_id';
  /** The condition for tables whose scope covers rows of further organisations. */
  readonly scopeSql?: (organization: string) => string;
  /** Set if a caller that is bound to one store sees only the rows of that store. */
  readonly storeColumn?: 'store_id';
  /** The columns besides those that every provisioning table has. */
  readonly columns: readonly string[];
  /** An additional expression to read, with its alias. */
  readonly extraExpression?: string;
  /** Unique indexes, with the member that each one protects. */
  readonly uniqueIndexes: Readonly<Record<string, string>>;
};

export type RowLock = 'share' | 'update';

const locks: Readonly<Record<RowLock, string>> = { share: 'FOR SHARE', update: 'FOR UPDATE' };

const commonColumns = ['name', 'external_id', 'status', 'labels'] as const;
const versionColumns = ['version', 'created_at', 'updated_at'] as const;

/**
 * Objects are sent as JSON text, because the driver converts a bare array to a PostgreSQL array.
 */
const toSqlParameter = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? JSON.stringify(value)
    : (value ?? null);

export function addParameter(values: unknown[], value: unknown): string {
  values.push(toSqlParameter(value));
  return `$${values.length}`;
}

/** The highest code point: in byte order, no longer text with the same beginning sorts after it. */
const highestCharacter = '\u{10ffff}';

/**
 * Matches the beginning of a name, ignoring case. A range can use the index by name; a LIKE pattern
 * can do so only if the planner knows its value.
 */
export const nameStartsWith = (placeholder: string): string =>
  `lower(name) COLLATE "C" >= lower(${placeholder}::text) COLLATE "C"
    AND lower(name) COLLATE "C" < lower(${placeholder}::text || '${highestCharacter}') COLLATE "C"`;

/** The condition for rows in the scope; removed rows exist only for earlier payments. */
export function scopeCondition(table: EntityTable, scope: CallerScope, values: unknown[]): string {
  const organization = addParameter(values, scope.organizationId);
  const tenant = table.scopeSql?.(organization) ?? `organization_id = ${organization}`;
  const conditions = [tenant, 'removed_at IS NULL'];
  if (scope.merchantId !== undefined) {
    const { merchantColumn: column } = table;
    conditions.push(
      column === undefined ? 'FALSE' : `${column} = ${addParameter(values, scope.merchantId)}`,
    );
  }
  if (scope.storeId !== undefined && table.storeColumn !== undefined) {
    conditions.push(`${table.storeColumn} = ${addParameter(values, scope.storeId)}`);
  }
  return conditions.join(' AND ');
}

/** @example const stores = createRowRepository({ name: 'stores', id: 'store_id', … }); */
export function createRowRepository(table: EntityTable) {
  const writtenColumns = [...commonColumns, ...table.columns];
  // In the table of organisations both columns are the same, and may appear only once.
  const readColumns = [
    ...new Set(['organization_id', table.id, ...writtenColumns, ...versionColumns]),
  ];
  const selectedColumns = [
    ...readColumns,
    ...(table.extraExpression === undefined ? [] : [table.extraExpression]),
  ].join(', ');

  return {
    table,
    /**
     * `selected` lists all expressions to read; `written` lists the columns that a change writes.
     */
    selected: selectedColumns,
    written: writtenColumns,
    read: readColumns,

    /** Returns undefined if the identifier was used before, even by a removed row. */
    async insert(queries: Queries, row: Row): Promise<Row | undefined> {
      const values: unknown[] = [];
      const columns = readColumns.filter((column) => column in row);
      const placeholders = columns.map((column) => addParameter(values, row[column]));
      const key = [...new Set(['organization_id', table.id])].join(', ');
      const [inserted] = await queries.query(
        `INSERT INTO ${table.name} (${columns.join(', ')}) VALUES (${placeholders.join(', ')})
         ON CONFLICT (${key}) DO NOTHING RETURNING ${selectedColumns}`,
        values,
      );
      return inserted;
    },

    async isIdUsed(queries: Queries, organizationId: string, id: string): Promise<boolean> {
      const rows = await queries.query(
        `SELECT 1 FROM ${table.name} WHERE organization_id = $1 AND ${table.id} = $2`,
        [organizationId, id],
      );
      return rows.length > 0;
    },

    /**
     * `share` prevents changes of a row until the transaction ends; `update` locks it for a change.
     */
    async find(
      queries: Queries,
      scope: CallerScope,
      id: string,
      lock?: RowLock,
    ): Promise<Row | undefined> {
      const values: unknown[] = [];
      const [row] = await queries.query(
        `SELECT ${selectedColumns} FROM ${table.name}
         WHERE ${scopeCondition(table, scope, values)} AND ${table.id} = ${addParameter(values, id)}
         ${lock === undefined ? '' : locks[lock]}`,
        values,
      );
      return row;
    },

    /** In the order of creation, because UUIDs of version 7 sort by time. */
    async list(
      queries: Queries,
      scope: CallerScope,
      conditions: readonly SqlCondition[],
      page: { limit: number; after?: string },
    ): Promise<Row[]> {
      const values: unknown[] = [];
      const clauses = [scopeCondition(table, scope, values)];
      for (const { toSql, value } of conditions) clauses.push(toSql(addParameter(values, value)));
      if (page.after !== undefined)
        clauses.push(`${table.id} > ${addParameter(values, page.after)}`);
      return queries.query(
        `SELECT ${selectedColumns} FROM ${table.name} WHERE ${clauses.join(' AND ')}
         ORDER BY ${table.id} LIMIT ${addParameter(values, page.limit)}`,
        values,
      );
    },

    /** The caller has locked the row, and has checked its scope. */
    async replace(queries: Queries, organizationId: string, id: string, row: Row): Promise<Row> {
      const values: unknown[] = [];
      const columns = [...writtenColumns, 'updated_at'].filter((column) => column in row);
      const set = columns.map((column) => `${column} = ${addParameter(values, row[column])}`);
      const [updated] = await queries.query(
        `UPDATE ${table.name} SET ${set.join(', ')}, version = version + 1
         WHERE organization_id = ${addParameter(values, organizationId)}
           AND ${table.id} = ${addParameter(values, id)}
         RETURNING ${selectedColumns}`,
        values,
      );
      if (updated === undefined) throw new Error(`${table.name} lost a locked row`);
      return updated;
    },

    async remove(queries: Queries, organizationId: string, id: string, now: string): Promise<void> {
      await queries.query(
        `UPDATE ${table.name} SET removed_at = $3
         WHERE organization_id = $1 AND ${table.id} = $2`,
        [organizationId, id, now],
      );
    },
  };
}
