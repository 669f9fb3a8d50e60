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
import type { Parent } from '../body/importable-types.ts';
import { checkInput, type Line } from '../body/parse-line.ts';
import type { Counted } from './count-dependants.ts';
import { demandPlace, placeWith } from './link-physical-device.ts';
import type { Workspace } from './row-cache.ts';
import { idKey, type Key, ownKey, parentKey, type Within } from './row-keys.ts';

export type Judged = { readonly result: BulkResult; readonly entries: readonly AuditEntry[] };

export type JudgeDeps = {
  readonly workspace: Workspace;
  readonly dependants: Counted;
  readonly scope: CallerScope;
  readonly ids: Pick<Ids, 'uuid' | 'secret'>;
  readonly now: string;
};

/** The identifiers of the parents of a line, by member. */
type Parents = ReadonlyMap<string, string>;

/** Returns one row or none; refuses an external identifier that matches several rows. */
function onlyOne(rows: readonly Row[], member: string): Row | undefined {
  if (rows.length <= 1) return rows[0];
  return throwFieldProblem(
    `/${member}`,
    'is that of several: name the identifier, or the parent as well',
  );
}

export function createJudge({ workspace, dependants, scope, ids, now }: JudgeDeps) {
  const lookup: ReferencedRows = {
    run: () => Promise.reject(new Error('a line of an import asks for no statement of its own')),
    findForShare: async (table, _scope, id) => workspace.rows(table, idKey(id), false)[0],
  };

  function parentsOf(line: Line): Parents {
    const found = new Map<string, string>();
    let within: Within | undefined;
    for (const parent of line.bulkKind.parents) {
      const key = parentKey(line, parent, within);
      if (key === undefined) continue;
      const id = key.by === 'id' ? key.id : idOfParent(parent, key);
      within = { column: parent.column, id };
      found.set(parent.member, id);
    }
    return found;
  }

  function idOfParent({ table, external, notFound }: Parent, key: Key): string {
    const row = onlyOne(workspace.rows(table, key, false), external);
    return row === undefined ? throwNotFound(notFound) : String(row[table.id]);
  }

  function targetOf(line: Line, parents: Parents): Row | undefined {
    const key = ownKey(line, parents);
    if (key === undefined) {
      return throwFieldProblem(
        '/externalId',
        'is required without an identifier',
        'field_required',
      );
    }
    return onlyOne(workspace.rows(line.bulkKind.kind.table, key, true), 'externalId');
  }

  /** Adds the parents by their identifiers, as the single route expects them. */
  function inputOf(
    { bulkKind, data }: Line,
    schema: 'input' | 'replacement',
    parents: Parents,
  ): ResourceInput {
    const { properties } = bulkKind[schema];
    const ofLine = bulkKind.besides.properties;
    const named = [...parents].filter(([member]) => member in properties && !(member in ofLine));
    return { ...Object.fromEntries(named), ...data };
  }

  /** For some kinds, only a caller of the organisation may create and delete. */
  function demandOrganization({ bulkKind }: Line, what: string): void {
    if (bulkKind.organizationOnly !== true || scope.merchantId === undefined) return;
    throwOrganizationOnly(`may ${what} this`);
  }

  function answer({ line, bulkKind }: Line, status: BulkResult['status'], row: Row): BulkResult {
    const externalId = row['external_id'] ?? undefined;
    return {
      line,
      status,
      type: bulkKind.type,
      id: String(row[bulkKind.kind.table.id]),
      ...defined({ externalId: externalId === undefined ? undefined : String(externalId) }),
    };
  }

  /** Adds the device to its logical device, and returns the audit entry of that change. */
  function fill(standing: Row | undefined, deviceId: string): AuditEntry[] {
    if (standing === undefined) return [];
    const id = String(standing[logicalDevices.id]);
    const before = workspace.rows(logicalDevices, idKey(id), true)[0] as Row;
    const after = placeWith(before, deviceId, now);
    if (after === before) return [];
    workspace.change(logicalDevices, id, after);
    return [buildAuditEntry(logicalDeviceDefinition, scope, 'linked', { before, after })];
  }

  /** Creates the secret of a new point of sale, which the result of the line contains. */
  function credentialsOf({ bulkKind }: Line, id: string) {
    if (bulkKind.kind.table !== pointsOfSale) return {};
    const clientSecret = ids.secret();
    workspace.secrets.set(id, clientSecret);
    return { clientId: posClientId(id), clientSecret };
  }

  async function create(line: Line, parents: Parents): Promise<Judged> {
    demandOrganization(line, 'create');
    const { kind, isHardware } = line.bulkKind;
    if (line.operation !== 'create') checkInput(line);
    const asked = inputOf(line, 'input', parents);
    const standing = demandPlace(line, parents, workspace, undefined);
    const id = ids.uuid();
    const input =
      standing === undefined ? asked : { merchantId: standing['merchant_id'], ...asked };
    const made = await buildNewRow(kind, lookup, scope, input, { id, now });
    const row = {
      ...made,
      ...(kind.table === logicalDevices ? { physical_device_ids: [] } : {}),
      ...(isHardware === true
        ? { logical_device_id: standing?.['logical_device_id'] ?? null }
        : {}),
    };
    if (isHardware === true && !workspace.isFree(row)) throwAlreadyExists('serialNumber');
    workspace.make(kind.table, row);
    const entries = [
      buildAuditEntry(kind, scope, 'created', { after: row }),
      ...fill(standing, id),
    ];
    return { result: { ...answer(line, 'created', row), ...credentialsOf(line, id) }, entries };
  }

  async function replace(line: Line, parents: Parents, before: Row): Promise<Judged> {
    const { kind, isHardware } = line.bulkKind;
    const id = String(before[kind.table.id]);
    const asked = inputOf(line, 'replacement', parents);
    const standing = demandPlace(line, parents, workspace, before);
    const input =
      standing === undefined ? asked : { merchantId: standing['merchant_id'], ...asked };
    const columns = {
      ...(await buildReplacementColumns(kind, lookup, scope, input, before)),
      ...defined({
        logical_device_id: standing === undefined ? undefined : standing['logical_device_id'],
      }),
    };
    const isSame = Object.entries(columns).every(([name, value]) =>
      isDeepStrictEqual(before[name] ?? null, value ?? null),
    );
    if (isSame) return { result: answer(line, 'unchanged', before), entries: [] };
    const after = {
      ...before,
      ...columns,
      version: Number(before['version']) + 1,
      updated_at: now,
    };
    if (isHardware === true && !workspace.isFree(after)) throwAlreadyExists('serialNumber');
    workspace.change(kind.table, id, after);
    const entries = [
      buildAuditEntry(kind, scope, 'updated', { before, after }),
      ...fill(standing, id),
    ];
    return { result: answer(line, 'replaced', after), entries };
  }

  function remove(line: Line, before: Row): Judged {
    demandOrganization(line, 'remove');
    const { kind, isHardware } = line.bulkKind;
    const id = String(before[kind.table.id]);
    const below = dependants.of(id, kind.dependants);
    if (below.length > 0) throwHasDependants(below);
    workspace.change(kind.table, id, undefined);
    if (isHardware === true) empty(before);
    const entries = [buildAuditEntry(kind, scope, 'removed', { before })];
    return { result: answer(line, 'deleted', before), entries };
  }

  /** A logical device lists only active hardware; the removal does not change its version. */
  function empty(device: Row): void {
    const id = device['logical_device_id'] ?? undefined;
    const entry = workspace.entriesOf(logicalDevices).get(String(id));
    if (entry?.row === undefined) return;
    const left = (entry.row['physical_device_ids'] as string[]).filter(
      (one) => one !== device['physical_device_id'],
    );
    const row = { ...entry.row, physical_device_ids: left };
    // No change to write: the stored row shows the same list after the removal.
    if (entry.stored === entry.row) entry.stored = row;
    workspace.change(logicalDevices, entry.id, row);
  }

  /**
   * It changes nothing if it throws. A Refusal is the result of the line; after `NotRead`,
   * `NotCounted` and `WriteFirst` the caller processes the line again.
   */
  return async function judge(line: Line): Promise<Judged> {
    const parents = parentsOf(line);
    if (line.operation === 'create') return create(line, parents);
    const target = targetOf(line, parents);
    if (target === undefined) {
      const isNew = line.operation === 'upsert' && !(line.bulkKind.kind.idMember in line.data);
      return isNew ? create(line, parents) : throwNotFound(line.bulkKind.kind.notFoundCode);
    }
    return line.operation === 'delete' ? remove(line, target) : replace(line, parents, target);
  };
}
