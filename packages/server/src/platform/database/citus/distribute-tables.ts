// Distributes the tables of payments over the workers of Citus.
import type { Log } from '../../observability/log.ts';
import type { Queries } from '../queries.ts';

/** Tables with a bucket that are not distributed yet; `transactions` first, because the others follow its shards. */
const undistributedText = `SELECT c.relname AS name FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'bucket' AND NOT a.attisdropped
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
    AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid)
  ORDER BY c.relname <> 'transactions', c.relname`;

/**
 * Citus commits at a worker before it commits at the coordinator, unless it knows that a transaction changes both. It
 * does not know the tables of the coordinator, except this one, which is always empty.
 */
const createCommitTableTexts = [
  'CREATE TABLE IF NOT EXISTS two_phase_commits (id integer)',
  `SELECT citus_add_local_table_to_metadata('two_phase_commits')
    WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'two_phase_commits'::regclass)`,
];

/** The last statement of a transaction: Citus then commits it in two phases if it has changed a worker. */
export const commitInTwoPhases = `DO $$ BEGIN
  IF current_setting('transaction_read_only') = 'off' THEN DELETE FROM two_phase_commits; END IF;
END $$`;

/** Else a statement over many shards may open up to 16 connections to each worker, and closes all but one of them. */
const limitConnectionsText = `DO $$ BEGIN
  EXECUTE format('ALTER DATABASE %I SET citus.max_adaptive_executor_pool_size = 1', current_database());
END $$`;

/**
 * Buckets stay together: each table with a bucket has its shards where `transactions` has them. All other tables stay
 * on the coordinator.
 */
export async function distributeTables(queries: Queries, log: Log): Promise<void> {
  const tables = await queries.query<{ name: string }>(undistributedText);
  for (const { name } of tables) {
    const colocation = name === 'transactions' ? '' : `, colocate_with => 'transactions'`;
    await queries.query(`SELECT create_distributed_table('${name}', 'bucket'${colocation})`);
  }
  for (const text of [...createCommitTableTexts, limitConnectionsText]) await queries.query(text);
  if (tables.length > 0) log.info({ tables: tables.length }, 'tables distributed by bucket');
}
