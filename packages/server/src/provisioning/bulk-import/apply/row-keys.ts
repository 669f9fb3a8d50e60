// Defines the keys for row lookups, and predicts which rows the lines of a chunk need.
import { defined } from '@switchyard/contract';
import type { ResourceInput } from '../../resources/resource-definition.ts';
import type { EntityTable } from '../../resources/resource-sql.ts';
import { physicalDevices } from '../../resources/tables.ts';
import { bulkKinds, type Parent, place } from '../body/importable-types.ts';
import type { Line } from '../body/parse-line.ts';

/** A parent that limits the search for an external identifier. */
export type Within = { readonly column: string; readonly id: string };

/** One way to identify rows of a table. */
export type Key =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'external'; readonly externalId: string; readonly within?: Within }
  | { readonly by: 'serial'; readonly serialNumber: string };

export type Wanted = {
  readonly table: EntityTable;
  readonly key: Key;
  /** True to lock the row for a change; false to lock it only against changes by others. */
  readonly isTaken: boolean;
};

/** The order in which rows are read, locked and written. */
export const tables: readonly EntityTable[] = bulkKinds.map(({ kind }) => kind.table);

export const idKey = (id: unknown): Key => ({ by: 'id', id: String(id).toLowerCase() });

const externalKey = (externalId: unknown, within: Within | undefined): Key => ({
  by: 'external',
  externalId: String(externalId),
  ...defined({ within }),
});

export function textOf(key: Key): string {
  if (key.by === 'id') return `id ${key.id}`;
  if (key.by === 'serial') return `serial ${key.serialNumber}`;
  const { column = '', id = '' } = key.within ?? {};
  return `external ${column} ${id} ${key.externalId}`;
}

/** The key of a parent in a line; undefined if the line does not name the parent. */
export function parentKey(
  { data, besides }: Line,
  { member, external }: Parent,
  within: Within | undefined,
): Key | undefined {
  const id = data[member] ?? besides[member];
  if (id !== undefined) return idKey(id);
  return external in besides ? externalKey(besides[external], within) : undefined;
}

/** The key of the line's own entity: its identifier, external identifier or serial number. */
export function ownKey(
  { bulkKind, data }: Line,
  parentIds: ReadonlyMap<string, string>,
): Key | undefined {
  const id = data[bulkKind.kind.idMember];
  if (id !== undefined) return idKey(id);
  const { externalId, serialNumber } = data as ResourceInput;
  if (externalId !== undefined) {
    const { member = '', column = '' } = bulkKind.within ?? {};
    const parentId = parentIds.get(member);
    return externalKey(externalId, parentId === undefined ? undefined : { column, id: parentId });
  }
  if (bulkKind.isHardware !== true || serialNumber === undefined) return undefined;
  return { by: 'serial', serialNumber: String(serialNumber) };
}

/** Returns the identifier of a row that was already read. */
export type FindKnown = (table: EntityTable, key: Key) => string | undefined;

/**
 * The row of one table that a line needs; an earlier line may create a parent that is not found.
 */
function wantedBy(line: Line, table: EntityTable, find: FindKnown): Wanted | undefined {
  const { parents, kind, within: ownWithin } = line.bulkKind;
  const parentIds = new Map<string, string>();
  let within: Within | undefined;
  for (const parent of parents) {
    const key = parentKey(line, parent, within);
    if (key === undefined) continue;
    if (parent.table === table) return { table, key, isTaken: table === place.table };
    const id = key.by === 'id' ? key.id : find(parent.table, key);
    // An entity without a parent in `within` can be searched before its other parents exist.
    if (id === undefined && ownWithin === undefined) break;
    if (id === undefined) return undefined;
    within = { column: parent.column, id };
    parentIds.set(parent.member, id);
  }
  const own = table === kind.table ? ownKey(line, parentIds) : undefined;
  return own === undefined ? undefined : { table, key: own, isTaken: true };
}

/** Every serial number that a line assigns is looked up, in the scope of the caller or not. */
function hardwareBy({ bulkKind, operation, data }: Line): Wanted | undefined {
  const { serialNumber } = data as Record<string, string>;
  if (bulkKind.isHardware !== true || operation === 'delete') return undefined;
  return {
    table: physicalDevices,
    key: { by: 'serial', serialNumber: String(serialNumber) },
    isTaken: true,
  };
}

/** Lists the rows of one table that the lines probably need, based on the known rows above it. */
export function wantedIn(table: EntityTable, lines: readonly Line[], find: FindKnown): Wanted[] {
  const found = new Map<string, Wanted>();
  const note = (wanted: Wanted | undefined) => {
    if (wanted === undefined) return;
    found.set(`${wanted.isTaken} ${textOf(wanted.key)}`, wanted);
  };
  for (const line of lines) {
    note(wantedBy(line, table, find));
    if (table === physicalDevices) note(hardwareBy(line));
  }
  return [...found.values()];
}
