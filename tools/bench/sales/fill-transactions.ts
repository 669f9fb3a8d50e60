// Fills the tables with millions of finished sales, modelled on real ones of the bench's organisation.
import type { Database } from '../../../packages/server/src/platform/index.ts';
import { copyStatement, dropIndexes, modelTable, settleTables } from '../environment/copy-rows.ts';

/** Filled from the models of the same name; the replaced columns distinguish the rows. */
const tables = ['transactions', 'transaction_events', 'operations'] as const;
type Table = (typeof tables)[number];

const chunkRows = 250_000;
const modelsMax = 200;
const latestMax = 1000;
const latestTable = (table: Table): string => `bench_latest_${table}`;
const memoryForIndexes = '512MB';

/**
 * Identifiers in the order of time, as the platform makes them (UUID version 7), a millisecond apart;
 * the same number gives the same one, so that events and operations find their transaction. The last digits are the
 * bucket of the model's merchant.
 */
const transactionId = `(lpad(to_hex($3::bigint + i), 12, '0') || '70008' || substr(md5(i::text), 1, 12)
  || lpad(to_hex(m.bucket::int), 3, '0'))::uuid`;
const madeAt = `to_timestamp(($3::bigint + i) / 1000.0)`;

/** What differs from the model, by column; every other column is the model's. */
const replaced: Readonly<Record<Table, Readonly<Record<string, string>>>> = {
  transactions: {
    transaction_id: transactionId,
    client_transaction_id: 'gen_random_uuid()::text',
    created_at: madeAt,
    updated_at: madeAt,
    deadline: madeAt,
  },
  transaction_events: { transaction_id: transactionId, at: madeAt },
  operations: {
    transaction_id: transactionId,
    operation_id: 'gen_random_uuid()',
    client_operation_id:
      'CASE WHEN m.client_operation_id IS NULL THEN NULL ELSE gen_random_uuid()::text END',
    created_at: madeAt,
    updated_at: madeAt,
    deadline: madeAt,
  },
};

/** Copies finished sales with all that belongs to them, since the tables themselves are emptied. */
async function takeModels(query: Database['query'], organizationId: string): Promise<number> {
  await query(
    `CREATE TEMPORARY TABLE bench_chosen AS
      SELECT transaction_id, row_number() OVER () - 1 AS bench_number FROM (
        SELECT transaction_id FROM transactions
        WHERE organization_id = $1 AND phase = 'Approved'
        ORDER BY operation_count DESC, transaction_id LIMIT ${modelsMax}) AS chosen`,
    [organizationId],
  );
  for (const table of tables) {
    await query(
      `CREATE TEMPORARY TABLE ${modelTable(table)} AS SELECT bench_number, t.* FROM ${table} t
        JOIN bench_chosen USING (transaction_id)`,
    );
    await query(`CREATE INDEX ON ${modelTable(table)} (bench_number)`);
    await query(`ANALYZE ${modelTable(table)}`);
  }
  const [row] = await query('SELECT count(*)::int AS models FROM bench_chosen');
  return Number(row?.['models'] ?? 0);
}

/** The platform refuses new sales if the database lacks the last ones that it acknowledged. */
async function keepLatest(query: Database['query']): Promise<void> {
  await query(
    `CREATE TEMPORARY TABLE bench_latest AS
      SELECT transaction_id FROM transactions ORDER BY updated_at DESC LIMIT ${latestMax}`,
  );
  for (const table of tables)
    await query(
      `CREATE TEMPORARY TABLE ${latestTable(table)} AS
        SELECT t.* FROM ${table} t JOIN bench_latest USING (transaction_id)`,
    );
}

/**
 * Replaces all transactions, except the latest, by `rows` finished ones. The server must be idle during that time.
 *
 * @param onProgress called after each chunk with the number of rows
 */
export async function fillTransactions(
  database: Database,
  options: { organizationId: string; rows: number; onProgress(rows: number): void },
): Promise<void> {
  const { rows } = options;
  await database.session(async ({ query }) => {
    await query(`SET maintenance_work_mem = '${memoryForIndexes}'`);
    const models = await takeModels(query, options.organizationId);
    await keepLatest(query);
    if (models === 0) throw new Error('there is no finished sale to model the rows on');
    const [now] = await query('SELECT (extract(epoch FROM now()) * 1000)::bigint AS ms');
    const firstMs = Number(now?.['ms']) - rows - 1000;
    // What is written in the transaction that emptied a table stays out of the log (wal_level minimal).
    await query('BEGIN');
    const remake: string[] = [];
    for (const table of tables) {
      await query(`TRUNCATE ${table}`);
      remake.push(...(await dropIndexes(query, table)));
    }
    const inserts: string[] = [];
    for (const table of tables) {
      const from = `generate_series($1::bigint, $2::bigint) AS i
        JOIN ${modelTable(table)} m ON m.bench_number = i % ${models}`;
      inserts.push(await copyStatement(query, table, replaced[table], from));
      await query(await copyStatement(query, table, {}, `${latestTable(table)} m`));
    }
    for (let from = 1; from <= rows; from += chunkRows) {
      const to = Math.min(rows, from + chunkRows - 1);
      for (const insert of inserts) await query(insert, [from, to, firstMs]);
      options.onProgress(to);
    }
    for (const statement of remake) await query(statement);
    await query('COMMIT');
    await settleTables(query, tables);
    // After so many sales the indexes would be in memory; filling the tables in bulk does not load them.
    await query('CREATE EXTENSION IF NOT EXISTS pg_prewarm');
    await query(
      `SELECT sum(pg_prewarm(indexrelid, 'read')) FROM pg_index
        WHERE indrelid = ANY ($1::regclass[])`,
      [tables],
    );
  });
}
