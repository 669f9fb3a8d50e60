// The shards of Citus, and work that is done shard by shard.
import { bucketCount } from '../../identifiers/bucket.ts';
import type { PreparedStatement } from '../hot-path/prepared-query.ts';
import type { Queries, ShardSource, Shards } from '../queries.ts';

const shardsText = `SELECT array_agg(b.bucket::integer) AS buckets FROM generate_series(0, $1 - 1) AS b(bucket)
  WHERE EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('transactions'))
  GROUP BY get_shard_id_for_distribution_column('transactions', b.bucket::smallint)`;

/** @returns undefined before the tables are distributed */
export async function readShards(queries: Pick<Queries, 'query'>): Promise<Shards | undefined> {
  const rows = await queries.query<{ buckets: number[] }>(shardsText, [bucketCount]);
  const groups = rows.map(({ buckets }) => buckets);
  const groupOf = new Map(groups.flatMap((group) => group.map((bucket) => [bucket, group])));
  if (groupOf.size === 0) return undefined;
  return {
    groups,
    of(bucket) {
      const group = groupOf.get(bucket);
      if (group === undefined) throw new RangeError(`${bucket} is not a bucket`);
      return group;
    },
  };
}

/**
 * The buckets of a shard for a statement; undefined on PostgreSQL.
 *
 * @example await trx.query(text, values, await shardOf(database, bucketOf(transactionId)));
 */
export const shardOf = async (
  queries: Queries,
  bucket: number,
): Promise<readonly number[] | undefined> => (await queries.shards())?.of(bucket);

/**
 * Runs a statement for rows of several buckets: once on PostgreSQL, once for each of their shards on Citus.
 *
 * @returns the rows of all calls
 */
export async function queryByShard<Row, Result>(
  queries: Queries,
  { rows, bucketOf }: { rows: readonly Row[]; bucketOf(row: Row): number },
  run: (rows: readonly Row[], buckets: readonly number[] | undefined) => Promise<Result[]>,
): Promise<Result[]> {
  const shards = await queries.shards();
  if (shards === undefined) return run(rows, undefined);
  const results: Result[] = [];
  for (const [buckets, ofShard] of Map.groupBy(rows, (row) => shards.of(bucketOf(row))))
    results.push(...(await run(ofShard, buckets)));
  return results;
}

/**
 * Calls a function for each shard with rows that wait for work, or once with undefined on PostgreSQL. A worker that is
 * down does not keep the others from their work.
 *
 * @param find selects the column `bucket` of a waiting row of a shard
 * @throws the first error, after all calls
 */
export async function forEachShard(
  database: ShardSource,
  [find, values]: readonly [PreparedStatement, values: readonly unknown[]],
  work: (buckets: readonly number[] | undefined) => Promise<void>,
): Promise<void> {
  const shards = await database.shards();
  if (shards === undefined) return work(undefined);
  const errors: unknown[] = [];
  const waiting = new Set<readonly number[]>();
  for (const result of await database.queryWorkers<{ bucket: number }>(find, values)) {
    if (result.status === 'rejected') errors.push(result.reason);
    else for (const { bucket } of result.value) waiting.add(shards.of(bucket));
  }
  for (const buckets of waiting) await work(buckets).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

type SearchableDatabase = ShardSource & {
  hot<Of extends object>(statement: PreparedStatement, values: readonly unknown[]): Promise<Of[]>;
};

/**
 * Finds rows of any shard: by one statement on PostgreSQL, and by one for each worker on Citus, where each shard has the
 * limit of the statement. Of a worker that is down no rows are found.
 *
 * @throws the error of a worker that is down, if the others have no rows
 */
export async function findInAllShards<Of extends object>(
  database: SearchableDatabase,
  statement: PreparedStatement,
  { values, limit }: { values: readonly unknown[]; limit: number },
): Promise<Of[]> {
  if ((await database.shards()) === undefined) return database.hot<Of>(statement, values);
  const results = await database.queryWorkers<Of>(statement, values);
  const rows = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  const lost = results.find(({ status }) => status === 'rejected');
  if (rows.length === 0 && lost?.status === 'rejected') throw lost.reason;
  return rows.slice(0, limit);
}
