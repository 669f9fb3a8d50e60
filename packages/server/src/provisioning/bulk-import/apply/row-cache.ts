// Keeps the rows of an import in memory: read once, changed by lines, and written at the end.
import type { EntityTable, Row } from '../../resources/resource-sql.ts';
import { physicalDevices } from '../../resources/tables.ts';
import { formatRowKey, type RowKey, type RowRequest } from './row-keys.ts';

export type CachedRow = {
  readonly id: string;
  /** The row in the database, after the last write. */
  stored: Row | undefined;
  /** The current row; undefined after its removal. */
  row: Row | undefined;
  /** True if a line created the row, so that the database has no rows below it. */
  readonly isNew: boolean;
};

/** The cache does not have this row; the caller reads it and tries again. */
export class RowNotCachedError extends Error {
  readonly request: RowRequest;

  constructor(request: RowRequest) {
    super('a row has not been read');
    this.name = 'RowNotCachedError';
    this.request = request;
  }
}

/** Thrown if rows must be written before another row can use one of their unique values. */
export class UnwrittenRowsError extends Error {
  constructor() {
    super('rows must be written first');
    this.name = 'WriteFirst';
  }
}

const externalIdOf = (row: Row | undefined) => row?.['external_id'] ?? undefined;

/** The rows of one table, by identifier and by external identifier. */
function createTableRows() {
  const entries = new Map<string, CachedRow>();
  const byExternal = new Map<string, Set<string>>();

  function index({ id, row }: CachedRow, before: Row | undefined): void {
    const [oldExternalId, newExternalId] = [externalIdOf(before), externalIdOf(row)];
    if (oldExternalId === newExternalId && (row === undefined) === (before === undefined)) return;
    if (oldExternalId !== undefined) byExternal.get(String(oldExternalId))?.delete(id);
    if (newExternalId === undefined) return;
    const ids = byExternal.get(String(newExternalId));
    if (ids === undefined) byExternal.set(String(newExternalId), new Set([id]));
    else ids.add(id);
  }

  return {
    entries,
    add(entry: CachedRow): void {
      entries.set(entry.id, entry);
      index(entry, undefined);
    },
    change(id: string, row: Row | undefined): void {
      const entry = entries.get(id);
      if (entry === undefined) throw new Error('a row was changed before it was read');
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
function createSerialNumberIndex(entries: ReadonlyMap<string, CachedRow>) {
  /** The serial numbers in the database; null for an unused one. */
  const stored = new Map<string, string | null>();
  const current = new Map<string, string>();
  const serialNumberOf = (row: Row | undefined) =>
    row === undefined ? '' : String(row['serial_number']);

  return {
    stored,
    now: current,
    /** The device that currently has the serial number, in the scope of the caller or not. */
    findDeviceId(serialNumber: string): string | undefined {
      const currentId = current.get(serialNumber);
      if (currentId !== undefined) return currentId;
      const id = stored.get(serialNumber) ?? undefined;
      if (id === undefined || !entries.has(id)) return id;
      return serialNumberOf(entries.get(id)?.row) === serialNumber ? id : undefined;
    },
    move(id: string, before: Row | undefined, after: Row | undefined): void {
      if (before !== undefined && current.get(serialNumberOf(before)) === id)
        current.delete(serialNumberOf(before));
      if (after !== undefined) current.set(serialNumberOf(after), id);
    },
    /** Applies the current rows as the stored ones. */
    markWritten({ id, stored: before, row }: CachedRow): void {
      if (before !== undefined && stored.get(serialNumberOf(before)) === id) {
        stored.set(serialNumberOf(before), null);
      }
      if (row !== undefined) stored.set(serialNumberOf(row), id);
    },
  };
}

export type RowCache = ReturnType<typeof createRowCache>;

export function createRowCache() {
  const tableRows = new Map<EntityTable, ReturnType<typeof createTableRows>>();
  const rowsOf = (table: EntityTable) => {
    const rows = tableRows.get(table) ?? createTableRows();
    tableRows.set(table, rows);
    return rows;
  };
  const read = new Set<string>();
  const serials = createSerialNumberIndex(rowsOf(physicalDevices).entries);

  const markRead = (table: EntityTable, key: RowKey) =>
    read.add(`${table.name} ${formatRowKey(key)}`);

  function isRead(table: EntityTable, key: RowKey): boolean {
    if (key.type === 'id' && rowsOf(table).entries.has(key.id)) return true;
    if (read.has(`${table.name} ${formatRowKey(key)}`)) return true;
    return key.type === 'external' && key.within !== undefined && isNewId(key.within.id);
  }

  const isNewId = (id: string) =>
    [...tableRows.values()].some(({ entries }) => entries.get(id)?.isNew === true);

  function findRead(table: EntityTable, key: RowKey): Row[] {
    const { entries, withExternal } = rowsOf(table);
    if (key.type === 'external') {
      const { within } = key;
      const rows = withExternal(key.externalId);
      return within === undefined ? rows : rows.filter((row) => row[within.column] === within.id);
    }
    const id = key.type === 'id' ? key.id : serials.findDeviceId(key.serialNumber);
    const row = id === undefined ? undefined : entries.get(id)?.row;
    return row === undefined ? [] : [row];
  }

  return {
    markRead,
    isNewId,
    /** The secrets of new points of sale, shown once and stored only as hashes. */
    secrets: new Map<string, string>(),
    isRead,
    serials,
    entriesOf: (table: EntityTable): ReadonlyMap<string, CachedRow> => rowsOf(table).entries,

    /** The rows of a key that were already read. */
    findRead,

    /** @throws RowNotCachedError if the rows of the key have not been read yet */
    requireRows(table: EntityTable, key: RowKey, isForUpdate: boolean): Row[] {
      if (!isRead(table, key)) throw new RowNotCachedError({ table, key, isForUpdate });
      return findRead(table, key);
    },

    /** Adds rows of the database; rows that are already present keep their changes. */
    add(table: EntityTable, rows: readonly Row[]): void {
      for (const row of rows) {
        const id = String(row[table.id]);
        if (rowsOf(table).entries.has(id)) continue;
        rowsOf(table).add({ id, stored: row, row, isNew: false });
        if (table === physicalDevices) serials.now.set(String(row['serial_number']), id);
      }
    },

    /** Adds a row that a line created. */
    addNew(table: EntityTable, row: Row): void {
      const id = String(row[table.id]);
      rowsOf(table).add({ id, stored: undefined, row, isNew: true });
      if (table === physicalDevices) serials.move(id, undefined, row);
    },

    /** Applies the change of a line; undefined for a removal. */
    change(table: EntityTable, id: string, row: Row | undefined): void {
      const before = rowsOf(table).entries.get(id)?.row;
      rowsOf(table).change(id, row);
      if (table === physicalDevices) serials.move(id, before, row);
    },

    /** @returns true if no other device has the serial number of the row */
    isSerialNumberFree(row: Row): boolean {
      const id = String(row[physicalDevices.id]);
      const serialNumber = String(row['serial_number']);
      const stored = serials.stored.get(serialNumber);
      if (stored === undefined) {
        const key: RowKey = { type: 'serial', serialNumber };
        throw new RowNotCachedError({ table: physicalDevices, key, isForUpdate: true });
      }
      const holder = serials.findDeviceId(serialNumber);
      if (holder !== undefined && holder !== id) return false;
      // The former device has another serial number by now, but the database still has the old one.
      if (stored !== null && stored !== id) throw new UnwrittenRowsError();
      return true;
    },

    /** Marks the changes as written; in a trial, the stored rows stay unchanged. */
    markWritten(isWritten: boolean): void {
      for (const [table, { entries }] of tableRows) {
        for (const entry of entries.values()) {
          if (table === physicalDevices && entry.stored !== entry.row) serials.markWritten(entry);
          if (isWritten) entry.stored = entry.row;
        }
      }
    },
  };
}
