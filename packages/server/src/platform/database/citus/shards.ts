// The shards of Citus, and work that is done shard by shard.
import { bucketCount } from '../../identifiers/bucket.ts';
import { isWorkerLost } from '../database-errors.ts';
import type { Queries, Shards } from '../queries.ts';

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
 * Calls a function for each shard with rows that wait for work, or once with undefined on PostgreSQL. A shard whose
 * server is down does not keep the others from their work.
 *
 * @param findText selects the column `bucket` of the waiting rows
 * @throws the first error, after all calls
 */
export async function forEachShard(
  queries: Queries,
  [findText, values]: readonly [text: string, values: readonly unknown[]],
  work: (buckets: readonly number[] | undefined) => Promise<void>,
): Promise<void> {
  const shards = await queries.shards();
  if (shards === undefined) return work(undefined);
  const errors: unknown[] = [];
  for (const buckets of await findGroups(queries, shards, [findText, values]))
    await work(buckets).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

/** The shards with waiting rows; all shards while a worker is down, because the search needs all workers. */
async function findGroups(
  queries: Queries,
  shards: Shards,
  [findText, values]: readonly [text: string, values: readonly unknown[]],
): Promise<Iterable<readonly number[]>> {
  try {
    const rows = await queries.query<{ bucket: number }>(findText, values);
    return new Set(rows.map(({ bucket }) => shards.of(bucket)));
  } catch (error) {
    if (isWorkerLost(error)) return shards.groups;
    throw error;
  }
}
