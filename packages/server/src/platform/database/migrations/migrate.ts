// Applies the missing schema migrations: forward only, one process at a time, also on databases
// that only speak PostgreSQL's protocol.
import type { Ids } from '../../identifiers/ids.ts';
import type { Log } from '../../observability/log.ts';
import { type Clock, pause } from '../../time/clock.ts';
import { distributeTables } from '../citus/distribute-tables.ts';
import { type DatabaseEngine, usesCitus } from '../citus/engine.ts';
import { type Database, isPostgres, type Queries } from '../database.ts';
import { sqlState } from '../database-errors.ts';
import { type Migration, readMigrations } from './read-migrations.ts';
import { SchemaMismatchError } from './schema-mismatch.ts';

const defaultLeaseMs = 30_000;
const pollMs = 100;
const bootstrapAttempts = 10;
const baselineVersion = 1;
/** A table, a column, another object, a function. */
const alreadyExistsStates = new Set(['42P07', '42701', '42710', '42723']);
/**
 * Two processes that start at the same time can collide in spite of IF NOT EXISTS: the table
 * exists, or its name in the catalogue.
 */
const concurrentCreationStates = new Set([...alreadyExistsStates, '23505']);

const createTableTexts = [
  `CREATE TABLE IF NOT EXISTS schema_migrations (
     version integer PRIMARY KEY,
     name text NOT NULL,
     note text NOT NULL,
     checksum text NOT NULL,
     statements_done integer NOT NULL,
     finished_at timestamptz
   )`,
  `CREATE TABLE IF NOT EXISTS schema_lease (
     name text PRIMARY KEY,
     holder uuid NOT NULL,
     held_until timestamptz NOT NULL
   )`,
];
const historyText = `SELECT version, name, checksum, statements_done AS done, finished_at IS NOT NULL AS finished,
    current_database() AS database
  FROM schema_migrations ORDER BY version`;
const insertMigrationText = `INSERT INTO schema_migrations (version, name, note, checksum, statements_done, finished_at)
  VALUES ($1, $2, $3, $4, 0, NULL) ON CONFLICT (version) DO NOTHING`;
const countStatementText = 'UPDATE schema_migrations SET statements_done = $2 WHERE version = $1';
const finishMigrationText = `UPDATE schema_migrations SET statements_done = $2, finished_at = clock_timestamp()
  WHERE version = $1`;

export type MigrateDeps = {
  log: Log;
  clock: Clock;
  ids: Ids;
  leaseMs?: number;
  engine?: DatabaseEngine;
};

type AppliedMigration = {
  version: number;
  name: string;
  checksum: string;
  done: number;
  finished: boolean;
  database: string;
};
type PendingMigration = { migration: Migration; done: number };
type Fence = () => Promise<void>;

/**
 * Applies the missing migrations and returns their names. Of two processes that start at the same
 * time, one migrates and the other waits. If the first one is killed, its lease expires and the
 * other continues where it stopped.
 *
 * @throws SchemaMismatchError before any change, if a migration was changed or is missing, or if a newer one was applied before it
 */
export async function migrate(
  database: Database,
  directory: string,
  deps: MigrateDeps,
): Promise<string[]> {
  const migrations = await readMigrations(directory);
  return database.session(async (queries) => {
    await createTables(queries);
    for (;;) {
      if (findPending(migrations, await readHistory(queries)).length === 0) return [];
      const lease = await acquireMigrationLease({
        database,
        queries,
        holder: deps.ids.uuid(),
        leaseMs: deps.leaseMs ?? defaultLeaseMs,
      });
      if (lease === undefined) {
        await pause(pollMs);
        continue;
      }
      try {
        // Read again: another process may have finished just before this one acquired the lease.
        const pending = findPending(migrations, await readHistory(queries));
        await applyAll(queries, pending, lease.fence, deps);
        if (await usesCitus(queries, deps.engine)) await distributeTables(queries, deps.log);
        return pending.map(({ migration }) => migration.name);
      } finally {
        await lease.release();
      }
    }
  });
}

async function applyAll(
  queries: Queries,
  pending: readonly PendingMigration[],
  fence: Fence,
  { log, clock }: MigrateDeps,
): Promise<void> {
  const isTransactional = await isPostgres(queries);
  const firstStartedAt = clock.now();
  for (const { migration, done } of pending) {
    const startedAt = clock.now();
    try {
      if (isTransactional && !migration.withoutTransaction)
        await applyInTransaction(queries, migration, fence);
      else await applyWithoutTransaction(queries, migration, done, fence);
    } catch (error) {
      throw new Error(`migration ${migration.name} failed: ${String(error)}`, { cause: error });
    }
    const facts = { migration: migration.name, note: migration.note };
    log.debug({ ...facts, durationMs: clock.now() - startedAt }, 'migrated');
  }
  const [first] = pending;
  const last = pending.at(-1);
  if (first === undefined || last === undefined) return;
  const names = { from: first.migration.name, to: last.migration.name, count: pending.length };
  log.info({ ...names, durationMs: clock.now() - firstStartedAt }, 'schema migrations applied');
}

/** In one transaction, together with the record of the migration. */
async function applyInTransaction(
  queries: Queries,
  migration: Migration,
  fence: Fence,
): Promise<void> {
  await queries.query('BEGIN');
  try {
    await insertMigration(queries, migration);
    for (const statement of migration.statements) await queries.query(statement);
    await queries.query(finishMigrationText, [migration.version, migration.statements.length]);
    await fence();
    await queries.query('COMMIT');
  } catch (error) {
    await queries.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/**
 * One statement per transaction, as distributed databases require. Applied statements are counted.
 * A killed process may have applied the next statement, wholly or in part, before it counted it.
 */
async function applyWithoutTransaction(
  queries: Queries,
  migration: Migration,
  done: number,
  fence: Fence,
): Promise<void> {
  await insertMigration(queries, migration);
  for (const [index, statement] of migration.statements.entries()) {
    if (index < done) continue;
    await fence();
    if (index === done) await dropInvalidIndex(queries, statement);
    try {
      await queries.query(statement);
    } catch (error) {
      if (index !== done || !isAlreadyApplied(statement, error)) throw error;
    }
    await queries.query(countStatementText, [migration.version, index + 1]);
  }
  await queries.query(finishMigrationText, [migration.version, migration.statements.length]);
}

function insertMigration(queries: Queries, { version, name, note, checksum }: Migration) {
  return queries.query(insertMigrationText, [version, name, note, checksum]);
}

/** The migrations to apply, after a check that the applied ones match the files. */
function findPending(
  migrations: readonly Migration[],
  history: readonly AppliedMigration[],
): PendingMigration[] {
  for (const applied of history) {
    const file = migrations.find(({ version }) => version === applied.version);
    if (applied.version === baselineVersion && file?.checksum !== applied.checksum) {
      throw new SchemaMismatchError(
        `the database ${applied.database} was created with ${applied.name} of another commit`,
        { database: applied.database },
      );
    }
    if (file === undefined) {
      throw new SchemaMismatchError(
        `the applied migration ${applied.name} is missing here: a newer version has migrated the database; start that version, or restore a backup`,
      );
    }
    if (file.checksum !== applied.checksum) {
      throw new SchemaMismatchError(`the applied migration ${applied.name} was changed`);
    }
  }
  const isDone = new Map(history.map(({ version, finished }) => [version, finished]));
  const latest = Math.max(
    0,
    ...history.filter((migration) => migration.finished).map(({ version }) => version),
  );
  const pending = migrations.filter(({ version }) => isDone.get(version) !== true);
  const outOfOrder = pending.find(({ version }) => version < latest);
  if (outOfOrder !== undefined) {
    throw new SchemaMismatchError(
      `${outOfOrder.name} was added after a newer migration was applied`,
    );
  }
  return pending.map((migration) => ({
    migration,
    done: history.find(({ version }) => version === migration.version)?.done ?? 0,
  }));
}

async function readHistory(queries: Queries): Promise<AppliedMigration[]> {
  return await queries.query<AppliedMigration>(historyText);
}

async function createTables(queries: Queries): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      for (const statement of createTableTexts) await queries.query(statement);
      return;
    } catch (error) {
      if (tries === bootstrapAttempts || !concurrentCreationStates.has(sqlState(error)))
        throw error;
      await pause(pollMs);
    }
  }
}

const uniqueViolation = '23505';
/** An index or a constraint, a column, a table. */
const alreadyGoneStates = new Set(['42704', '42703', '42P01']);

/** A statement includes the comments before it. */
const leadingComments = String.raw`^(?:\s|--[^\n]*\n)*`;
const dropPattern = new RegExp(
  String.raw`${leadingComments}(?:DROP|ALTER\s+TABLE\s+\S+\s+DROP)\s`,
  'i',
);
const insertPattern = new RegExp(String.raw`${leadingComments}INSERT\s`, 'i');
const indexPattern = new RegExp(
  String.raw`${leadingComments}CREATE\s+(?:UNIQUE\s+)?INDEX\s+(CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?([\w."]+)`,
  'i',
);

/** True if the statement failed because a process applied it before it was killed. */
function isAlreadyApplied(statement: string, error: unknown): boolean {
  const code = sqlState(error);
  if (alreadyExistsStates.has(code)) return true;
  if (dropPattern.test(statement)) return alreadyGoneStates.has(code);
  // A unique index over duplicate rows fails with the same state, but was not created.
  return code === uniqueViolation && insertPattern.test(statement);
}

const findInvalidIndexText =
  'SELECT indexrelid FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid';

/** An interrupted CREATE INDEX CONCURRENTLY leaves an invalid index: drop it, so that it is created again. */
async function dropInvalidIndex(queries: Queries, statement: string): Promise<void> {
  const [, concurrently = '', name] = indexPattern.exec(statement) ?? [];
  if (name === undefined) return;
  const invalidIndexes = await queries.query(findInvalidIndexText, [name]);
  if (invalidIndexes.length > 0) await queries.query(`DROP INDEX ${concurrently}IF EXISTS ${name}`);
}

const leaseName = 'migrate';
/** The lease is lost after three failed renewals. */
const renewalsPerLease = 4;

const acquireText = `INSERT INTO schema_lease (name, holder, held_until)
  VALUES ('${leaseName}', $1, clock_timestamp() + $2 * interval '1 millisecond')
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE schema_lease.held_until < clock_timestamp()
  RETURNING holder`;
const renewText = `UPDATE schema_lease SET held_until = clock_timestamp() + $2 * interval '1 millisecond'
  WHERE name = '${leaseName}' AND holder = $1 RETURNING holder`;
const releaseText = `DELETE FROM schema_lease WHERE name = '${leaseName}' AND holder = $1`;

type MigrationLease = {
  /** Checks that this process still holds the lease. Inside a transaction, keeps it until the commit. */
  fence(): Promise<void>;
  release(): Promise<void>;
};

type LeaseRequest = { database: Database; queries: Queries; holder: string; leaseMs: number };

/**
 * The lease is a row with an expiry, because not every database has advisory locks. Times are those of the database.
 *
 * @returns undefined while another process holds the lease
 */
async function acquireMigrationLease({
  database,
  queries,
  holder,
  leaseMs,
}: LeaseRequest): Promise<MigrationLease | undefined> {
  const acquired = await queries.query(acquireText, [holder, leaseMs]);
  if (acquired.length === 0) return undefined;
  const timer = setInterval(() => {
    // On another connection, because the migrating one is busy. `fence` notices a failure.
    database.query(renewText, [holder, leaseMs]).catch(() => {});
  }, leaseMs / renewalsPerLease);
  return {
    async fence() {
      const renewed = await queries.query(renewText, [holder, leaseMs]);
      if (renewed.length === 0) throw new Error('another process took over the migration');
    },
    async release() {
      clearInterval(timer);
      // If the connection is lost, the lease expires.
      await queries.query(releaseText, [holder]).catch(() => {});
    },
  };
}
