// Reads the rows that lines refer to, with a few statements for a whole chunk.
import type { CallerScope } from '../../resources/caller-scope.ts';
import {
  createRowRepository,
  type EntityTable,
  type Row,
  type SqlRunner,
  scopeCondition,
} from '../../resources/resource-sql.ts';
import type { Line } from '../body/parse-line.ts';
import type { Workspace } from './row-cache.ts';
import { type Key, tables, type Wanted, wantedIn } from './row-keys.ts';

/**
 * Two rows with one external identifier are ambiguous already, but earlier lines may remove some.
 */
const sameExternalMax = 20;

type External = Extract<Key, { by: 'external' }>;

export type ReaderDeps = {
  readonly run: SqlRunner;
  readonly scope: CallerScope;
  readonly workspace: Workspace;
  /** False if nothing will be written. */
  readonly isLocking: boolean;
};

export function createReader({ run, scope, workspace, isLocking }: ReaderDeps) {
  /** Finds rows by external identifier alone, up to a few for each. */
  async function findAnywhere(table: EntityTable, keys: readonly External[]): Promise<Row[]> {
    const values: unknown[] = [keys.map(({ externalId }) => externalId)];
    return run(
      `SELECT t.id FROM unnest($1::text[]) AS x(external_id) CROSS JOIN LATERAL (
         SELECT ${table.id} AS id FROM ${table.name}
         WHERE ${scopeCondition(table, scope, values)} AND external_id = x.external_id
         ORDER BY ${table.id} LIMIT ${sameExternalMax}) t`,
      values,
    );
  }

  async function findWithin(table: EntityTable, column: string, keys: readonly External[]) {
    const values: unknown[] = [
      keys.map(({ externalId }) => externalId),
      keys.map((key) => key.within?.id),
    ];
    return run(
      `SELECT t.id FROM unnest($1::text[], $2::uuid[]) AS x(external_id, parent_id)
       CROSS JOIN LATERAL (
         SELECT ${table.id} AS id FROM ${table.name}
         WHERE ${scopeCondition(table, scope, values)} AND external_id = x.external_id
           AND ${column} = x.parent_id
         ORDER BY ${table.id} LIMIT ${sameExternalMax}) t`,
      values,
    );
  }

  async function findExternals(table: EntityTable, keys: readonly External[]): Promise<string[]> {
    const groups = new Map<string, External[]>();
    for (const key of keys) {
      const column = key.within?.column ?? '';
      groups.set(column, [...(groups.get(column) ?? []), key]);
    }
    const found: Row[] = [];
    for (const [column, group] of groups) {
      const rows = column === '' ? findAnywhere(table, group) : findWithin(table, column, group);
      found.push(...(await rows));
    }
    return found.map((row) => String(row['id']));
  }

  /**
   * Finds the devices with the serial numbers in the whole organisation, even outside the scope.
   */
  async function findSerials(serialNumbers: readonly string[]): Promise<string[]> {
    const { stored } = workspace.serials;
    const unread = serialNumbers.filter((serialNumber) => !stored.has(serialNumber));
    if (unread.length === 0) return [];
    const rows = await run(
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

  async function take(table: EntityTable, ids: readonly string[], lock: string): Promise<void> {
    if (ids.length === 0) return;
    const values: unknown[] = [ids];
    const rows = await run(
      `SELECT ${createRowRepository(table).selected} FROM ${table.name}
       WHERE ${table.id} = ANY($1::uuid[]) AND ${scopeCondition(table, scope, values)}
       ORDER BY ${table.id} ${isLocking ? lock : ''}`,
      values,
    );
    workspace.add(table, rows);
  }

  async function idsOf(table: EntityTable, keys: readonly Key[]): Promise<string[]> {
    const ids = keys.filter((key) => key.by === 'id').map(({ id }) => id);
    const externals = keys.filter((key) => key.by === 'external');
    const serials = keys.filter((key) => key.by === 'serial');
    return [
      ...ids,
      ...(externals.length === 0 ? [] : await findExternals(table, externals)),
      ...(serials.length === 0
        ? []
        : await findSerials(serials.map(({ serialNumber }) => serialNumber))),
    ];
  }

  /** Locks the rows that may change before the rows that must only stay. */
  async function read(table: EntityTable, wanted: readonly Wanted[]): Promise<void> {
    const unread = wanted.filter(({ key }) => !workspace.isRead(table, key));
    const keysOf = (isTaken: boolean) =>
      unread.filter((one) => one.isTaken === isTaken).map(({ key }) => key);
    const taken = new Set(await idsOf(table, keysOf(true)));
    const shared = new Set(await idsOf(table, keysOf(false)));
    await take(table, [...taken], 'FOR NO KEY UPDATE');
    await take(
      table,
      [...shared].filter((id) => !taken.has(id)),
      'FOR SHARE',
    );
    for (const { key } of unread) workspace.mark(table, key);
  }

  return {
    read: ({ table, ...wanted }: Wanted) => read(table, [{ table, ...wanted }]),

    /**
     * Reads the rows that the lines need, table by table, because lower rows depend on upper ones.
     */
    async readFor(lines: readonly Line[]): Promise<void> {
      const find = (of: EntityTable, key: Key) => {
        const [row, second] = workspace.known(of, key);
        return row === undefined || second !== undefined ? undefined : String(row[of.id]);
      };
      for (const table of tables) await read(table, wantedIn(table, lines, find));
    },
  };
}
