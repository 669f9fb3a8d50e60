// Defines the keys for row lookups, and predicts which rows the lines of a chunk need.
import { defined } from '@switchyard/contract';
import type { ResourceInput } from '../../resources/resource-definition.ts';
import type { EntityTable } from '../../resources/resource-sql.ts';
import { physicalDevices } from '../../resources/tables.ts';
import {
  importableTypes,
  logicalDeviceReference,
  type ParentReference,
} from '../body/importable-types.ts';
import type { ImportLine } from '../body/parse-line.ts';

/** A parent that limits the search for an external identifier. */
export type ParentFilter = { readonly column: string; readonly id: string };

/** One way to identify rows of a table. */
export type RowKey =
  | { readonly type: 'id'; readonly id: string }
  | { readonly type: 'external'; readonly externalId: string; readonly within?: ParentFilter }
  | { readonly type: 'serial'; readonly serialNumber: string };

export type RowRequest = {
  readonly table: EntityTable;
  readonly key: RowKey;
  /** True to lock the row for a change; false to lock it only against changes by others. */
  readonly isForUpdate: boolean;
};

/** The order in which rows are read, locked and written. */
export const tablesInWriteOrder: readonly EntityTable[] = importableTypes.map(
  ({ definition }) => definition.table,
);

export const idRowKey = (id: unknown): RowKey => ({ type: 'id', id: String(id).toLowerCase() });

const externalIdRowKey = (externalId: unknown, within: ParentFilter | undefined): RowKey => ({
  type: 'external',
  externalId: String(externalId),
  ...defined({ within }),
});

export function formatRowKey(key: RowKey): string {
  if (key.type === 'id') return `id ${key.id}`;
  if (key.type === 'serial') return `serial ${key.serialNumber}`;
  const { column = '', id = '' } = key.within ?? {};
  return `externalIdMember ${column} ${id} ${key.externalId}`;
}

/** The key of a parent in a line; undefined if the line does not name the parent. */
export function parentRowKey(
  { data, lineMembers }: ImportLine,
  { idMember, externalIdMember }: ParentReference,
  within: ParentFilter | undefined,
): RowKey | undefined {
  const id = data[idMember] ?? lineMembers[idMember];
  if (id !== undefined) return idRowKey(id);
  return externalIdMember in lineMembers
    ? externalIdRowKey(lineMembers[externalIdMember], within)
    : undefined;
}

/** The key of the line's own entity: its identifier, external identifier or serial number. */
export function entityKey(
  { importableType, data }: ImportLine,
  parentIds: ReadonlyMap<string, string>,
): RowKey | undefined {
  const id = data[importableType.definition.idMember];
  if (id !== undefined) return idRowKey(id);
  const { externalId, serialNumber } = data as ResourceInput;
  if (externalId !== undefined) {
    const { idMember = '', column = '' } = importableType.scopeParent ?? {};
    const parentId = parentIds.get(idMember);
    return externalIdRowKey(
      externalId,
      parentId === undefined ? undefined : { column, id: parentId },
    );
  }
  if (importableType.isPhysicalDevice !== true || serialNumber === undefined) return undefined;
  return { type: 'serial', serialNumber: String(serialNumber) };
}

/** Returns the identifier of a row that was already read. */
export type FindKnownId = (table: EntityTable, key: RowKey) => string | undefined;

/**
 * The row of one table that a line needs; an earlier line may create a parent that is not found.
 */
function rowRequestOfLine(
  line: ImportLine,
  table: EntityTable,
  find: FindKnownId,
): RowRequest | undefined {
  const { parents, definition, scopeParent } = line.importableType;
  const parentIds = new Map<string, string>();
  let parentFilter: ParentFilter | undefined;
  for (const parent of parents) {
    const key = parentRowKey(line, parent, parentFilter);
    if (key === undefined) continue;
    if (parent.table === table)
      return { table, key, isForUpdate: table === logicalDeviceReference.table };
    const id = key.type === 'id' ? key.id : find(parent.table, key);
    // An entity without a parent in `within` can be searched before its other parents exist.
    if (id === undefined && scopeParent === undefined) break;
    if (id === undefined) return undefined;
    parentFilter = { column: parent.column, id };
    parentIds.set(parent.idMember, id);
  }
  const rowKey = table === definition.table ? entityKey(line, parentIds) : undefined;
  return rowKey === undefined ? undefined : { table, key: rowKey, isForUpdate: true };
}

/** Every serial number that a line assigns is looked up, in the scope of the caller or not. */
function serialNumberRequestOfLine({
  importableType,
  operation,
  data,
}: ImportLine): RowRequest | undefined {
  const { serialNumber } = data as Record<string, string>;
  if (importableType.isPhysicalDevice !== true || operation === 'delete') return undefined;
  return {
    table: physicalDevices,
    key: { type: 'serial', serialNumber: String(serialNumber) },
    isForUpdate: true,
  };
}

/** Lists the rows of one table that the lines probably need, based on the known rows above it. */
export function listRowRequests(
  table: EntityTable,
  lines: readonly ImportLine[],
  find: FindKnownId,
): RowRequest[] {
  const requests = new Map<string, RowRequest>();
  const addRequest = (request: RowRequest | undefined) => {
    if (request === undefined) return;
    requests.set(`${request.isForUpdate} ${formatRowKey(request.key)}`, request);
  };
  for (const line of lines) {
    addRequest(rowRequestOfLine(line, table, find));
    if (table === physicalDevices) addRequest(serialNumberRequestOfLine(line));
  }
  return [...requests.values()];
}
