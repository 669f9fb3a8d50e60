// Writes the changed rows of a chunk: one statement for each table and kind of change.

import type { Queries } from '../../../platform/index.ts';
import { releaseClaims, terminalKey } from '../../devices/terminal-claims-sql.ts';
import { createRowRepository, type EntityTable, type Row } from '../../resources/resource-sql.ts';
import { physicalDevices } from '../../resources/tables.ts';
import type { CachedRow, RowCache } from './row-cache.ts';
import { tablesInWriteOrder } from './row-keys.ts';

type RowChange = { readonly before: Row; readonly after: Row };

/** The changed rows of one table, before and after. */
export type TableChanges = {
  readonly created: readonly Row[];
  readonly changed: readonly RowChange[];
  readonly removed: readonly Row[];
};

export type WriteRelatedData = (table: EntityTable, changes: TableChanges) => Promise<void>;

function collectChanges(entries: ReadonlyMap<string, CachedRow>): TableChanges {
  const created: Row[] = [];
  const changed: RowChange[] = [];
  const removed: Row[] = [];
  for (const { stored, row } of entries.values()) {
    if (stored === row) continue;
    if (stored === undefined) created.push(row as Row);
    else if (row === undefined) removed.push(stored);
    else changed.push({ before: stored, after: row });
  }
  return { created, changed, removed };
}

/** The members of the rows are the columns of the table, which also defines their types. */
async function insertAll(
  queries: Queries,
  table: EntityTable,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = createRowRepository(table).read.join(', ');
  await queries.query(
    `INSERT INTO ${table.name} (${columns})
     SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table.name}, $1::jsonb)`,
    [JSON.stringify(rows)],
  );
}

async function updateAll(
  queries: Queries,
  table: EntityTable,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const columns = [...createRowRepository(table).written, 'version', 'updated_at'];
  await queries.query(
    `UPDATE ${table.name} AS old SET ${columns.map((name) => `${name} = new.${name}`).join(', ')}
     FROM jsonb_populate_recordset(NULL::${table.name}, $1::jsonb) AS new
     WHERE old.organization_id = new.organization_id AND old.${table.id} = new.${table.id}`,
    [JSON.stringify(rows)],
  );
}

type RemovalOptions = { readonly organizationId: string; readonly now: string };

type WriteOptions = RemovalOptions & { readonly writeRelatedData?: WriteRelatedData | undefined };

async function removeAll(
  queries: Queries,
  table: EntityTable,
  rows: readonly Row[],
  { organizationId, now }: RemovalOptions,
): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row[table.id]);
  await queries.query(
    `UPDATE ${table.name} SET removed_at = $3
     WHERE organization_id = $1 AND ${table.id} = ANY($2::uuid[])`,
    [organizationId, ids, now],
  );
}

/** Ends the claims of devices that no longer have their terminal. */
async function releaseClaimsOfMovedDevices(
  queries: Queries,
  organizationId: string,
  { changed, removed }: TableChanges,
): Promise<void> {
  const movedDevices = changed.filter(
    ({ before, after }) => terminalKey(before) !== terminalKey(after),
  );
  const rowsWithoutTerminal = [...removed, ...movedDevices.map(({ before }) => before)];
  if (rowsWithoutTerminal.length > 0)
    await releaseClaims(queries, organizationId, rowsWithoutTerminal);
}

/** Writes parents first; a serial number that moves needs two writes (see `isSerialNumberFree`). */
export async function writeChanges(
  queries: Queries,
  rowCache: RowCache,
  { writeRelatedData, ...removal }: WriteOptions,
): Promise<void> {
  for (const table of tablesInWriteOrder) {
    const changes = collectChanges(rowCache.entriesOf(table));
    await removeAll(queries, table, changes.removed, removal);
    await updateAll(
      queries,
      table,
      changes.changed.map(({ after }) => after),
    );
    await insertAll(queries, table, changes.created);
    if (table === physicalDevices)
      await releaseClaimsOfMovedDevices(queries, removal.organizationId, changes);
    await writeRelatedData?.(table, changes);
  }
}
