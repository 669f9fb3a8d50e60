// Connection pool for the prepared statements of the sale. Connections stay open between statements.
import { defined } from '@switchyard/contract';
import pg from 'pg';
import type { Log } from '../../observability/log.ts';
import { isConnectionLost, toDatabaseProblem } from '../database-errors.ts';
import {
  createPreparedQuery,
  type HotRow,
  type HotStatement,
  type PreparedQuery,
} from './prepared-query.ts';

/** How much later than its limit a missing response may be noticed. */
const silenceCheckShare = 0.1;

export type HotPool = {
  /** Runs the statements in one commit. Returns the rows of each. */
  run(statements: readonly HotStatement[]): Promise<HotRow[][]>;
  /** The same with statements without a name, and with the driver's own queries. */
  plain(statements: readonly HotStatement[]): Promise<HotRow[][]>;
  usage(): PoolUsage;
  end(): Promise<void>;
};

export type PoolUsage = {
  readonly max: number;
  readonly inUse: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
};

export type HotPoolOptions = {
  readonly config: pg.PoolConfig;
  /** Runs on each new connection before its first use. */
  readonly verifyConnection?: (client: pg.ClientBase) => Promise<void>;
  readonly connections: number;
  /** Time to wait for a free or a new connection. */
  readonly waitLimitMs: number;
  readonly silenceLimitMs: number;
  readonly log: Log;
};

type Client = pg.PoolClient & { ref(): void; unref(): void };
type Lease = { client: Client; hot: PreparedQuery; busySinceMs: number | undefined };
/** Receives a connection, or undefined if the caller may open one. */
type Waiter = (lease: Lease | undefined) => void;

/**
 * `pg.Pool` opens and closes the connections. Its checkout for each statement takes as long as the
 * statement's own work here, so this pool keeps the connections.
 */
export function createHotPool(options: HotPoolOptions): HotPool {
  const { connections, waitLimitMs, silenceLimitMs, log, verifyConnection } = options;
  const pool = new pg.Pool({
    ...options.config,
    ...defined({ onConnect: verifyConnection }),
    max: connections,
    idleTimeoutMillis: 0,
  });
  const shapes = new Map();
  const leases = new Set<Lease>();
  const idle: Lease[] = [];
  let opening = 0;
  let waiters: Waiter[] = [];
  pool.on('error', (error) => {
    if (!pool.ending) log.warn({ err: error }, 'database connection lost');
  });

  const silenceTimer = setInterval(() => {
    const beforeMs = performance.now() - silenceLimitMs;
    for (const { hot, busySinceMs = Number.POSITIVE_INFINITY } of leases) {
      if (busySinceMs < beforeMs) hot.fail(new Error('Query read timeout'));
    }
  }, silenceLimitMs * silenceCheckShare);
  silenceTimer.unref();

  async function openLease(): Promise<Lease> {
    opening += 1;
    try {
      const client = (await pool.connect()) as Client;
      const lease = { client, hot: createPreparedQuery(client, shapes), busySinceMs: undefined };
      leases.add(lease);
      client.on('error', (error) => {
        if (lease.busySinceMs === undefined) log.warn({ err: error }, 'database connection lost');
        discard(lease);
      });
      return lease;
    } catch (error) {
      waiters.shift()?.(undefined);
      throw toDatabaseProblem(error, false);
    } finally {
      opening -= 1;
    }
  }

  function waitForLease(): Promise<Lease | undefined> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        waiters = waiters.filter((waiter) => waiter !== acquire);
        reject(toDatabaseProblem(new Error('timeout exceeded when trying to connect'), false));
      }, waitLimitMs);
      const acquire: Waiter = (lease) => {
        clearTimeout(limit);
        resolve(lease);
      };
      waiters.push(acquire);
    });
  }

  async function acquire(): Promise<Lease> {
    for (;;) {
      const free = idle.pop();
      if (free !== undefined) return free;
      if (leases.size + opening < connections || pool.ending) return openLease();
      const lease = await waitForLease();
      if (lease !== undefined) return lease;
    }
  }

  function release(lease: Lease): void {
    lease.busySinceMs = undefined;
    if (pool.ending) {
      if (leases.delete(lease)) lease.client.release();
      return;
    }
    if (!leases.has(lease)) return;
    const next = waiters.shift();
    if (next !== undefined) {
      next(lease);
      return;
    }
    // An idle connection does not keep the process alive.
    lease.client.unref();
    idle.push(lease);
  }

  function discard(lease: Lease): void {
    if (!leases.delete(lease)) return;
    const index = idle.indexOf(lease);
    if (index >= 0) idle.splice(index, 1);
    lease.client.release(true);
    waiters.shift()?.(undefined);
  }

  async function withLease(work: (lease: Lease) => Promise<HotRow[][]>): Promise<HotRow[][]> {
    const lease = idle.length > 0 ? (idle.pop() as Lease) : await acquire();
    lease.client.ref();
    lease.busySinceMs = performance.now();
    try {
      const results = await work(lease);
      release(lease);
      return results;
    } catch (error) {
      if (isConnectionLost(error)) discard(lease);
      else release(lease);
      throw toDatabaseProblem(error, true);
    }
  }

  async function runPlain(lease: Lease, statements: readonly HotStatement[]) {
    const query = async (text: string, values: readonly unknown[] = []) => {
      const config = { text, values: [...values], query_timeout: silenceLimitMs };
      return (await lease.client.query<HotRow>(config)).rows;
    };
    const isTransaction = statements.length > 1;
    const results: HotRow[][] = [];
    try {
      if (isTransaction) await query('BEGIN');
      for (const [{ text }, values] of statements) results.push(await query(text, values));
      if (isTransaction) await query('COMMIT');
    } catch (error) {
      // A connection whose transaction may be open is not used again.
      if (isTransaction && !isConnectionLost(error))
        await query('ROLLBACK').catch(() => discard(lease));
      throw error;
    }
    return results;
  }

  return {
    run: (statements) => withLease(({ hot }) => hot.run(statements)),
    plain: (statements) => withLease((lease) => runPlain(lease, statements)),
    usage: () => ({
      max: connections,
      inUse: leases.size - idle.length + opening,
      waiting: waiters.length,
    }),
    async end() {
      clearInterval(silenceTimer);
      const ended = pool.end();
      for (const lease of idle.splice(0)) {
        leases.delete(lease);
        // Closing the connection keeps the process alive until it is done.
        lease.client.ref();
        lease.client.release();
      }
      for (const next of waiters.splice(0)) next(undefined);
      await ended;
    },
  };
}
