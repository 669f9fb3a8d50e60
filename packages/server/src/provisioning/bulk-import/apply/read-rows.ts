// Reads the rows that lines refer to, with a few statements for a whole chunk.
import type { Queries } from '../../../platform/index.ts';
import type { CallerScope } from '../../resources/caller-scope.ts';
import {
  createRowRepository,
  type EntityTable,
  type Row,
  scopeCondition,
} from '../../resources/resource-sql.ts';
import type { ImportLine } from '../body/parse-line.ts';
import type { RowCache } from './row-cache.ts';
import { listRowRequests, type RowKey, type RowRequest, tablesInWriteOrder } from './row-keys.ts';

/**
 * Two rows with one external identifier are ambiguous already, but earlier lines may remove some.
 */
const rowsPerExternalIdMax = 20;

type ExternalIdKey = Extract<RowKey, { type: 'external' }>;

export type EntityRowReaderDeps = {
  readonly queries: Queries;
  readonly scope: CallerScope;
  readonly rowCache: RowCache;
  /** False if nothing will be written. */
  readonly isLocking: boolean;
};

export function createEntityRowReader({
  queries,
  scope,
  rowCache,
  isLocking,
}: EntityRowReaderDeps) {
  /** Finds rows by external identifier alone, up to a few for each. */
  async function findByExternalId(
    table: EntityTable,
    keys: readonly ExternalIdKey[],
  ): Promise<Row[]> {
    const values: unknown[] = [keys.map(({ externalId }) => externalId)];
    return queries.query(
      `SELECT t.id FROM unnest($1::text[]) AS x(external_id) CROSS JOIN LATERAL (
         SELECT ${table.id} AS id FROM ${table.name}
         WHERE ${scopeCondition(table, scope, values)} AND external_id = x.external_id
         ORDER BY ${table.id} LIMIT ${rowsPerExternalIdMax}) t`,
      values,
    );
  }

  async function findByExternalIdAndParent(
    table: EntityTable,
    column: string,
    keys: readonly ExternalIdKey[],
  ) {
    const values: unknown[] = [
      keys.map(({ externalId }) => externalId),
      keys.map((key) => key.within?.id),
    ];
    return queries.query(
      `SELECT t.id FROM unnest($1::text[], $2::uuid[]) AS x(external_id, parent_id)
       CROSS JOIN LATERAL (
         SELECT ${table.id} AS id FROM ${table.name}
         WHERE ${scopeCondition(table, scope, values)} AND external_id = x.external_id
           AND ${column} = x.parent_id
         ORDER BY ${table.id} LIMIT ${rowsPerExternalIdMax}) t`,
      values,
    );
  }

  async function findAllByExternalId(
    table: EntityTable,
    keys: readonly ExternalIdKey[],
  ): Promise<string[]> {
    const groups = new Map<string, ExternalIdKey[]>();
    for (const key of keys) {
      const column = key.within?.column ?? '';
      groups.set(column, [...(groups.get(column) ?? []), key]);
    }
    const foundRows: Row[] = [];
    for (const [column, group] of groups) {
      const rows =
        column === ''
          ? findByExternalId(table, group)
          : findByExternalIdAndParent(table, column, group);
      foundRows.push(...(await rows));
    }
    return foundRows.map((row) => String(row['id']));
  }

  /**
   * Finds the devices with the serial numbers in the whole organisation, even outside the scope.
   */
  async function findBySerialNumber(serialNumbers: readonly string[]): Promise<string[]> {
    const { stored } = rowCache.serials;
    const unread = serialNumbers.filter((serialNumber) => !stored.has(serialNumber));
    if (unread.length === 0) return [];
    const rows = await queries.query(
      `SELECT physical_device_id, serial_number FROM physical_devices
       WHERE organization_id = $1 AND removed_at IS NULL AND serial_number = ANY($2::text[])`,
      [scope.organizationId, unread],
    );
    for (const serialNumber of unread) stored.set(serialNumber, null);
    for (const row of rows) {
      stored.set(String(row['serial_number']), String(row['physical_device_id']));
    }
    return rows.map((row) => String(row['physical_device_id']));
  }

  async function lockAndCache(
    table: EntityTable,
    ids: readonly string[],
    lock: string,
  ): Promise<void> {
    if (ids.length === 0) return;
    const values: unknown[] = [ids];
    const rows = await queries.query(
      `SELECT ${createRowRepository(table).selected} FROM ${table.name}
       WHERE ${table.id} = ANY($1::uuid[]) AND ${scopeCondition(table, scope, values)}
       ORDER BY ${table.id} ${isLocking ? lock : ''}`,
      values,
    );
    rowCache.add(table, rows);
  }

  async function findIds(table: EntityTable, keys: readonly RowKey[]): Promise<string[]> {
    const ids = keys.filter((key) => key.type === 'id').map(({ id }) => id);
    const externals = keys.filter((key) => key.type === 'external');
    const serials = keys.filter((key) => key.type === 'serial');
    return [
      ...ids,
      ...(externals.length === 0 ? [] : await findAllByExternalId(table, externals)),
      ...(serials.length === 0
        ? []
        : await findBySerialNumber(serials.map(({ serialNumber }) => serialNumber))),
    ];
  }

  /** Locks the rows that may change before the rows that must only stay. */
  async function readTable(table: EntityTable, requests: readonly RowRequest[]): Promise<void> {
    const unread = requests.filter(({ key }) => !rowCache.isRead(table, key));
    const keysOf = (isForUpdate: boolean) =>
      unread.filter((one) => one.isForUpdate === isForUpdate).map(({ key }) => key);
    const idsForUpdate = new Set(await findIds(table, keysOf(true)));
    const idsForShare = new Set(await findIds(table, keysOf(false)));
    await lockAndCache(table, [...idsForUpdate], 'FOR NO KEY UPDATE');
    await lockAndCache(
      table,
      [...idsForShare].filter((id) => !idsForUpdate.has(id)),
      'FOR SHARE',
    );
    for (const { key } of unread) rowCache.markRead(table, key);
  }

  return {
    read: ({ table, ...requests }: RowRequest) => readTable(table, [{ table, ...requests }]),

    /**
     * Reads the rows that the lines need, table by table, because lower rows depend on upper ones.
     */
    async readFor(lines: readonly ImportLine[]): Promise<void> {
      const find = (table: EntityTable, key: RowKey) => {
        const [row, second] = rowCache.findRead(table, key);
        return row === undefined || second !== undefined ? undefined : String(row[table.id]);
      };
      for (const table of tablesInWriteOrder)
        await readTable(table, listRowRequests(table, lines, find));
    },
  };
}
