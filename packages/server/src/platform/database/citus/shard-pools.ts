// Runs statements of the sale at the worker that has their shard, on the tables of the shard.
import { hash } from 'node:crypto';
import { sqlState } from '../database-errors.ts';
import type { HotPool, PoolUsage } from '../hot-path/connection-pool.ts';
import type { HotRow, HotStatement, PreparedStatement } from '../hot-path/prepared-query.ts';
import type { Queries, Shards } from '../queries.ts';

export type Placement = {
  readonly shardId: string;
  readonly host: string;
  readonly port: number;
  /** The names of the shard's tables, by the names of the distributed tables. */
  readonly tables: Readonly<Record<string, string>>;
};

type PlacementOfBuckets = Placement & { readonly buckets: readonly number[] };

/** The shard of a bucket, with the worker that has it. Only workers with metadata know where shards are. */
const placementText = `SELECT t.shardid::text AS "shardId", n.nodename AS host, n.nodeport AS port,
    json_object_agg(s.logicalrelid::text, shard_name(s.logicalrelid, s.shardid)) AS tables
  FROM pg_dist_shard t
  JOIN pg_dist_placement p ON p.shardid = t.shardid
  JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' AND n.metadatasynced
  JOIN pg_dist_partition d ON d.colocationid =
    (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = t.logicalrelid)
  JOIN pg_dist_shard s ON s.logicalrelid = d.logicalrelid AND s.shardminvalue = t.shardminvalue
  WHERE t.shardid = get_shard_id_for_distribution_column('transactions', $1::smallint)
  GROUP BY t.shardid, n.nodename, n.nodeport`;

/** @throws Error if no worker can be used */
export async function readPlacement(
  queries: Pick<Queries, 'query'>,
  [bucket]: readonly number[],
): Promise<Placement> {
  const [placement] = await queries.query<Placement>(placementText, [bucket]);
  if (placement !== undefined) return placement;
  throw new Error(
    `no worker with metadata has the shard of bucket ${bucket}: SELECT start_metadata_sync_to_all_nodes()`,
  );
}

/**
 * A move of the shard waits for this lock before it changes the worker. Statements of Citus take the same one, in the
 * same mode.
 */
const lockShard = {
  name: 'citus-lock-shard',
  text: 'SELECT lock_shard_metadata(5, ARRAY[$1::bigint])',
};
/** Fails by a division by zero. As a statement of its own, it sees a move that the lock has waited for. */
const requireShards = {
  name: 'citus-require-shards',
  text: `SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer
    FROM pg_dist_placement JOIN pg_dist_local_group USING (groupid) WHERE shardid = ANY ($1::bigint[])`,
};
const divisionByZero = '22012';
const maxTries = 3;

const fulfilledValue = <T>(result: PromiseSettledResult<T>): T[] =>
  result.status === 'fulfilled' ? [result.value] : [];

const hasMoved = (error: unknown) => sqlState(error) === divisionByZero;

const tableReference =
  /\b(?<before>FROM|JOIN|INTO|UPDATE|USING) (?<table>\w+)\b(?<alias> (?:AS )?[a-z])?/g;

/** Names the tables of a shard in place of the distributed ones. Aliases stay, and unaliased tables get their name. */
export function withShardTables(text: string, tables: Readonly<Record<string, string>>): string {
  return text.replace(tableReference, (reference, before, table, alias) => {
    const ofShard = tables[table];
    if (ofShard === undefined) return reference;
    return `${before} ${ofShard}${alias ?? ` AS ${table}`}`;
  });
}

export type ShardPools = {
  /** Runs statements of one shard in one commit. Returns the rows of each. */
  run(statements: readonly HotStatement[], buckets: readonly number[]): Promise<HotRow[][]>;
  /**
   * Runs a query at each worker on all its shards together.
   *
   * @returns the rows of each worker, or its error, and the errors of shards without a worker
   */
  runAtWorkers(
    query: HotStatement,
    groups: Shards['groups'],
  ): Promise<PromiseSettledResult<HotRow[]>[]>;
  /** By worker. */
  usage(): Record<string, PoolUsage>;
  end(): Promise<void>;
};

type ShardPoolOptions = {
  readonly queries: Pick<Queries, 'query'>;
  openPool(host: string, port: number): HotPool;
  /** False behind a pooler. */
  readonly preparedStatements: boolean;
};

/**
 * The coordinator would plan each statement again, and send its parts to the worker one by one. At the worker it is one
 * prepared statement of PostgreSQL, as without Citus.
 */
export function createShardPools(options: ShardPoolOptions): ShardPools {
  const { queries, openPool, preparedStatements } = options;
  const pools = new Map<string, HotPool>();
  const placements = new Map<readonly number[], Promise<PlacementOfBuckets>>();
  const statementsByName = new Map<string, PreparedStatement>();

  function findPlacement(buckets: readonly number[]): Promise<PlacementOfBuckets> {
    const cached = placements.get(buckets);
    if (cached !== undefined) return cached;
    const read = readPlacement(queries, buckets).then((each) => ({ ...each, buckets }));
    placements.set(buckets, read);
    read.catch(() => placements.delete(buckets));
    return read;
  }

  function findPool({ host, port }: Placement): HotPool {
    const address = `${host}:${port}`;
    const pool = pools.get(address) ?? openPool(host, port);
    pools.set(address, pool);
    return pool;
  }

  /** The statement on the tables of one shard, or a union over several. */
  function toShardStatement({ name, text }: PreparedStatement, shards: readonly Placement[]) {
    const shardIds = shards.map(({ shardId }) => shardId).join();
    const key = `${name}-${shardIds}`;
    const cached = statementsByName.get(key);
    if (cached !== undefined) return cached;
    const texts = shards.map(({ tables }) => withShardTables(text, tables));
    const ofShards =
      texts.length === 1
        ? { name: key, text: texts.join() }
        : {
            name: `${name}-${hash('md5', shardIds, 'base64url')}`,
            text: `(${texts.join(') UNION ALL (')})`,
          };
    statementsByName.set(key, ofShards);
    return ofShards;
  }

  const send = (pool: HotPool, statements: readonly HotStatement[]) =>
    preparedStatements ? pool.run(statements) : pool.plain(statements);

  async function queryShards(
    [pool, shards]: [HotPool, readonly Placement[]],
    [statement, values]: HotStatement,
  ) {
    const guard: HotStatement = [requireShards, [shards.map(({ shardId }) => shardId)]];
    const [, rows = []] = await send(pool, [guard, [toShardStatement(statement, shards), values]]);
    return rows;
  }

  return {
    async runAtWorkers(query, groups) {
      for (let tries = 1; ; tries += 1) {
        const lookUps = await Promise.allSettled(groups.map(findPlacement));
        const workers = [...Map.groupBy(lookUps.flatMap(fulfilledValue), findPool)];
        const results = await Promise.allSettled(workers.map((each) => queryShards(each, query)));
        for (const [index, [, shards]] of workers.entries())
          if (results[index]?.status === 'rejected')
            for (const { buckets } of shards) placements.delete(buckets);
        const all = [...results, ...lookUps.filter((each) => each.status === 'rejected')];
        const isMoved = all.some((each) => each.status === 'rejected' && hasMoved(each.reason));
        if (!isMoved || tries === maxTries) return all;
      }
    },
    async run(statements, buckets) {
      for (let tries = 1; ; tries += 1) {
        try {
          const placement = await findPlacement(buckets);
          const guards: HotStatement[] = [
            [lockShard, [placement.shardId]],
            [requireShards, [[placement.shardId]]],
          ];
          const all = [
            ...guards,
            ...statements.map(
              ([statement, values]): HotStatement => [
                toShardStatement(statement, [placement]),
                values,
              ],
            ),
          ];
          const results = await send(findPool(placement), all);
          return results.slice(guards.length);
        } catch (error) {
          // The shard may have moved, and after a failover its worker has another address.
          placements.delete(buckets);
          if (!hasMoved(error) || tries === maxTries) throw error;
        }
      }
    },
    usage: () =>
      Object.fromEntries([...pools].map(([address, pool]) => [`worker ${address}`, pool.usage()])),
    async end() {
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    },
  };
}
