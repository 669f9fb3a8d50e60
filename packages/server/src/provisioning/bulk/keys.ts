// By what rows are asked for, and which rows the lines of a chunk will ask for.
import { defined } from '@switchyard/contract';
import type { Input } from '../resource-kind.ts';
import type { Table } from '../store.ts';
import { physicalDevices } from '../tables.ts';
import { bulkKinds, type Parent, place } from './kinds.ts';
import type { Line } from './line.ts';

/** A parent that narrows where an external identifier is looked for. */
export type Within = { readonly column: string; readonly id: string };

/** One way to ask for rows of a table. */
export type Key =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'external'; readonly externalId: string; readonly within?: Within }
  | { readonly by: 'serial'; readonly serialNumber: string };

export type Wanted = {
  readonly table: Table;
  readonly key: Key;
  /** Whether the row may be changed, or only has to stay as it is. */
  readonly isTaken: boolean;
};

/** In the order in which rows are read, locked and written. */
export const tables: readonly Table[] = bulkKinds.map(({ kind }) => kind.table);

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

/** How a line names one of its parents; nothing where it does not. */
export function parentKey(
  { data, besides }: Line,
  { member, external }: Parent,
  within: Within | undefined,
): Key | undefined {
  const id = data[member] ?? besides[member];
  if (id !== undefined) return idKey(id);
  return external in besides ? externalKey(besides[external], within) : undefined;
}

/** How a line names its own thing: by identifier, external identifier, or what is on the housing. */
export function ownKey(
  { bulkKind, data }: Line,
  parentIds: ReadonlyMap<string, string>,
): Key | undefined {
  const id = data[bulkKind.kind.idMember];
  if (id !== undefined) return idKey(id);
  const { externalId, serialNumber } = data as Input;
  if (externalId !== undefined) {
    const { member = '', column = '' } = bulkKind.within ?? {};
    const parentId = parentIds.get(member);
    return externalKey(externalId, parentId === undefined ? undefined : { column, id: parentId });
  }
  if (bulkKind.isHardware !== true || serialNumber === undefined) return undefined;
  return { by: 'serial', serialNumber: String(serialNumber) };
}

/** The identifier of a row that was read already. */
export type FindKnown = (table: Table, key: Key) => string | undefined;

/** One line's wish in one table; a parent that is found nowhere may be made by a line before it. */
function wantedBy(line: Line, table: Table, find: FindKnown): Wanted | undefined {
  const { parents, kind, within: ownWithin } = line.bulkKind;
  const parentIds = new Map<string, string>();
  let within: Within | undefined;
  for (const parent of parents) {
    const key = parentKey(line, parent, within);
    if (key === undefined) continue;
    if (parent.table === table) return { table, key, isTaken: table === place.table };
    const id = key.by === 'id' ? key.id : find(parent.table, key);
    // What is looked for below nothing can be looked for before its place was made.
    if (id === undefined && ownWithin === undefined) break;
    if (id === undefined) return undefined;
    within = { column: parent.column, id };
    parentIds.set(parent.member, id);
  }
  const own = table === kind.table ? ownKey(line, parentIds) : undefined;
  return own === undefined ? undefined : { table, key: own, isTaken: true };
}

/** Every serial number that a line would give is looked up, whoever has it. */
function hardwareBy({ bulkKind, operation, data }: Line): Wanted | undefined {
  const { serialNumber } = data as Record<string, string>;
  if (bulkKind.isHardware !== true || operation === 'delete') return undefined;
  return {
    table: physicalDevices,
    key: { by: 'serial', serialNumber: String(serialNumber) },
    isTaken: true,
  };
}

/** What the lines will most likely ask for in one table, as far as the rows above it are known. */
export function wantedIn(table: Table, lines: readonly Line[], find: FindKnown): Wanted[] {
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
