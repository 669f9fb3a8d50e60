// Checks the database with the account of the platform: version, schema, privileges, indexes, replication, clock, and the processes.
import { readdir } from 'node:fs/promises';
import {
  buildVersion,
  type Clock,
  type Database,
} from '../../../packages/server/src/platform/index.ts';
import { attention, type Check, type CheckResult, ok, orOk, skipped } from './check.ts';

type Queries = Pick<Database, 'query'>;

export type PlatformNode = {
  readonly instance: string;
  readonly roles: readonly string[];
  readonly version: string;
};

const minMajorVersion = 14;
/** Tokens, devices and nodes tolerate half a minute. */
const clockLimitMs = 1_000;
const replayLimitSeconds = 60;
const listedNames = 5;
const migrationsFolder = new URL('../../../packages/server/migrations/', import.meta.url);

const listNames = (names: readonly string[]) =>
  names.slice(0, listedNames).join(', ') +
  (names.length > listedNames ? ` and ${names.length - listedNames} more` : '');

export function checkVersionNumber(versionNumber: number): CheckResult {
  const version = `PostgreSQL ${Math.floor(versionNumber / 10_000)}.${versionNumber % 10_000}`;
  return versionNumber >= minMajorVersion * 10_000
    ? ok(version)
    : attention(
        `${version} is too old`,
        `Upgrade the database to PostgreSQL ${minMajorVersion} or newer.`,
      );
}

async function checkVersion(database: Queries): Promise<CheckResult[]> {
  const [row] = await database.query<{ version: number }>(
    "SELECT current_setting('server_version_num')::int AS version",
  );
  return [checkVersionNumber(row?.version ?? 0)];
}

async function checkSchema(database: Queries): Promise<readonly CheckResult[]> {
  const files = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql'));
  const installed = files.map((name) => Number.parseInt(name, 10));
  const [table] = await database.query<{ exists: boolean }>(
    `SELECT to_regclass('schema_migrations') IS NOT NULL AS "exists"`,
  );
  const migrate = 'Start a process of the platform, or run “switchyard admin migrate”.';
  if (table?.exists !== true) return [attention('the database is empty', migrate)];
  const applied = await database.query<{ version: number; finished: boolean }>(
    'SELECT version, finished_at IS NOT NULL AS finished FROM schema_migrations',
  );
  const finished = applied.filter((one) => one.finished).map(({ version }) => version);
  const newer = applied.map(({ version }) => version).filter((one) => !installed.includes(one));
  const missing = installed.filter((version) => !finished.includes(version));
  return orOk(
    [
      ...(newer.length > 0
        ? [
            attention(
              `the database has the migrations ${listNames(newer.map(String))} of a newer version`,
              'Install the newer version of the platform here.',
            ),
          ]
        : []),
      ...(missing.length > 0
        ? [attention(`the migrations ${listNames(missing.map(String))} are not applied`, migrate)]
        : []),
    ],
    `migrations applied: ${finished.length}`,
  );
}

async function checkPrivileges(database: Queries): Promise<readonly CheckResult[]> {
  const [account] = await database.query<{ name: string; schema: string | null; create: boolean }>(
    `SELECT current_user AS name, current_schema() AS schema,
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS create`,
  );
  const { name = '', schema = null, create = false } = account ?? {};
  if (schema === null)
    return [
      attention(
        `${name} may use no schema of its search_path`,
        `Run: GRANT USAGE, CREATE ON SCHEMA public TO ${name}`,
      ),
    ];
  const tables = await database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c
     WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
         AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'))
     ORDER BY 1`,
  );
  const names = tables.map((table) => table.name);
  return orOk(
    [
      ...(create
        ? []
        : [
            attention(
              `${name} may not create tables in the schema ${schema}, which migrations need`,
              `Run: GRANT CREATE ON SCHEMA ${schema} TO ${name}`,
            ),
          ]),
      ...(names.length > 0
        ? [
            attention(
              `${name} may not read and write ${listNames(names)}`,
              `Run: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${name}`,
            ),
          ]
        : []),
    ],
    `${name} may use the schema ${schema}`,
  );
}

async function checkIndexes(database: Queries): Promise<readonly CheckResult[]> {
  const indexes = await database.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
     ORDER BY 1`,
  );
  return orOk(
    indexes.map(({ name }) =>
      attention(
        `the index ${name} is invalid, so queries do not use it`,
        `Run: REINDEX INDEX CONCURRENTLY ${name}`,
      ),
    ),
    'all indexes are valid',
  );
}

type Replication = {
  readonly isStandby: boolean;
  readonly synchronousNames: string;
  readonly standbys: number;
  readonly lagSeconds: number | null;
  readonly inactiveSlots: string[];
};

export function checkReplicationState(state: Replication): readonly CheckResult[] {
  const { isStandby, synchronousNames, standbys, lagSeconds, inactiveSlots } = state;
  const faults: CheckResult[] = [];
  if (isStandby)
    faults.push(
      attention(
        'the database is a standby and accepts no writes',
        'Name the primary in SWITCHYARD_DATABASE_URL, or all hosts with target_session_attrs=read-write.',
      ),
    );
  if (synchronousNames !== '' && standbys === 0)
    faults.push(
      attention(
        `synchronous_standby_names is ${synchronousNames}, but no standby is connected: every commit waits`,
        'Start the standby, or change synchronous_standby_names.',
      ),
    );
  if (lagSeconds !== null && lagSeconds > replayLimitSeconds)
    faults.push(
      attention(
        `a standby is ${Math.round(lagSeconds)} seconds behind`,
        'Check the network, the disk and the load of the standby.',
      ),
    );
  for (const slot of inactiveSlots)
    faults.push(
      attention(
        `the replication slot ${slot} is not in use, so the server keeps its write-ahead log`,
        `Start its standby, or run: SELECT pg_drop_replication_slot('${slot}')`,
      ),
    );
  return orOk(faults, standbys === 0 ? 'no standby is connected' : `standbys: ${standbys}`);
}

async function checkReplication(database: Queries): Promise<readonly CheckResult[]> {
  const [state] = await database.query<Replication>(
    `SELECT pg_is_in_recovery() AS "isStandby",
       current_setting('synchronous_standby_names') AS "synchronousNames",
       (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
       (SELECT extract(epoch FROM max(replay_lag))::float8 FROM pg_stat_replication) AS "lagSeconds",
       ARRAY(SELECT slot_name::text FROM pg_replication_slots WHERE NOT active) AS "inactiveSlots"`,
  );
  return state === undefined
    ? [skipped('the server has no replication')]
    : checkReplicationState(state);
}

async function checkClock(database: Queries, clock: Clock): Promise<CheckResult[]> {
  const startedAt = clock.now();
  const [row] = await database.query<{ at: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS at',
  );
  const endedAt = clock.now();
  const at = row?.at ?? 0;
  // The database read its clock between the two times.
  const differenceMs = at < startedAt ? at - startedAt : Math.max(0, at - endedAt);
  if (Math.abs(differenceMs) < clockLimitMs) return [ok('this machine and the database agree')];
  const seconds = Math.abs(differenceMs / 1000).toFixed(1);
  const order = differenceMs > 0 ? 'behind' : 'ahead of';
  return [
    attention(
      `the clock of this machine is ${seconds} seconds ${order} the clock of the database`,
      'Synchronise both clocks over the network.',
    ),
  ];
}

export async function readNodes(database: Queries): Promise<readonly PlatformNode[]> {
  const rows = await database.query<{ name: string }>(
    `SELECT DISTINCT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'switchyard %' ORDER BY 1`,
  );
  return rows.flatMap(({ name }) => {
    // The commands of `switchyard admin` have no version.
    const [, instance = '', roles = '', version] =
      /^switchyard (\S+) ([a-z+]+) (\d\S*)$/.exec(name) ?? [];
    return version === undefined ? [] : [{ instance, roles: roles.split('+'), version }];
  });
}

export function checkNodes(nodes: readonly PlatformNode[]): readonly CheckResult[] {
  if (nodes.length === 0) return [skipped('no process of the platform is connected')];
  const roles = new Set(nodes.flatMap((node) => node.roles));
  const faults = nodes
    .filter(({ version }) => version !== buildVersion.version)
    .map(({ instance, version }) =>
      attention(
        `${instance} has version ${version}, this installation has ${buildVersion.version}`,
        'Run the same version on all machines.',
      ),
    );
  if (!roles.has('all') && !roles.has('jobs'))
    faults.push(
      attention(
        'no process has the role jobs: webhooks, mails and reversals wait',
        'Start a process whose SWITCHYARD_ROLES contains jobs.',
      ),
    );
  const list = nodes.map((node) => `${node.instance} (${node.roles.join(' ')})`);
  return orOk(faults, `version ${buildVersion.version}: ${listNames(list)}`);
}

export const databaseChecks = (database: Queries, clock: Clock): readonly Check[] => [
  { name: 'database version', run: () => checkVersion(database) },
  { name: 'database schema', run: () => checkSchema(database) },
  { name: 'privileges', run: () => checkPrivileges(database) },
  { name: 'indexes', run: () => checkIndexes(database) },
  { name: 'replication', run: () => checkReplication(database) },
  { name: 'clock', run: () => checkClock(database, clock) },
  { name: 'processes', run: async () => checkNodes(await readNodes(database)) },
];
