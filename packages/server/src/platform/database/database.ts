// Opens the database: a general connection pool, and a pool for the prepared statements of the sale.
import pg from 'pg';
import { withJitter } from '../identifiers/ids.ts';
import type { Log } from '../observability/log.ts';
import { parseDatabaseUrl } from '../settings/database-url.ts';
import { pause } from '../time/clock.ts';
import { commitInTwoPhases } from './citus/distribute-tables.ts';
import { type DatabaseEngine, usesCitus } from './citus/engine.ts';
import { routeToShard } from './citus/route-statement.ts';
import { createShardPools } from './citus/shard-pools.ts';
import { readShards } from './citus/shards.ts';
import { postgresTypeParsers } from './column-parsers.ts';
import {
  contentionProblem,
  isConnectionLost,
  isRetryable,
  toDatabaseProblem,
} from './database-errors.ts';
import { createHotPool, type HotPool, type PoolUsage } from './hot-path/connection-pool.ts';
import type { HotStatement, PreparedStatement } from './hot-path/prepared-query.ts';
import type { Queries, Row, ShardSource } from './queries.ts';
import { createClientClass } from './writable-host.ts';

const defaultConnectTimeoutMs = 5_000;
/** Node.js fires a timer with a longer delay at once. */
const maxConnectSeconds = 600;
const statementTimeoutMs = 30_000;
const hotStatementTimeoutMs = 10_000;
/** Longer than the server's own limit: it applies only if the server does not respond. */
const responseTimeoutMs = 45_000;
const idleInTransactionMs = 60_000;
const healthTimeoutMs = 2_000;
const maxRetries = 5;
const retryPauseMs = 5;
/** PostgreSQL truncates longer names, so two statements could share a name. */
const maxStatementName = 63;

/**
 * With statistics of nearly empty tables the planner prefers hash joins over sequential scans,
 * which become slow as the tables grow. These statements name whole keys, so nested index loops are
 * right at any size.
 */
const hotPlannerSettings = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
};

export type { HotStatement, PreparedStatement } from './hot-path/prepared-query.ts';
export type { Queries, Row } from './queries.ts';

export type Database = Queries &
  ShardSource & {
    /** Runs a prepared statement on the pool of the sale. */
    hot<Of extends object = Row>(
      statement: PreparedStatement,
      values: readonly unknown[],
      buckets?: readonly number[],
    ): Promise<Of[]>;
    /**
     * Runs prepared statements in one commit on the pool of the sale, sent together: an error of one undoes all.
     *
     * @returns the rows of each statement
     */
    hotCommit(statements: readonly HotStatement[]): Promise<Row[][]>;
    /** Repeats `fn` on SQLSTATE 40001 and 40P01, so `fn` must have no effects outside `trx`, and no network calls. */
    transaction<T>(fn: (trx: Queries) => Promise<T>): Promise<T>;
    /** A separate connection without time limits, for migrations and maintenance. It is closed afterwards. */
    session<T>(fn: (queries: Queries) => Promise<T>): Promise<T>;
    /** The generic plan of a statement with the settings of the sale's pool, line by line. */
    explain(text: string): Promise<string[]>;
    healthy(): Promise<boolean>;
    /** The connections of this process, by pool: `general`, `sale`, and on Citus one for each worker. */
    poolUsage(): Readonly<Record<string, PoolUsage>>;
    close(): Promise<void>;
  };

export type DatabaseOptions = {
  url: string;
  log: Log;
  connections?: number;
  hotConnections?: number;
  /** False behind a pooler: no statement names, and no connection options that a pooler refuses. */
  preparedStatements?: boolean;
  /** Default: `auto`. */
  engine?: DatabaseEngine;
  /** As shown by `pg_stat_activity`. */
  applicationName?: string;
  /**
   * Runs on each new connection before its first use; an error rejects the connection. Connections that were
   * verified with another result are closed.
   */
  verifyConnection?: (queries: Queries) => Promise<string | undefined>;
};

/** How to open connections. All connections of a database share one lookup of the host. */
type ConnectionSetup = {
  readonly options: DatabaseOptions;
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly Client: typeof pg.Client;
  readonly verifyConnection: (client: pg.ClientBase) => Promise<void>;
};

export function openDatabase(options: DatabaseOptions): Database {
  const { log, preparedStatements = true } = options;
  const setup = createConnectionSetup(options);
  const general = openPool(setup, options.connections ?? 8, {
    statement_timeout: String(statementTimeoutMs),
  });
  const shards = openOnce(async () => ({
    shards: (await usesCitus(database, options.engine)) ? await readShards(database) : undefined,
  }));
  const findShards = async () => (await shards.open()).shards;
  const createTransactionQueries = (run: RunQuery) =>
    createQueries(run, findShards, preparedStatements);
  const hotPool = openOnce(async () => {
    const isDistributed = (await findShards()) !== undefined;
    // Other databases with PostgreSQL's protocol do not know its planner settings.
    const hasPlannerSettings = !isDistributed && (await isPostgres(database));
    return openHotPool(setup, hasPlannerSettings ? hotPlannerSettings : {});
  });
  const shardPools = createShardPools({
    queries: { query: (...parameters) => database.query(...parameters) },
    preparedStatements,
    openPool(host, port) {
      // The timeline of the database is that of the coordinator.
      const { verifyConnection: _, ...ofWorker } = options;
      const url = atHost(setup.url, host, port);
      return openHotPool(createConnectionSetup({ ...ofWorker, url }), hotPlannerSettings);
    },
  });

  const database: Database = {
    query: (statement, values = [], buckets) =>
      withRetries(log, () =>
        runQuery(general, toQueryConfig({ statement, values, buckets }, preparedStatements)),
      ),
    async hot<Of extends object>(
      statement: PreparedStatement,
      values: readonly unknown[],
      buckets?: readonly number[],
    ) {
      const [rows = []] = await database.hotCommit([[statement, values, buckets]]);
      return rows as Of[];
    },
    async hotCommit(statements) {
      for (const [{ name }] of statements) requireValidName(name);
      // All statements of a commit are of one shard.
      const buckets = statements[0]?.[2];
      if (buckets !== undefined) return withRetries(log, () => shardPools.run(statements, buckets));
      const pool = hotPool.opened() ?? (await hotPool.open());
      return withRetries(log, () =>
        preparedStatements ? pool.run(statements) : pool.plain(statements),
      );
    },
    async transaction(fn) {
      // A process may not have read the shards yet. Before the transaction, because it holds a connection.
      const isDistributed = (await findShards()) !== undefined;
      return withRetries(log, () =>
        runTransaction(general, createTransactionQueries, async (trx) => {
          const result = await fn(trx);
          if (isDistributed) await trx.query(commitInTwoPhases);
          return result;
        }),
      );
    },
    session: (fn) => runInSession(setup, (run) => fn(createQueries(run, findShards))),
    async explain(text) {
      const pool = await hotPool.open();
      const explainStatement = { name: '', text: `EXPLAIN (GENERIC_PLAN) ${text}` };
      const [rows = []] = await pool.plain([[explainStatement, []]]);
      return rows.map((row) => String(row['QUERY PLAN']));
    },
    shards: findShards,
    loadedShards() {
      const loaded = shards.opened();
      return loaded === undefined ? null : loaded.shards;
    },
    async queryWorkers<Of extends object>(
      statement: PreparedStatement,
      values: readonly unknown[],
    ) {
      const groups = (await findShards())?.groups ?? [];
      const results = await shardPools.runAtWorkers([statement, values], groups);
      return results as PromiseSettledResult<Of[]>[];
    },
    async healthy() {
      const query = runQuery(general, { text: 'SELECT 1' }).then(
        () => true,
        () => false,
      );
      const limit = new AbortController();
      const timeout = pause(healthTimeoutMs, limit.signal).then(() => false);
      const isHealthy = await Promise.race([query, timeout]);
      limit.abort();
      return isHealthy;
    },
    poolUsage: () => ({
      general: usageOf(general),
      sale: hotPool.opened()?.usage() ?? { max: hotConnectionsOf(options), inUse: 0, waiting: 0 },
      ...shardPools.usage(),
    }),
    async close() {
      if (general.ending) return;
      await Promise.all([general.end(), hotPool.opened()?.end(), shardPools.end()]);
    },
  };
  return database;
}

/** pg.Pool queues each statement for a moment, also while a connection is free: only the others wait. */
function usageOf({ options: { max }, totalCount, idleCount, waitingCount }: pg.Pool): PoolUsage {
  const inUse = totalCount - idleCount;
  return { max, inUse, waiting: Math.max(0, waitingCount - (max - inUse)) };
}

/** YugabyteDB: "PostgreSQL 15.2-YB-2.25…". CockroachDB: "CockroachDB CCL v25…". */
export async function isPostgres(queries: Queries): Promise<boolean> {
  const [row] = await queries.query('SELECT version() AS version');
  const version = String(row?.['version']);
  return version.startsWith('PostgreSQL') && !/-YB-|yugabyte|cockroach/i.test(version);
}

type DestroyableClient = pg.ClientBase & { connection: { stream: { destroy(): void } } };

/** Verifies connections, and closes connections to a server that was replaced but still accepts writes. */
function closeOtherServers(
  verifyConnection: DatabaseOptions['verifyConnection'],
  timeoutMs: number,
): (client: pg.ClientBase) => Promise<void> {
  const servers = new Map<pg.ClientBase, string>();
  return async (client) => {
    const server = await verifyConnection?.(
      createQueries(
        (query) => client.query({ ...query, query_timeout: timeoutMs } as pg.QueryConfig),
        async () => undefined,
      ),
    );
    if (server === undefined) return;
    for (const [other, otherServer] of servers) {
      if (otherServer !== server) (other as DestroyableClient).connection.stream.destroy();
    }
    servers.set(client, server);
    client.once('end', () => servers.delete(client));
  };
}

function requireValidName(name: string): string {
  if (name.length > maxStatementName) throw new RangeError(`statement name too long: ${name}`);
  return name;
}

/** pg-pool awaits the hook and rejects the connection with its error, although its type returns void. */
type AwaitedHook = (client: pg.ClientBase) => void;

function openHotPool(setup: ConnectionSetup, planner: Record<string, string>): HotPool {
  const { options, connectTimeoutMs: waitLimitMs, verifyConnection } = setup;
  return createHotPool({
    config: connectionConfig(setup, {
      idle_in_transaction_session_timeout: String(idleInTransactionMs),
      statement_timeout: String(hotStatementTimeoutMs),
      ...planner,
    }),
    verifyConnection,
    connections: hotConnectionsOf(options),
    waitLimitMs,
    silenceLimitMs: responseTimeoutMs,
    log: options.log,
  });
}

function openPool(
  setup: ConnectionSetup,
  connections: number,
  settings: Record<string, string>,
): pg.Pool {
  const pool = new pg.Pool({
    ...connectionConfig(setup, {
      idle_in_transaction_session_timeout: String(idleInTransactionMs),
      ...settings,
    }),
    max: connections,
    onConnect: setup.verifyConnection as AwaitedHook,
    query_timeout: responseTimeoutMs,
    idleTimeoutMillis: 0,
    // An idle connection does not keep the process alive.
    allowExitOnIdle: true,
  });
  // Without a listener the loss of an idle or waiting connection would end the process.
  pool.on('error', (error) => {
    if (!pool.ending) setup.options.log.warn({ err: error }, 'database connection lost');
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** The same URL with another host. */
function atHost(url: string, host: string, port: number): string {
  const parsed = new URL(url);
  for (const parameter of ['host', 'port']) parsed.searchParams.delete(parameter);
  parsed.hostname = host;
  parsed.port = String(port);
  return parsed.href;
}

function createConnectionSetup(options: DatabaseOptions): ConnectionSetup {
  const address = parseDatabaseUrl(options.url);
  const { url } = address;
  const connectTimeoutMs = connectTimeoutOf(url);
  const Client = createClientClass(address, {
    connectionString: url,
    application_name: applicationNameOf(options),
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: connectTimeoutMs,
  });
  const verifyConnection = closeOtherServers(options.verifyConnection, connectTimeoutMs);
  return { options, url, connectTimeoutMs, Client, verifyConnection };
}

/**
 * How long to wait for a connection, also for a free one in the pool. Like libpq, from
 * `connect_timeout` in seconds.
 */
function connectTimeoutOf(url: string): number {
  const seconds = Number(URL.parse(url)?.searchParams.get('connect_timeout'));
  return seconds > 0 ? Math.min(seconds, maxConnectSeconds) * 1000 : defaultConnectTimeoutMs;
}

const hotConnectionsOf = ({ hotConnections = 4 }: DatabaseOptions) => hotConnections;

const applicationNameOf = ({ applicationName = 'switchyard' }: DatabaseOptions) => applicationName;

function connectionConfig(
  { options, url, connectTimeoutMs, Client }: ConnectionSetup,
  settings: Record<string, string>,
): pg.PoolConfig {
  const { preparedStatements = true } = options;
  return {
    Client,
    connectionString: preparedStatements
      ? withSessionOptions(url, { TimeZone: 'UTC', ...settings })
      : url,
    types: postgresTypeParsers,
    application_name: applicationNameOf(options),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  };
}

async function runInSession<T>(
  setup: ConnectionSetup,
  fn: (run: RunQuery) => Promise<T>,
): Promise<T> {
  const client = new setup.Client(connectionConfig(setup, { statement_timeout: '0' }));
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw toDatabaseProblem(error, false);
  }
  try {
    return await fn((query) => client.query(query));
  } catch (error) {
    throw toDatabaseProblem(error, true);
  } finally {
    await client.end();
  }
}

/** Adds the platform's options after those of the URL: the driver accepts only one source of options. */
function withSessionOptions(url: string, session: Record<string, string>): string {
  const platformOptions = Object.entries(session).map(([name, value]) => `-c ${name}=${value}`);
  const parsed = new URL(url);
  const urlOptions = parsed.searchParams.get('options');
  parsed.searchParams.set(
    'options',
    [...(urlOptions === null ? [] : [urlOptions]), ...platformOptions].join(' '),
  );
  return parsed.href;
}

async function runQuery<Of extends object>(pool: pg.Pool, query: pg.QueryConfig): Promise<Of[]> {
  const client = await connectPool(pool);
  try {
    const { rows } = await client.query<Of & Row>(query);
    client.release();
    return rows;
  } catch (error) {
    client.release(isConnectionLost(error));
    throw toDatabaseProblem(error, true);
  }
}

async function connectPool(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw toDatabaseProblem(error, false);
  }
}

/** One transaction on a connection of the pool. A lost connection does not return to the pool. */
async function runTransaction<T>(
  pool: pg.Pool,
  createTransactionQueries: (run: RunQuery) => Queries,
  fn: (trx: Queries) => Promise<T>,
): Promise<T> {
  const client = await connectPool(pool);
  let isLost = false;
  let hasEnded = false;
  async function run(query: pg.QueryConfig): Promise<pg.QueryResult> {
    if (hasEnded) throw new Error('the transaction has ended');
    try {
      return await client.query(query);
    } catch (error) {
      isLost ||= isConnectionLost(error);
      throw toDatabaseProblem(error, true);
    }
  }
  const trx = createTransactionQueries(run);
  try {
    await trx.query('begin');
    try {
      const result = await fn(trx);
      // After a failed statement PostgreSQL answers a commit with ROLLBACK, and not with an error.
      const { command } = await run({ text: 'commit' });
      if (command !== 'COMMIT')
        throw new Error(
          'PostgreSQL rolled the transaction back: an earlier statement had failed, and its error was caught',
        );
      return result;
    } catch (error) {
      // The first error is the reason. A connection that cannot roll back does not return to the pool.
      if (!isLost) await trx.query('rollback').catch(() => (isLost = true));
      throw error;
    }
  } finally {
    hasEnded = true;
    client.release(isLost);
  }
}

type RunQuery = (query: pg.QueryConfig) => Promise<pg.QueryResult>;

/** Statements on one connection. */
const createQueries = (run: RunQuery, shards: Queries['shards'], mayPrepare = false): Queries => ({
  shards,
  async query(statement, values = [], buckets) {
    return (await run(toQueryConfig({ statement, values, buckets }, mayPrepare))).rows;
  },
});

type Call = {
  readonly statement: string | PreparedStatement;
  readonly values: readonly unknown[];
  readonly buckets: readonly number[] | undefined;
};

function toQueryConfig({ statement, values, buckets }: Call, mayPrepare: boolean): pg.QueryConfig {
  const { name, text } =
    typeof statement === 'string' ? { name: undefined, text: statement } : statement;
  const query = routeToShard(text, values, buckets);
  return mayPrepare && name !== undefined ? { ...query, name: requireValidName(name) } : query;
}

async function withRetries<T>(log: Log, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (tries > maxRetries) throw contentionProblem(error);
      log.debug(
        { err: error, tries },
        'retrying a database transaction after a serialization failure',
      );
      await pause(withJitter(retryPauseMs * 2 ** tries));
    }
  }
}

/** Opens once at the first use, for all callers. After a failure the next caller tries again. */
function openOnce<T>(create: () => Promise<T>): { opened(): T | undefined; open(): Promise<T> } {
  let opened: T | undefined;
  let opening: Promise<T> | undefined;
  return {
    opened: () => opened,
    open() {
      opening ??= create().then(
        (value) => {
          opened = value;
          return value;
        },
        (error: unknown) => {
          opening = undefined;
          throw error;
        },
      );
      return opening;
    },
  };
}
