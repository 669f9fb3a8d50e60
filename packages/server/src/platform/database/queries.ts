// How modules run statements, and where the rows of a bucket are on Citus.
import type { PreparedStatement } from './hot-path/prepared-query.ts';

export type Row = Record<string, unknown>;

/**
 * The buckets of each shard of Citus. A shard can move to another server while the platform runs; it cannot be split,
 * because its buckets are read once.
 */
export type Shards = {
  readonly groups: readonly (readonly number[])[];
  /** The buckets that are in the same shard as this one. */
  of(bucket: number): readonly number[];
};

export type ShardSource = {
  /** On Citus, after the migration. Undefined on PostgreSQL. */
  shards(): Promise<Shards | undefined>;
  /** The result of an earlier call of {@link shards}; null if there was none. */
  loadedShards(): Shards | undefined | null;
  /**
   * On Citus: runs a query at each worker on all its shards together.
   *
   * @returns the rows of each worker, or its error, and the errors of shards without a worker
   */
  queryWorkers<Of extends object = Row>(
    statement: PreparedStatement,
    values: readonly unknown[],
  ): Promise<PromiseSettledResult<Of[]>[]>;
};

/**
 * Runs statements: on the general pool of a database, in a transaction or on one connection. The
 * caller asserts the type of the rows: int8 as number, timestamptz as Date, numeric as string, jsonb
 * parsed, bytea as Buffer.
 */
export type Queries = Pick<ShardSource, 'shards'> & {
  /**
   * A statement with a name is prepared, for statements that take longer to plan than to execute. A
   * name always belongs to the same text.
   *
   * @param buckets on Citus: the buckets of the one shard that has all rows of the statement
   */
  query<Of extends object = Row>(
    statement: string | PreparedStatement,
    values?: readonly unknown[],
    buckets?: readonly number[],
  ): Promise<Of[]>;
};
