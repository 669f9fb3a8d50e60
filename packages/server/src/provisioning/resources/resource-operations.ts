// The five operations of every provisioned entity: create, list, get, replace and remove.
import type { Kysely } from 'kysely';
import type { AuditRecorder } from '../../audit/index.ts';
import { requireVersion } from '../../http/index.ts';
import {
  type Clock,
  createStatementRunner,
  type Database,
  type Ids,
  isoTime,
} from '../../platform/index.ts';
import type { Scope } from './caller-scope.ts';
import { findDependants } from './find-dependants.ts';
import { isUuid } from './format-rules.ts';
import { refuseDependants, refuseTaken, refuseUnknown } from './provisioning-errors.ts';
import { lookupIn } from './referenced-rows.ts';
import type { Filter, Input, Kind } from './resource-definition.ts';
import {
  createRecords,
  nameBegins,
  type Row,
  type Run,
  runIn,
  runOn,
  type Table,
} from './resource-sql.ts';
import { type Changed, entryOf, newRow, replacedColumns } from './row-and-audit-entry.ts';

export type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: Pick<AuditRecorder, 'record'>;
  /** The server calls this after each committed write. */
  readonly onWrite: (organizationId: string) => void;
};

/** The API sends the version as the ETag. */
export type Versioned<View> = { readonly view: View; readonly version: number };

export type Page<View> = { readonly items: View[]; readonly next: string | undefined };

export type Resource<View> = {
  create(scope: Scope, input: Input, id?: string): Promise<Versioned<View>>;
  /**
   * Creates the entity unless the identifier was ever used, even by a deleted one. Returns true if
   * it was created.
   */
  createOnce(scope: Scope, input: Input, id: string): Promise<boolean>;
  list(
    scope: Scope,
    query: Input,
    page: { readonly limit: number; readonly after?: string },
  ): Promise<Page<View>>;
  get(scope: Scope, id: string): Promise<Versioned<View>>;
  replace(scope: Scope, id: string, input: Input, ifMatch?: string): Promise<Versioned<View>>;
  remove(scope: Scope, id: string, ifMatch?: string): Promise<void>;
  /** Locks a row, and changes it in one transaction together with the work of `change`. */
  change(
    scope: Scope,
    id: string,
    ifMatch: string | undefined,
    change: (run: Run, row: Row, trx: Kysely<unknown>) => Promise<Row>,
    /** The verb of the action in the audit; by default `updated`. */
    done?: string,
  ): Promise<Versioned<View>>;
};

const uniqueViolation = '23505';

const commonFilters: Readonly<Record<string, Filter>> = {
  name: (value) => ({ of: nameBegins, value }),
  externalId: (value) => ({ of: (placeholder) => `external_id = ${placeholder}`, value }),
  status: (value) => ({ of: (placeholder) => `status = ${placeholder}`, value }),
};

function versioned<View>(kind: Kind<View>, row: Row): Versioned<View> {
  return { view: kind.toView(row), version: Number(row['version']) };
}

/** The unique index of the database decides between two concurrent writers. */
async function translated<Result>(table: Table, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === uniqueViolation;
    const member =
      taken && 'constraint' in error ? table.uniques[String(error.constraint)] : undefined;
    if (member !== undefined) refuseTaken(member);
    throw error;
  }
}

/** @example const stores = createResource(deps, storeKind); */
export function createResource<View>(deps: Deps, kind: Kind<View>): Resource<View> {
  const { database, clock, ids, audit } = deps;
  /** Lookups by identifier have few different texts, so they use prepared statements. */
  const findRun = createStatementRunner(database, 'provisioning');
  const records = createRecords(kind.table);
  const tell = async (trx: Kysely<unknown>, scope: Scope, done: string, changed: Changed) => {
    const entry = entryOf(kind, scope, done, changed);
    await audit.record(trx, entry);
    // For a change by an organisation above, the audit of the changed organisation also gets the
    // entry.
    const own = String((changed.after ?? changed.before)?.['organization_id']);
    if (own !== scope.organizationId) await audit.record(trx, { ...entry, organizationId: own });
  };

  async function locked(run: Run, scope: Scope, id: string, ifMatch?: string): Promise<Row> {
    const row = isUuid(id) ? await records.find(run, scope, id, 'take') : undefined;
    if (row === undefined) return refuseUnknown(kind.notFound);
    requireVersion(ifMatch, Number(row['version']));
    return row;
  }

  async function writing<Result>(
    scope: Scope,
    write: (run: Run, trx: Kysely<unknown>) => Promise<Result>,
  ): Promise<Result> {
    const result = await translated(kind.table, () =>
      database.transaction(async (trx) => {
        await kind.hold?.(runIn(trx), scope);
        return write(runIn(trx), trx);
      }),
    );
    deps.onWrite(scope.organizationId);
    return result;
  }

  async function insert(
    trx: Kysely<unknown>,
    scope: Scope,
    input: Input,
    id: string,
  ): Promise<Versioned<View> | undefined> {
    const run = runIn(trx);
    const made = { id, now: isoTime(clock.now()) };
    const row = await records.insert(run, await newRow(kind, lookupIn(run), scope, input, made));
    if (row === undefined) return undefined;
    await kind.beside?.created?.(trx, row, input, scope);
    await tell(trx, scope, 'created', { after: row });
    return versioned(kind, row);
  }

  const change: Resource<View>['change'] = (scope, id, ifMatch, by, done = 'updated') =>
    writing(scope, async (run, trx) => {
      const row = await locked(run, scope, id, ifMatch);
      const columns = { ...(await by(run, row, trx)), updated_at: isoTime(clock.now()) };
      const changed = await records.replace(run, String(row['organization_id']), id, columns);
      await kind.beside?.replaced?.(trx, changed, row);
      await tell(trx, scope, done, { before: row, after: changed });
      return versioned(kind, changed);
    });

  return {
    async create(scope, input, id = ids.uuid()) {
      const made = await writing(scope, (_run, trx) => insert(trx, scope, input, id));
      if (made === undefined) throw new Error(`${kind.idMember} ${id} was used before`);
      return made;
    },

    createOnce: (scope, input, id) =>
      writing(scope, async (run, trx) => {
        if (await records.isUsed(run, scope.organizationId, id)) return false;
        return (await insert(trx, scope, input, id)) !== undefined;
      }),

    async list(scope, query, page) {
      const conditions = Object.entries({ ...commonFilters, ...kind.filters })
        .filter(([name]) => query[name] !== undefined)
        .map(([name, filter]) => filter(query[name]));
      const read = { ...page, limit: page.limit + 1 };
      const rows = await records.list(runOn(database), scope, conditions, read);
      const items = rows.slice(0, page.limit);
      const last = rows.length > page.limit ? items.at(-1) : undefined;
      const next = last === undefined ? undefined : String(last[kind.table.id]);
      return { items: items.map((row) => kind.toView(row)), next };
    },

    async get(scope, id) {
      const row = isUuid(id) ? await records.find(findRun, scope, id) : undefined;
      return row === undefined ? refuseUnknown(kind.notFound) : versioned(kind, row);
    },

    replace: (scope, id, input, ifMatch) =>
      change(scope, id, ifMatch, (run, row) =>
        replacedColumns(kind, lookupIn(run), scope, input, row),
      ),

    remove: (scope, id, ifMatch) =>
      writing(scope, async (run, trx) => {
        const row = await locked(run, scope, id, ifMatch);
        const organizationId = String(row['organization_id']);
        const dependants = await findDependants(run, organizationId, id, kind.dependants);
        if (dependants.length > 0) refuseDependants(dependants);
        await records.remove(run, organizationId, id, isoTime(clock.now()));
        await kind.beside?.removed?.(trx, row, scope);
        await tell(trx, scope, 'removed', { before: row });
      }),

    change,
  };
}
