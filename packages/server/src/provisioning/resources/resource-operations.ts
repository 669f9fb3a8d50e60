// The five operations of every provisioned entity: create, list, get, replace and remove.
import type { AuditRecorder } from '../../audit/index.ts';
import {
  type FoundPage,
  type PageRequest,
  readPage,
  requireVersion,
  type Versioned,
} from '../../http/index.ts';
import {
  type Clock,
  createPreparedQueries,
  type Database,
  type Ids,
  isoTime,
  isUuid,
  type Queries,
} from '../../platform/index.ts';
import type { CallerScope } from './caller-scope.ts';
import { findDependants } from './find-dependants.ts';
import { throwAlreadyExists, throwHasDependants, throwNotFound } from './provisioning-errors.ts';
import { createReferencedRows } from './referenced-rows.ts';
import type { ResourceDefinition, ResourceFilter, ResourceInput } from './resource-definition.ts';
import { createRowRepository, type EntityTable, nameStartsWith, type Row } from './resource-sql.ts';
import {
  buildAuditEntry,
  buildNewRow,
  buildReplacementColumns,
  type ChangedRows,
} from './row-and-audit-entry.ts';

export type ResourceDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<AuditRecorder, 'record'>;
  /** The server calls this after each committed write. */
  readonly onWrite: (organizationId: string) => void;
};

export type ResourceOperations<View> = {
  create(scope: CallerScope, input: ResourceInput, id?: string): Promise<Versioned<View>>;
  /**
   * Creates the entity unless the identifier was ever used, even by a deleted entity. Returns
   * true if it was created.
   */
  createIfNew(scope: CallerScope, input: ResourceInput, id: string): Promise<boolean>;
  list(scope: CallerScope, query: ResourceInput, page: PageRequest): Promise<FoundPage<View>>;
  get(scope: CallerScope, id: string): Promise<Versioned<View>>;
  replace(
    scope: CallerScope,
    id: string,
    input: ResourceInput,
    ifMatch?: string,
  ): Promise<Versioned<View>>;
  remove(scope: CallerScope, id: string, ifMatch?: string): Promise<void>;
  /** Locks a row, and changes it in one transaction together with the work of `change`. */
  change(
    scope: CallerScope,
    id: string,
    ifMatch: string | undefined,
    change: (trx: Queries, row: Row) => Promise<Row>,
    /** The verb of the action in the audit; by default `updated`. */
    auditVerb?: string,
  ): Promise<Versioned<View>>;
};

const uniqueViolation = '23505';

const commonFilters: Readonly<Record<string, ResourceFilter>> = {
  name: (value) => ({ toSql: nameStartsWith, value }),
  externalId: (value) => ({ toSql: (placeholder) => `external_id = ${placeholder}`, value }),
  status: (value) => ({ toSql: (placeholder) => `status = ${placeholder}`, value }),
};

function toVersioned<View>(definition: ResourceDefinition<View>, row: Row): Versioned<View> {
  return { view: definition.toView(row), version: Number(row['version']) };
}

/** The unique index of the database decides between two concurrent writers. */
async function reportUniqueViolation<Result>(
  table: EntityTable,
  write: () => Promise<Result>,
): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    const isUniqueViolation =
      error instanceof Error && 'code' in error && error.code === uniqueViolation;
    const member =
      isUniqueViolation && 'constraint' in error
        ? table.uniqueIndexes[String(error.constraint)]
        : undefined;
    if (member !== undefined) throwAlreadyExists(member);
    throw error;
  }
}

/** @example const stores = createResourceOperations(deps, storeDefinition); */
export function createResourceOperations<View>(
  deps: ResourceDeps,
  definition: ResourceDefinition<View>,
): ResourceOperations<View> {
  const { database, clock, ids, audit } = deps;
  /** Lookups by identifier have few different texts, so they use prepared statements. */
  const preparedQueries = createPreparedQueries(database, 'provisioning');
  const records = createRowRepository(definition.table);
  const recordAudit = async (
    trx: Queries,
    scope: CallerScope,
    auditVerb: string,
    changed: ChangedRows,
  ) => {
    const entry = buildAuditEntry(definition, scope, auditVerb, changed);
    await audit.record(trx, entry);
    // For a change by an organisation above, the audit of the changed organisation also gets the
    // entry.
    const ownOrganizationId = String((changed.after ?? changed.before)?.['organization_id']);
    if (ownOrganizationId !== scope.organizationId)
      await audit.record(trx, { ...entry, organizationId: ownOrganizationId });
  };

  async function lockRow(
    queries: Queries,
    scope: CallerScope,
    id: string,
    ifMatch?: string,
  ): Promise<Row> {
    const row = isUuid(id) ? await records.find(queries, scope, id, 'update') : undefined;
    if (row === undefined) return throwNotFound(definition.notFoundCode);
    requireVersion(ifMatch, Number(row['version']));
    return row;
  }

  async function writeInTransaction<Result>(
    scope: CallerScope,
    write: (trx: Queries) => Promise<Result>,
  ): Promise<Result> {
    const result = await reportUniqueViolation(definition.table, () =>
      database.transaction(async (trx) => {
        await definition.lock?.(trx, scope);
        return write(trx);
      }),
    );
    deps.onWrite(scope.organizationId);
    return result;
  }

  async function insertRow(
    trx: Queries,
    scope: CallerScope,
    input: ResourceInput,
    id: string,
  ): Promise<Versioned<View> | undefined> {
    const created = { id, now: isoTime(clock.now()) };
    const row = await records.insert(
      trx,
      await buildNewRow(definition, createReferencedRows(trx), scope, input, created),
    );
    if (row === undefined) return undefined;
    await definition.relatedData?.onCreated?.(trx, row, input, scope);
    await recordAudit(trx, scope, 'created', { after: row });
    return toVersioned(definition, row);
  }

  const change: ResourceOperations<View>['change'] = (
    scope,
    id,
    ifMatch,
    computeColumns,
    auditVerb = 'updated',
  ) =>
    writeInTransaction(scope, async (trx) => {
      const row = await lockRow(trx, scope, id, ifMatch);
      const columns = {
        ...(await computeColumns(trx, row)),
        updated_at: isoTime(clock.now()),
      };
      const changed = await records.replace(trx, String(row['organization_id']), id, columns);
      await definition.relatedData?.onReplaced?.(trx, changed, row);
      await recordAudit(trx, scope, auditVerb, { before: row, after: changed });
      return toVersioned(definition, changed);
    });

  return {
    async create(scope, input, id = ids.uuid()) {
      const created = await writeInTransaction(scope, (trx) => insertRow(trx, scope, input, id));
      if (created === undefined) throw new Error(`${definition.idMember} ${id} was used before`);
      return created;
    },

    createIfNew: (scope, input, id) =>
      writeInTransaction(scope, async (trx) => {
        if (await records.isIdUsed(trx, scope.organizationId, id)) return false;
        return (await insertRow(trx, scope, input, id)) !== undefined;
      }),

    list(scope, query, page) {
      const conditions = Object.entries({ ...commonFilters, ...definition.filters })
        .filter(([name]) => query[name] !== undefined)
        .map(([name, filter]) => filter(query[name]));
      return readPage(
        page,
        (read) => records.list(database, scope, conditions, read),
        (row) => String(row[definition.table.id]),
        definition.toView,
      );
    },

    async get(scope, id) {
      const row = isUuid(id) ? await records.find(preparedQueries, scope, id) : undefined;
      return row === undefined
        ? throwNotFound(definition.notFoundCode)
        : toVersioned(definition, row);
    },

    replace: (scope, id, input, ifMatch) =>
      change(scope, id, ifMatch, (trx, row) =>
        buildReplacementColumns(definition, createReferencedRows(trx), scope, input, row),
      ),

    remove: (scope, id, ifMatch) =>
      writeInTransaction(scope, async (trx) => {
        const row = await lockRow(trx, scope, id, ifMatch);
        const organizationId = String(row['organization_id']);
        const dependants = await findDependants(trx, organizationId, id, definition.dependants);
        if (dependants.length > 0) throwHasDependants(dependants);
        await records.remove(trx, organizationId, id, isoTime(clock.now()));
        await definition.relatedData?.onRemoved?.(trx, row, scope);
        await recordAudit(trx, scope, 'removed', { before: row });
      }),

    change,
  };
}
