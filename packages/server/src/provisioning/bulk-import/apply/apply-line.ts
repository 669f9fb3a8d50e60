// Decides one line by the rules of the single routes, after the changes of all earlier lines.
import { isDeepStrictEqual } from 'node:util';
import { type BulkResult, defined } from '@switchyard/contract';
import type { AuditEntry } from '../../../audit/index.ts';
import type { Ids } from '../../../platform/index.ts';
import { logicalDeviceDefinition } from '../../devices/logical-devices.ts';
import type { CallerScope } from '../../resources/caller-scope.ts';
import { posClientId } from '../../resources/format-rules.ts';
import {
  throwAlreadyExists,
  throwFieldProblem,
  throwHasDependants,
  throwNotFound,
  throwOrganizationOnly,
} from '../../resources/provisioning-errors.ts';
import type { ReferencedRows } from '../../resources/referenced-rows.ts';
import type { ResourceInput } from '../../resources/resource-definition.ts';
import type { Row } from '../../resources/resource-sql.ts';
import {
  buildAuditEntry,
  buildNewRow,
  buildReplacementColumns,
} from '../../resources/row-and-audit-entry.ts';
import { logicalDevices, pointsOfSale } from '../../resources/tables.ts';
import { logicalDeviceReference, type ParentReference } from '../body/importable-types.ts';
import { checkLineAsCreation, type ImportLine } from '../body/parse-line.ts';
import type { DependantCounter } from './count-dependants.ts';
import type { RowCache } from './row-cache.ts';
import { entityKey, idRowKey, type ParentFilter, parentRowKey, type RowKey } from './row-keys.ts';

/** The maximum number of physical devices of one logical device. */
const physicalDevicesMax = 2;

const physicalDeviceIdsOf = (row: Row) => row['physical_device_ids'] as readonly string[];

/**
 * Returns the logical device that the line names, if the device can be linked to it. Returns
 * undefined if the line names none; the device then keeps its link.
 */
function findLogicalDeviceToLink(
  { lineMembers }: ImportLine,
  parents: ReadonlyMap<string, string>,
  rowCache: RowCache,
  device: Row | undefined,
): Row | undefined {
  const id = parents.get(logicalDeviceReference.idMember);
  if (id === undefined) return undefined;
  const pointer = `/${logicalDeviceReference.externalIdMember in lineMembers ? logicalDeviceReference.externalIdMember : logicalDeviceReference.idMember}`;
  const [logicalDevice] = rowCache.requireRows(logicalDevices, idRowKey(id), true);
  if (logicalDevice === undefined) return throwNotFound(logicalDeviceReference.notFound);
  const linked = device?.['logical_device_id'] ?? null;
  if (linked !== null && linked !== logicalDevice['logical_device_id']) {
    throwFieldProblem(pointer, 'is not the logical device that this physical device is linked to');
  }
  if (linked === null && physicalDeviceIdsOf(logicalDevice).length >= physicalDevicesMax) {
    throwFieldProblem(pointer, `already has ${physicalDevicesMax} physical devices`);
  }
  const merchantId = parents.get('merchantId');
  if (merchantId !== undefined && merchantId !== logicalDevice['merchant_id']) {
    throwFieldProblem(pointer, 'belongs to another merchant', 'entity_mismatch');
  }
  return logicalDevice;
}

/** Returns the same row if the device is already linked to it. */
function withPhysicalDevice(logicalDevice: Row, deviceId: string, now: string): Row {
  const ids = physicalDeviceIdsOf(logicalDevice);
  if (ids.includes(deviceId)) return logicalDevice;
  return {
    ...logicalDevice,
    physical_device_ids: [...ids, deviceId].sort(),
    version: Number(logicalDevice['version']) + 1,
    updated_at: now,
  };
}

export type AppliedLine = { readonly result: BulkResult; readonly entries: readonly AuditEntry[] };

export type ApplyLineDeps = {
  readonly rowCache: RowCache;
  readonly dependants: DependantCounter;
  readonly scope: CallerScope;
  readonly ids: Pick<Ids, 'uuid' | 'secret'>;
  readonly now: string;
};

/** The identifiers of the parents of a line, by member. */
type Parents = ReadonlyMap<string, string>;

/** Returns one row or none; refuses an external identifier that matches several rows. */
function requireUnique(rows: readonly Row[], member: string): Row | undefined {
  if (rows.length <= 1) return rows[0];
  return throwFieldProblem(
    `/${member}`,
    'matches several entities; send the identifier, or also the parent',
  );
}

export function createLineApplier({ rowCache, dependants, scope, ids, now }: ApplyLineDeps) {
  const lookup: ReferencedRows = {
    queries: {
      query: () => Promise.reject(new Error('applying a line must not run an SQL statement')),
      shards: async () => undefined,
    },
    findForShare: async (table, _scope, id) => rowCache.requireRows(table, idRowKey(id), false)[0],
  };

  function findParentIds(line: ImportLine): Parents {
    const parentIds = new Map<string, string>();
    let parentFilter: ParentFilter | undefined;
    for (const parent of line.importableType.parents) {
      const key = parentRowKey(line, parent, parentFilter);
      if (key === undefined) continue;
      const id = key.type === 'id' ? key.id : findParentId(parent, key);
      parentFilter = { column: parent.column, id };
      parentIds.set(parent.idMember, id);
    }
    return parentIds;
  }

  function findParentId(
    { table, externalIdMember, notFound }: ParentReference,
    key: RowKey,
  ): string {
    const row = requireUnique(rowCache.requireRows(table, key, false), externalIdMember);
    return row === undefined ? throwNotFound(notFound) : String(row[table.id]);
  }

  function findTarget(line: ImportLine, parents: Parents): Row | undefined {
    const key = entityKey(line, parents);
    if (key === undefined) {
      return throwFieldProblem(
        '/externalId',
        'is required without an identifier',
        'field_required',
      );
    }
    return requireUnique(
      rowCache.requireRows(line.importableType.definition.table, key, true),
      'externalId',
    );
  }

  /** Adds the parents by their identifiers, as the single route expects them. */
  function buildInput(
    { importableType, data }: ImportLine,
    schema: 'input' | 'replacement',
    parents: Parents,
  ): ResourceInput {
    const { properties } = importableType[schema];
    const lineProperties = importableType.lineMembers.properties;
    const parentMembers = [...parents].filter(
      ([member]) => member in properties && !(member in lineProperties),
    );
    return { ...Object.fromEntries(parentMembers), ...data };
  }

  /** For some kinds, only a caller of the organisation may create and delete. */
  function requireOrganizationCaller({ importableType }: ImportLine, action: string): void {
    if (importableType.organizationOnly !== true || scope.merchantId === undefined) return;
    throwOrganizationOnly(`may ${action} this`);
  }

  function buildResult(
    { line, importableType }: ImportLine,
    status: BulkResult['status'],
    row: Row,
  ): BulkResult {
    const externalId = row['external_id'] ?? undefined;
    return {
      line,
      status,
      type: importableType.type,
      id: String(row[importableType.definition.table.id]),
      ...defined({ externalId: externalId === undefined ? undefined : String(externalId) }),
    };
  }

  /** Adds the device to its logical device, and returns the audit entry of that change. */
  function linkDevice(logicalDevice: Row | undefined, deviceId: string): AuditEntry[] {
    if (logicalDevice === undefined) return [];
    const id = String(logicalDevice[logicalDevices.id]);
    const before = rowCache.requireRows(logicalDevices, idRowKey(id), true)[0] as Row;
    const after = withPhysicalDevice(before, deviceId, now);
    if (after === before) return [];
    rowCache.change(logicalDevices, id, after);
    return [buildAuditEntry(logicalDeviceDefinition, scope, 'linked', { before, after })];
  }

  /** Creates the secret of a new point of sale, which the result of the line contains. */
  function createCredentials({ importableType }: ImportLine, id: string) {
    if (importableType.definition.table !== pointsOfSale) return {};
    const clientSecret = ids.secret();
    rowCache.secrets.set(id, clientSecret);
    return { clientId: posClientId(id), clientSecret };
  }

  async function create(line: ImportLine, parents: Parents): Promise<AppliedLine> {
    requireOrganizationCaller(line, 'create');
    const { definition, isPhysicalDevice } = line.importableType;
    if (line.operation !== 'create') checkLineAsCreation(line);
    const lineInput = buildInput(line, 'input', parents);
    const logicalDevice = findLogicalDeviceToLink(line, parents, rowCache, undefined);
    const id = ids.uuid();
    const input =
      logicalDevice === undefined
        ? lineInput
        : { merchantId: logicalDevice['merchant_id'], ...lineInput };
    const newRow = await buildNewRow(definition, lookup, scope, input, { id, now });
    const row = {
      ...newRow,
      ...(definition.table === logicalDevices ? { physical_device_ids: [] } : {}),
      ...(isPhysicalDevice === true
        ? { logical_device_id: logicalDevice?.['logical_device_id'] ?? null }
        : {}),
    };
    if (isPhysicalDevice === true && !rowCache.isSerialNumberFree(row))
      throwAlreadyExists('serialNumber');
    rowCache.addNew(definition.table, row);
    const entries = [
      buildAuditEntry(definition, scope, 'created', { after: row }),
      ...linkDevice(logicalDevice, id),
    ];
    return {
      result: { ...buildResult(line, 'created', row), ...createCredentials(line, id) },
      entries,
    };
  }

  async function replace(line: ImportLine, parents: Parents, before: Row): Promise<AppliedLine> {
    const { definition, isPhysicalDevice } = line.importableType;
    const id = String(before[definition.table.id]);
    const lineInput = buildInput(line, 'replacement', parents);
    const logicalDevice = findLogicalDeviceToLink(line, parents, rowCache, before);
    const input =
      logicalDevice === undefined
        ? lineInput
        : { merchantId: logicalDevice['merchant_id'], ...lineInput };
    const columns = {
      ...(await buildReplacementColumns(definition, lookup, scope, input, before)),
      ...defined({
        logical_device_id:
          logicalDevice === undefined ? undefined : logicalDevice['logical_device_id'],
      }),
    };
    const isSame = Object.entries(columns).every(([name, value]) =>
      isDeepStrictEqual(before[name] ?? null, value ?? null),
    );
    if (isSame) return { result: buildResult(line, 'unchanged', before), entries: [] };
    const after = {
      ...before,
      ...columns,
      version: Number(before['version']) + 1,
      updated_at: now,
    };
    if (isPhysicalDevice === true && !rowCache.isSerialNumberFree(after))
      throwAlreadyExists('serialNumber');
    rowCache.change(definition.table, id, after);
    const entries = [
      buildAuditEntry(definition, scope, 'updated', { before, after }),
      ...linkDevice(logicalDevice, id),
    ];
    return { result: buildResult(line, 'replaced', after), entries };
  }

  function remove(line: ImportLine, before: Row): AppliedLine {
    requireOrganizationCaller(line, 'remove');
    const { definition, isPhysicalDevice } = line.importableType;
    const id = String(before[definition.table.id]);
    const dependantGroups = dependants.listDependants(id, definition.dependants);
    if (dependantGroups.length > 0) throwHasDependants(dependantGroups);
    rowCache.change(definition.table, id, undefined);
    if (isPhysicalDevice === true) unlinkDevice(before);
    const entries = [buildAuditEntry(definition, scope, 'removed', { before })];
    return { result: buildResult(line, 'deleted', before), entries };
  }

  /** A logical device lists only active hardware; the removal does not change its version. */
  function unlinkDevice(device: Row): void {
    const id = device['logical_device_id'] ?? undefined;
    const entry = rowCache.entriesOf(logicalDevices).get(String(id));
    if (entry?.row === undefined) return;
    const remainingIds = (entry.row['physical_device_ids'] as string[]).filter(
      (one) => one !== device['physical_device_id'],
    );
    const row = { ...entry.row, physical_device_ids: remainingIds };
    // No change to write: the stored row shows the same list after the removal.
    if (entry.stored === entry.row) entry.stored = row;
    rowCache.change(logicalDevices, entry.id, row);
  }

  /**
   * It changes nothing if it throws. A ProblemError is the result of the line; after
   * `RowNotCachedError`, `DependantsNotCountedError` and `UnwrittenRowsError` the caller processes the line again.
   */
  return async function applyLine(line: ImportLine): Promise<AppliedLine> {
    const parents = findParentIds(line);
    if (line.operation === 'create') return create(line, parents);
    const target = findTarget(line, parents);
    if (target === undefined) {
      const isNew =
        line.operation === 'upsert' && !(line.importableType.definition.idMember in line.data);
      return isNew
        ? create(line, parents)
        : throwNotFound(line.importableType.definition.notFoundCode);
    }
    return line.operation === 'delete' ? remove(line, target) : replace(line, parents, target);
  };
}
