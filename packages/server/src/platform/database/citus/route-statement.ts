// Statements that Citus sends to one shard.
import type { PreparedStatement } from '../hot-path/prepared-query.ts';
import type { Queries } from '../queries.ts';

const shardCondition = /\/\* one shard: (\w+) \*\//g;
/** By the text of the statement. */
const routedTexts = new Map<string, string>();

/** The text is always the same for a statement and has always as many parameters, so the result is kept. */
function withShardConditions(text: string, parameter: number): string {
  const earlier = routedTexts.get(text);
  if (earlier !== undefined) return earlier;
  const routed = text.replace(
    shardCondition,
    (_, alias: string) => `AND ${alias}.bucket = ANY ($${parameter}::smallint[])`,
  );
  routedTexts.set(text, routed);
  return routed;
}

/**
 * Citus sends a statement to one shard if constants name the buckets of each table in it. A comment says where: in
 * `WHERE t.bucket = r.bucket /* one shard: t *\/` it becomes a condition on `t`, with the buckets as the last
 * parameter. PostgreSQL needs no such condition.
 */
export function routeToShard(
  text: string,
  values: readonly unknown[],
  buckets: readonly number[] | undefined,
): { text: string; values: unknown[] } {
  if (buckets === undefined) return { text, values: [...values] };
  const routed = withShardConditions(text, values.length + 1);
  return { text: routed, values: routed === text ? [...values] : [...values, buckets] };
}

/** The statement itself on PostgreSQL; on Citus its parts, if it has some. */
const partsOf = (
  { text, inShard }: PreparedStatement,
  buckets: readonly number[] | undefined,
): readonly string[] => (buckets === undefined || inShard === undefined ? [text] : inShard);

/** Runs a statement, or its parts on Citus, in a transaction and without preparing it. */
export async function runInTransaction<Of extends object>(
  trx: Queries,
  statement: PreparedStatement,
  values: readonly unknown[],
  buckets: readonly number[] | undefined,
): Promise<Of[]> {
  let rows: Of[] = [];
  for (const part of partsOf(statement, buckets)) rows = await trx.query<Of>(part, values, buckets);
  return rows;
}
