// Opens the database: one pool for ordinary queries, one for the hot prepared statements of the sale.
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { jittered } from '../identifiers/ids.ts';
import type { Log } from '../observability/log.ts';
import { readDatabaseAddress } from '../settings/database-url.ts';
import { pause } from '../time/clock.ts';
import { postgresTypes } from './column-parsers.ts';
import { asRefusal, contended, isConnectionLost, isRetryable } from './database-errors.ts';
import { createHotPool, type HotPool } from './hot-path/connection-pool.ts';
import type { HotStatement } from './hot-path/prepared-query.ts';
import { preparedName } from './hot-path/statement-name.ts';
import { clientMaker } from './writable-host.ts';

const defaultConnectTimeoutMs = 5_000;
/** A timer that is longer than it can count ends at once. */
const longestConnectSeconds = 600;
const statementTimeoutMs = 30_000;
const hotStatementTimeoutMs = 10_000;
/** Longer than the server's own limit, so it strikes only where the server is silent. */
const silenceTimeoutMs = 45_000;
const idleInTransactionMs = 60_000;
const healthTimeoutMs = 2_000;
const retriesMax = 5;
const retryPauseMs = 5;
/** PostgreSQL cuts longer names, and two statements would then share one. */
const statementNameMax = 63;

/**
 * Young tables make the planner prefer hash joins over sequential scans, and each batch then grows slower;
 * the hot statements name whole keys, so nested index loops are right at any size (storage rules).
 */
const hotPlanner = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
};

export type Row = Record<string, unknown>;
export type { HotStatement } from './hot-path/prepared-query.ts';

export type SessionQuery = (text: string, values?: readonly unknown[]) => Promise<Row[]>;

/** int8 comes as number, timestamptz as Date, numeric as string, jsonb parsed, bytea as Buffer. */
export type Database = {
  kysely: Kysely<unknown>;
  /** One statement on the general pool. The caller names the type of its rows and vouches for it. */
  query<Of extends object = Row>(text: string, values?: readonly unknown[]): Promise<Of[]>;
  /** As `query`, by a name: for the few texts that are costlier to plan than to do. */
  prepared<Of extends object = Row>(
    statement: HotStatement,
    values: readonly unknown[],
  ): Promise<Of[]>;
  /** One named prepared statement on the hot pool; a name belongs to one text for ever. */
  hot<Of extends object = Row>(statement: HotStatement, values: readonly unknown[]): Promise<Of[]>;
  /** Begins again on 40001 and 40P01, so `fn` has no effects but those of `trx`, and no network call. */
  transaction<T>(fn: (trx: Kysely<unknown>) => Promise<T>): Promise<T>;
  /** A connection of its own without time limits, closed afterwards: for migrations and maintenance. */
  session<T>(fn: (query: SessionQuery) => Promise<T>): Promise<T>;
  /** The generic plan of a hot statement under the hot pool's settings, line by line. */
  explain(text: string): Promise<string[]>;
  healthy(): Promise<boolean>;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  url: string;
  log: Log;
  connections?: number;
  hotConnections?: number;
  /** Off behind a pooler: no names, and no options that a pooler refuses. */
  preparedStatements?: boolean;
  /** As `pg_stat_activity` shows it. */
  applicationName?: string;
  /**
   * Runs on each new connection before its first use; an error rejects the connection. Connections that were
   * verified with another result are closed.
   */
  verifyConnection?: (query: SessionQuery) => Promise<string | undefined>;
};

/** How connections are opened; the connections of a database look for their host together. */
type Opening = {
  readonly options: DatabaseOptions;
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly Client: typeof pg.Client;
  readonly verifyConnection: (client: pg.ClientBase) => Promise<void>;
};

export function openDatabase(options: DatabaseOptions): Database {
  const { log, preparedStatements = true } = options;
  const opening = openingOf(options);
  const general = openPool(opening, options.connections ?? 8, {
    statement_timeout: String(statementTimeoutMs),
  });
  const kysely = new Kysely<unknown>({
    dialect: new PostgresDialect({
      pool: { connect: () => checkOut(general, preparedStatements), end: async () => {} },
    }),
  });
  const hotPool = openOnce(async () => {
    // Other engines that speak PostgreSQL's protocol do not know its planner settings.
    const postgres = await isPostgres((text) => run(general, { text }));
    return openHotPool(opening, postgres ? hotPlanner : {});
  });

  return {
    kysely,
    query: (text, values = []) => retrying(log, () => run(general, { text, values: [...values] })),
    prepared: ({ name, text }, values) =>
      retrying(log, () => {
        const named = preparedStatements ? { name: checkedName(name) } : {};
        return run(general, { ...named, text, values: [...values] });
      }),
    async hot<Of extends object>({ name, text }: HotStatement, values: readonly unknown[]) {
      checkedName(name);
      const pool = hotPool.opened() ?? (await hotPool.open());
      const rows = await retrying(log, () =>
        preparedStatements ? pool.run({ name, text }, values) : pool.plain(text, values),
      );
      return rows as Of[];
    },
    transaction: (fn) => retrying(log, () => kysely.transaction().execute(fn)),
    session: (fn) => inSession(opening, fn),
    async explain(text) {
      const pool = await hotPool.open();
      const rows = await pool.plain(`EXPLAIN (GENERIC_PLAN) ${text}`);
      return rows.map((row) => String(row['QUERY PLAN']));
    },
    async healthy() {
      const asked = run(general, { text: 'SELECT 1' }).then(
        () => true,
        () => false,
      );
      const limit = new AbortController();
      const late = pause(healthTimeoutMs, limit.signal).then(() => false);
      const answer = await Promise.race([asked, late]);
      limit.abort();
      return answer;
    },
    async close() {
      if (general.ending) return;
      await kysely.destroy();
      await Promise.all([general.end(), hotPool.opened()?.end()]);
    },
  };
}

/** YugabyteDB says "PostgreSQL 15.2-YB-2.25…", CockroachDB "CockroachDB CCL v25…". */
export async function isPostgres(query: SessionQuery): Promise<boolean> {
  const [row] = await query('SELECT version() AS version');
  const version = String(row?.['version']);
  return version.startsWith('PostgreSQL') && !/-YB-|yugabyte|cockroach/i.test(version);
}

type DestroyableClient = pg.ClientBase & { connection: { stream: { destroy(): void } } };

/** Verifies connections, and closes those to a server that was replaced while it still accepted writes. */
function closeOtherServers(
  verifyConnection: DatabaseOptions['verifyConnection'],
  timeoutMs: number,
): (client: pg.ClientBase) => Promise<void> {
  const servers = new Map<pg.ClientBase, string>();
  return async (client) => {
    const server = await verifyConnection?.(async (text, values = []) => {
      const query = { text, values: [...values], query_timeout: timeoutMs };
      return (await client.query<Row>(query)).rows;
    });
    if (server === undefined) return;
    for (const [other, otherServer] of servers) {
      if (otherServer !== server) (other as DestroyableClient).connection.stream.destroy();
    }
    servers.set(client, server);
    client.once('end', () => servers.delete(client));
  };
}

function checkedName(name: string): string {
  if (name.length > statementNameMax) throw new RangeError(`statement name too long: ${name}`);
  return name;
}

/** pg-pool awaits the hook, and rejects the connection with its error; the type says otherwise. */
type AwaitedHook = (client: pg.ClientBase) => void;

function openHotPool(opening: Opening, planner: Record<string, string>): HotPool {
  const { options, connectTimeoutMs: waitLimitMs, verifyConnection } = opening;
  return createHotPool({
    config: connectionConfig(opening, {
      idle_in_transaction_session_timeout: String(idleInTransactionMs),
      statement_timeout: String(hotStatementTimeoutMs),
      ...planner,
    }),
    verifyConnection,
    connections: options.hotConnections ?? 4,
    waitLimitMs,
    silenceLimitMs: silenceTimeoutMs,
    log: options.log,
  });
}

function openPool(
  opening: Opening,
  connections: number,
  settings: Record<string, string>,
): pg.Pool {
  const pool = new pg.Pool({
    ...connectionConfig(opening, {
      idle_in_transaction_session_timeout: String(idleInTransactionMs),
      ...settings,
    }),
    max: connections,
    onConnect: opening.verifyConnection as AwaitedHook,
    query_timeout: silenceTimeoutMs,
    idleTimeoutMillis: 0,
    // Idle connections are no reason for the process to stay.
    allowExitOnIdle: true,
  });
  // Without listeners the loss of an idle or a waiting connection would end the process.
  pool.on('error', (error) => {
    if (!pool.ending) opening.options.log.warn({ err: error }, 'database connection lost');
  });
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

function openingOf(options: DatabaseOptions): Opening {
  const address = readDatabaseAddress(options.url);
  const { url } = address;
  const connectTimeoutMs = connectTimeoutOf(url);
  const Client = clientMaker(address, {
    connectionString: url,
    application_name: nameOf(options),
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: connectTimeoutMs,
  });
  const verifyConnection = closeOtherServers(options.verifyConnection, connectTimeoutMs);
  return { options, url, connectTimeoutMs, Client, verifyConnection };
}

/** How long a connection is waited for, in a full pool too: as PostgreSQL's own clients read the address, in seconds. */
function connectTimeoutOf(url: string): number {
  const seconds = Number(URL.parse(url)?.searchParams.get('connect_timeout'));
  return seconds > 0 ? Math.min(seconds, longestConnectSeconds) * 1000 : defaultConnectTimeoutMs;
}

const nameOf = ({ applicationName = 'switchyard' }: DatabaseOptions) => applicationName;

function connectionConfig(
  { options, url, connectTimeoutMs, Client }: Opening,
  settings: Record<string, string>,
): pg.PoolConfig {
  const { preparedStatements = true } = options;
  return {
    Client,
    connectionString: preparedStatements ? withOptions(url, { TimeZone: 'UTC', ...settings }) : url,
    types: postgresTypes,
    application_name: nameOf(options),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  };
}

async function inSession<T>(opening: Opening, fn: (query: SessionQuery) => Promise<T>): Promise<T> {
  const client = new opening.Client(connectionConfig(opening, { statement_timeout: '0' }));
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw asRefusal(error, false);
  }
  try {
    return await fn(async (text, values = []) => (await client.query(text, [...values])).rows);
  } catch (error) {
    throw asRefusal(error, true);
  } finally {
    await client.end();
  }
}

/** Our options behind those of the address, if it has any: the driver takes only one of the two places. */
function withOptions(url: string, session: Record<string, string>): string {
  const ours = Object.entries(session).map(([name, value]) => `-c ${name}=${value}`);
  const parsed = new URL(url);
  const theirs = parsed.searchParams.get('options');
  parsed.searchParams.set('options', [...(theirs === null ? [] : [theirs]), ...ours].join(' '));
  return parsed.href;
}

async function run<Of extends object>(pool: pg.Pool, query: pg.QueryConfig): Promise<Of[]> {
  const client = await connect(pool);
  try {
    const { rows } = await client.query<Of & Row>(query);
    client.release();
    return rows;
  } catch (error) {
    client.release(isConnectionLost(error));
    throw asRefusal(error, true);
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw asRefusal(error, false);
  }
}

/** A connection for Kysely, with the same sorting of errors; a lost one does not return to the pool. */
async function checkOut(pool: pg.Pool, mayPrepare: boolean): Promise<PostgresPoolClient> {
  const client = await connect(pool);
  let lost = false;
  const query = async (text: string, values: readonly unknown[]) => {
    const name = mayPrepare ? preparedName(text) : undefined;
    try {
      return await client.query({ ...(name && { name }), text, values: [...values] });
    } catch (error) {
      lost ||= isConnectionLost(error);
      throw asRefusal(error, true);
    }
  };
  // Kysely also describes cursors, which nobody here asks for.
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: () => client.release(lost),
  };
}

async function retrying<T>(log: Log, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      if (tries > retriesMax) throw contended(error);
      log.debug({ err: error, tries }, 'the database asked for another try');
      await pause(jittered(retryPauseMs * 2 ** tries));
    }
  }
}

/** Opens on first use, together for all who ask; a failed opening is tried again by the next one. */
function openOnce<T>(create: () => Promise<T>): { opened(): T | undefined; open(): Promise<T> } {
  let made: T | undefined;
  let opening: Promise<T> | undefined;
  return {
    opened: () => made,
    open() {
      opening ??= create().then(
        (value) => {
          made = value;
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
