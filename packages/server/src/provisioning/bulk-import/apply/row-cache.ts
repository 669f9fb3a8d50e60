// Keeps the rows of an import in memory: read once, changed by lines, and written at the end.
import type { EntityTable, Row } from '../../resources/resource-sql.ts';
import { physicalDevices } from '../../resources/tables.ts';
import { type Key, textOf, type Wanted } from './row-keys.ts';

export type Entry = {
  readonly id: string;
  /** The row in the database, after the last write. */
  stored: Row | undefined;
  /** The current row; undefined after its removal. */
  row: Row | undefined;
  /** True if a line created the row, so that the database has no rows below it. */
  readonly isMade: boolean;
};

/** Thrown for a row that was not read; the caller reads it and tries again. */
export class NotRead extends Error {
  readonly wanted: Wanted;

  constructor(wanted: Wanted) {
    super('a row has not been read');
    this.name = 'NotRead';
    this.wanted = wanted;
  }
}

/** Thrown if rows must be written before another row can use one of their unique values. */
export class WriteFirst extends Error {
  constructor() {
    super('rows have to be written first');
    this.name = 'WriteFirst';
  }
}

const externalOf = (row: Row | undefined) => row?.['external_id'] ?? undefined;

/** The rows of one table, by identifier and by external identifier. */
function createShelf() {
  const entries = new Map<string, Entry>();
  const byExternal = new Map<string, Set<string>>();

  function index({ id, row }: Entry, before: Row | undefined): void {
    const [was, is] = [externalOf(before), externalOf(row)];
    if (was === is && (row === undefined) === (before === undefined)) return;
    if (was !== undefined) byExternal.get(String(was))?.delete(id);
    if (is === undefined) return;
    const known = byExternal.get(String(is));
    if (known === undefined) byExternal.set(String(is), new Set([id]));
    else known.add(id);
  }

  return {
    entries,
    add(entry: Entry): void {
      entries.set(entry.id, entry);
      index(entry, undefined);
    },
    change(id: string, row: Row | undefined): void {
      const entry = entries.get(id);
      if (entry === undefined) throw new Error('a row that was never read is changed');
      const before = entry.row;
      entry.row = row;
      index(entry, before);
    },
    withExternal: (externalId: string): Row[] =>
      [...(byExternal.get(externalId) ?? [])]
        .map((id) => entries.get(id)?.row)
        .filter((row) => row !== undefined),
  };
}

/** Finds the device with a serial number in the organisation. */
function createSerials(entries: ReadonlyMap<string, Entry>) {
  /** The serial numbers in the database; null for an unused one. */
  const stored = new Map<string, string | null>();
  const now = new Map<string, string>();
  const serialOf = (row: Row | undefined) =>
    row === undefined ? '' : String(row['serial_number']);

  return {
    stored,
    now,
    /** The device that currently has the serial number, in the scope of the caller or not. */
    holder(serialNumber: string): string | undefined {
      const known = now.get(serialNumber);
      if (known !== undefined) return known;
      const id = stored.get(serialNumber) ?? undefined;
      if (id === undefined || !entries.has(id)) return id;
      return serialOf(entries.get(id)?.row) === serialNumber ? id : undefined;
    },
    move(id: string, before: Row | undefined, after: Row | undefined): void {
      if (before !== undefined && now.get(serialOf(before)) === id) now.delete(serialOf(before));
      if (after !== undefined) now.set(serialOf(after), id);
    },
    /** Applies the current rows as the stored ones. */
    settle({ id, stored: before, row }: Entry): void {
      if (before !== undefined && stored.get(serialOf(before)) === id) {
        stored.set(serialOf(before), null);
      }
      if (row !== undefined) stored.set(serialOf(row), id);
    },
  };
}

export type Workspace = ReturnType<typeof createWorkspace>;

export function createWorkspace() {
  const shelves = new Map<EntityTable, ReturnType<typeof createShelf>>();
  const shelfOf = (table: EntityTable) => {
    const known = shelves.get(table) ?? createShelf();
    shelves.set(table, known);
    return known;
  };
  const read = new Set<string>();
  const serials = createSerials(shelfOf(physicalDevices).entries);

  const mark = (table: EntityTable, key: Key) => read.add(`${table.name} ${textOf(key)}`);

  function isRead(table: EntityTable, key: Key): boolean {
    if (key.by === 'id' && shelfOf(table).entries.has(key.id)) return true;
    if (read.has(`${table.name} ${textOf(key)}`)) return true;
    return key.by === 'external' && key.within !== undefined && isMade(key.within.id);
  }

  const isMade = (id: string) =>
    [...shelves.values()].some(({ entries }) => entries.get(id)?.isMade === true);

  function known(table: EntityTable, key: Key): Row[] {
    const { entries, withExternal } = shelfOf(table);
    if (key.by === 'external') {
      const { within } = key;
      const rows = withExternal(key.externalId);
      return within === undefined ? rows : rows.filter((row) => row[within.column] === within.id);
    }
    const id = key.by === 'id' ? key.id : serials.holder(key.serialNumber);
    const row = id === undefined ? undefined : entries.get(id)?.row;
    return row === undefined ? [] : [row];
  }

  return {
    mark,
    isMade,
    /** The secrets of new points of sale, shown once and stored only as hashes. */
    secrets: new Map<string, string>(),
    isRead,
    serials,
    entriesOf: (table: EntityTable): ReadonlyMap<string, Entry> => shelfOf(table).entries,

    /** The rows of a key that were already read. */
    known,

    /** @throws NotRead if the rows of the key have not been read yet */
    rows(table: EntityTable, key: Key, isTaken: boolean): Row[] {
      if (!isRead(table, key)) throw new NotRead({ table, key, isTaken });
      return known(table, key);
    },

    /** Adds rows of the database; rows that are already present keep their changes. */
    add(table: EntityTable, rows: readonly Row[]): void {
      for (const row of rows) {
        const id = String(row[table.id]);
        if (shelfOf(table).entries.has(id)) continue;
        shelfOf(table).add({ id, stored: row, row, isMade: false });
        if (table === physicalDevices) serials.now.set(String(row['serial_number']), id);
      }
    },

    /** Adds a row that a line created. */
    make(table: EntityTable, row: Row): void {
      const id = String(row[table.id]);
      shelfOf(table).add({ id, stored: undefined, row, isMade: true });
      if (table === physicalDevices) serials.move(id, undefined, row);
    },

    /** Applies the change of a line; undefined for a removal. */
    change(table: EntityTable, id: string, row: Row | undefined): void {
      const before = shelfOf(table).entries.get(id)?.row;
      shelfOf(table).change(id, row);
      if (table === physicalDevices) serials.move(id, before, row);
    },

    /** @returns true if no other device has the serial number of the row */
    isFree(row: Row): boolean {
      const id = String(row[physicalDevices.id]);
      const serialNumber = String(row['serial_number']);
      const stored = serials.stored.get(serialNumber);
      if (stored === undefined) {
        const key: Key = { by: 'serial', serialNumber };
        throw new NotRead({ table: physicalDevices, key, isTaken: true });
      }
      const holder = serials.holder(serialNumber);
      if (holder !== undefined && holder !== id) return false;
      // The former device has another serial number by now, but the database still has the old one.
      if (stored !== null && stored !== id) throw new WriteFirst();
      return true;
    },

    /** Marks the changes as written; in a trial, the stored rows stay unchanged. */
    settle(isWritten: boolean): void {
      for (const [table, { entries }] of shelves) {
        for (const entry of entries.values()) {
          if (table === physicalDevices && entry.stored !== entry.row) serials.settle(entry);
          if (isWritten) entry.stored = entry.row;
        }
      }
    },
  };
}
