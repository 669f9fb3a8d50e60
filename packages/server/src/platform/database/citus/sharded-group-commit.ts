// Group commits by shard.

import type { Span } from '../../tracing/span.ts';
import {
  createGroupCommit,
  type GroupCommit,
  type GroupCommitOptions,
} from '../hot-path/group-commit.ts';
import type { ShardSource } from '../queries.ts';

type ShardedOptions<Row, Result> = Omit<GroupCommitOptions<Row, Result>, 'run'> & {
  readonly database: ShardSource;
  bucketOf(row: Row): number;
  /** @param buckets those of the shard; undefined on PostgreSQL, where rows of all buckets are committed together */
  run(rows: Row[], buckets: readonly number[] | undefined): Promise<Result[]>;
};

/**
 * On Citus, one group commit for each shard: a statement reaches one server, and a server that is down delays only its
 * own merchants.
 */
export function createShardedGroupCommit<Row, Result>(
  options: ShardedOptions<Row, Result>,
): GroupCommit<Row, Result> {
  const { database, bucketOf, run } = options;
  const whole = createGroupCommit<Row, Result>({ ...options, run: (rows) => run(rows, undefined) });
  const byShard = new Map<readonly number[], GroupCommit<Row, Result>>();

  function commitOf(buckets: readonly number[]): GroupCommit<Row, Result> {
    let commit = byShard.get(buckets);
    if (commit === undefined) {
      commit = createGroupCommit({ ...options, run: (rows) => run(rows, buckets) });
      byShard.set(buckets, commit);
    }
    return commit;
  }

  async function findShardsAndSubmit(row: Row, span: Span | undefined): Promise<Result> {
    await database.shards();
    return submit(row, span);
  }

  function submit(row: Row, span?: Span): Promise<Result> {
    const shards = database.loadedShards();
    if (shards === undefined) return whole.submit(row, span);
    return shards === null
      ? findShardsAndSubmit(row, span)
      : commitOf(shards.of(bucketOf(row))).submit(row, span);
  }

  return {
    submit,
    async drain() {
      await Promise.all([whole, ...byShard.values()].map((commit) => commit.drain()));
    },
    waiting() {
      let rows = whole.waiting();
      for (const commit of byShard.values()) rows += commit.waiting();
      return rows;
    },
  };
}
