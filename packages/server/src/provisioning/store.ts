// The SQL of provisioning: one shape of statement for every table of named, versioned things.

import { CompiledQuery, type Kysely } from 'kysely';
import type { Database } from '../platform/index.ts';
import type { Scope } from './scope.ts';

export type Row = Readonly<Record<string, unknown>>;
export type Run = (text: string, values: readonly unknown[]) => Promise<Row[]>;

/** `of` gets the placeholder of the value: `(n) => 'store_id = ' + n`. */
export type Condition = { readonly of: (placeholder: string) => string; readonly value: unknown };

export type Table = {
  readonly name: string;
  readonly id: string;
  /** Left out where nothing of the table belongs to a merchant. */
  readonly merchantColumn?: 'merchant_id';
  /** Where more than the rows of the organisation itself are in its scope. */
  readonly within?: (organization: string) => string;
  /** Where a caller who is bound to one store sees what is that store's alone. */
  readonly storeColumn?: 'store_id';
  /** Besides those that every table of provisioning has. */
  readonly columns: readonly string[];
  /** A further expression to read, with its name. */
  readonly extra?: string;
  /** Unique indexes, with the member that each one guards. */
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

/** jsonb takes text: a bare array would reach the database as one of its own arrays. */
const asParameter = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? JSON.stringify(value)
    : (value ?? null);

export function place(values: unknown[], value: unknown): string {
  values.push(asParameter(value));
  return `$${values.length}`;
}

/** No character sorts behind it, byte by byte, so that nothing which goes on as a text does comes later. */
const lastCharacter = '\u{10ffff}';

/**
 * Whether a name begins with a text, capital and small letters alike: a range of the index by name,
 * which a pattern would be only while the planner knows its value.
 */
export const nameBegins = (placeholder: string): string =>
  `lower(name) COLLATE "C" >= lower(${placeholder}::text) COLLATE "C"
    AND lower(name) COLLATE "C" < lower(${placeholder}::text || '${lastCharacter}') COLLATE "C"`;

/** Where the rows are that the scope can see; what was removed is there for old payments alone. */
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
  // The identifier of an organisation is its tenant's: a column is named once.
  const read = [...new Set(['organization_id', table.id, ...written, ...stampColumns])];
  const selected = [...read, ...(table.extra === undefined ? [] : [table.extra])].join(', ');

  return {
    table,
    /** All that is read of a row, and which of it a change writes. */
    selected,
    written,
    read,

    /** Nothing where the identifier was used before, by a removed row too. */
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

    /** A parent that is shared stays until the transaction ends; a row that is taken stays as it is. */
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

    /** In the order of creation, which identifiers of version 7 sort by. */
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

    /** The row is locked and in scope already. */
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

/** More links than one process can keep open are a fault of the plan, not of this list. */
const linksMax = 1000;

/** Of every organisation: the one list that no caller from outside can read. */
export function listLinksToOpen(run: Run, also: readonly string[]): Promise<Row[]> {
  const isInUse = "status = 'Enabled' AND removed_at IS NULL";
  return run(
    `SELECT organization_id, acquirer_link_id, name, adapter, host, port, tls,
       client_certificate, institution_id, dialect, connections, tpdu, zone_pin_key, mac_key,
       zone_master_key, http_json, NOT (${isInUse}) AS is_finishing
     FROM acquirer_links
     WHERE ((${isInUse}) OR acquirer_link_id = ANY($1::uuid[])) AND approval = 'Approved'
     ORDER BY organization_id, acquirer_link_id LIMIT ${linksMax}`,
    [also],
  );
}

/** A link whatever became of it: what was begun over it is finished. */
export async function institutionOfLink(
  run: Run,
  organizationId: string,
  linkId: string,
): Promise<string | undefined> {
  const [row] = await run(
    `SELECT institution_id FROM acquirer_links
     WHERE organization_id = $1 AND acquirer_link_id = $2`,
    [organizationId, linkId],
  );
  return row === undefined ? undefined : String(row['institution_id']);
}

/**
 * Terminal ids have one length, so text compared byte by byte compares them by number. Contracts
 * that were removed count: a reversal of theirs may still be under way.
 */
export async function sharesTerminals(
  run: Run,
  contract: {
    organizationId: string;
    linkId: string;
    contractId: string | undefined;
    from: string;
    to: string;
  },
): Promise<boolean> {
  const { organizationId, linkId, contractId, from, to } = contract;
  // In two parts, since each of the two indexes knows the living or the removed ones alone.
  const sharing = (removed: string) => `SELECT contract_id FROM acquirer_contracts
     WHERE organization_id = $1 AND acquirer_link_id = $2 AND removed_at IS ${removed}
       AND terminal_id_from COLLATE "C" <= $4 AND terminal_id_to COLLATE "C" >= $3
       AND contract_id IS DISTINCT FROM $5`;
  const found = await run(`${sharing('NULL')} UNION ALL ${sharing('NOT NULL')} LIMIT 1`, [
    organizationId,
    linkId,
    from,
    to,
    contractId ?? null,
  ]);
  return found.length > 0;
}

/** Puts this hardware, and no other, into a logical device; the hardware goes to its merchant. */
export async function fillPlace(
  run: Run,
  place: Row,
  physicalDeviceIds: readonly string[],
  now: string,
): Promise<void> {
  const organizationId = place['organization_id'];
  const id = place['logical_device_id'];
  const [first = null, second = null] = physicalDeviceIds;
  await run(
    `UPDATE physical_devices
     SET logical_device_id = NULL, version = version + 1, updated_at = $3
     WHERE organization_id = $1 AND logical_device_id = $2
       AND physical_device_id IS DISTINCT FROM $4 AND physical_device_id IS DISTINCT FROM $5`,
    [organizationId, id, now, first, second],
  );
  for (const physicalDeviceId of physicalDeviceIds) {
    await run(
      `UPDATE physical_devices
       SET logical_device_id = $3, merchant_id = $4, version = version + 1, updated_at = $5
       WHERE organization_id = $1 AND physical_device_id = $2
         AND logical_device_id IS DISTINCT FROM $3`,
      [organizationId, physicalDeviceId, id, place['merchant_id'], now],
    );
  }
}
