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
 * Buckets stay together: each table with a bucket has its shards where `transactions` has them. All other tables stay
 * on the coordinator.
 */
export async function distributeTables(queries: Queries, log: Log): Promise<void> {
  const tables = await queries.query<{ name: string }>(undistributedText);
  for (const { name } of tables) {
    const colocation = name === 'transactions' ? '' : `, colocate_with => 'transactions'`;
    await queries.query(`SELECT create_distributed_table('${name}', 'bucket'${colocation})`);
  }
  if (tables.length > 0) log.info({ tables: tables.length }, 'tables distributed by bucket');
}
