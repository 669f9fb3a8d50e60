// Writes the changed rows of a chunk: one statement for each table and kind of change.

import { releaseClaims, terminalKey } from '../../devices/terminal-claims-sql.ts';
import {
  createRowRepository,
  type EntityTable,
  type Row,
  type SqlRunner,
} from '../../resources/resource-sql.ts';
import { physicalDevices } from '../../resources/tables.ts';
import type { Entry, Workspace } from './row-cache.ts';
import { tables } from './row-keys.ts';

type Change = { readonly before: Row; readonly after: Row };

/** The changed rows of one table, before and after. */
export type Changes = {
  readonly made: readonly Row[];
  readonly changed: readonly Change[];
  readonly removed: readonly Row[];
};

export type Beside = (table: EntityTable, changes: Changes) => Promise<void>;

function changesIn(entries: ReadonlyMap<string, Entry>): Changes {
  const made: Row[] = [];
  const changed: Change[] = [];
  const removed: Row[] = [];
  for (const { stored, row } of entries.values()) {
    if (stored === row) continue;
    if (stored === undefined) made.push(row as Row);
    else if (row === undefined) removed.push(stored);
    else changed.push({ before: stored, after: row });
  }
  return { made, changed, removed };
}

/** The members of the rows are the columns of the table, which also defines their types. */
async function insertAll(run: SqlRunner, table: EntityTable, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const columns = createRowRepository(table).read.join(', ');
  await run(
    `INSERT INTO ${table.name} (${columns})
     SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table.name}, $1::jsonb)`,
    [JSON.stringify(rows)],
  );
}

async function updateAll(run: SqlRunner, table: EntityTable, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const columns = [...createRowRepository(table).written, 'version', 'updated_at'];
  await run(
    `UPDATE ${table.name} AS old SET ${columns.map((name) => `${name} = new.${name}`).join(', ')}
     FROM jsonb_populate_recordset(NULL::${table.name}, $1::jsonb) AS new
     WHERE old.organization_id = new.organization_id AND old.${table.id} = new.${table.id}`,
    [JSON.stringify(rows)],
  );
}

type Removal = { readonly organizationId: string; readonly now: string };

type Writing = Removal & { readonly beside?: Beside | undefined };

async function removeAll(
  run: SqlRunner,
  table: EntityTable,
  rows: readonly Row[],
  { organizationId, now }: Removal,
): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row[table.id]);
  await run(
    `UPDATE ${table.name} SET removed_at = $3
     WHERE organization_id = $1 AND ${table.id} = ANY($2::uuid[])`,
    [organizationId, ids, now],
  );
}

/** Ends the claims of devices that no longer have their terminal. */
async function releaseMoved(
  run: SqlRunner,
  organizationId: string,
  { changed, removed }: Changes,
): Promise<void> {
  const other = changed.filter(({ before, after }) => terminalKey(before) !== terminalKey(after));
  const left = [...removed, ...other.map(({ before }) => before)];
  if (left.length > 0) await releaseClaims(run, organizationId, left);
}

/** Writes parents first; a serial number that moves needs two writes (see `isFree`). */
export async function writeChanges(
  run: SqlRunner,
  workspace: Workspace,
  { beside, ...removal }: Writing,
): Promise<void> {
  for (const table of tables) {
    const changes = changesIn(workspace.entriesOf(table));
    await removeAll(run, table, changes.removed, removal);
    await updateAll(
      run,
      table,
      changes.changed.map(({ after }) => after),
    );
    await insertAll(run, table, changes.made);
    if (table === physicalDevices) await releaseMoved(run, removal.organizationId, changes);
    await beside?.(table, changes);
  }
}
