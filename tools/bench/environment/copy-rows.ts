// Copies rows by SQL: thousands of objects that equal one that the platform created itself.
import type { Database } from '../../../packages/server/src/platform/index.ts';

async function columnsOf(query: Database['query'], table: string): Promise<string[]> {
  const rows = await query(
    `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()
       AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position`,
    [table],
  );
  return rows.map((row) => String(row['column_name']));
}

/**
 * A statement that inserts copies of the rows `m` of `from`.
 *
 * @param replaced the expressions of the columns that differ from the model
 */
export async function copyStatement(
  query: Database['query'],
  table: string,
  replaced: Readonly<Record<string, string>>,
  from: string,
): Promise<string> {
  const columns = await columnsOf(query, table);
  const values = columns.map((column) => replaced[column] ?? `m.${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM ${from}`;
}

export const modelTable = (table: string): string => `bench_model_${table}`;

/** Keeps one row of a table as the model of its copies. */
export async function createModel(
  query: Database['query'],
  table: string,
  condition: string,
  values: readonly unknown[],
): Promise<void> {
  const model = modelTable(table);
  await query(
    `CREATE TEMPORARY TABLE ${model} AS SELECT * FROM ${table} WHERE ${condition} LIMIT 1`,
    values,
  );
  const rows = await query(`SELECT 1 FROM ${model}`);
  if (rows.length === 0) throw new Error(`${table} has no row to copy`);
}

type NamedDefinition = { name: string; definition: string };

/** Keys and indexes are rebuilt over the whole table, which costs far less than row by row. */
export async function dropIndexes(query: Database['query'], table: string): Promise<string[]> {
  const constraints = (await query(
    `SELECT conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
      WHERE conrelid = $1::regclass AND contype IN ('p', 'u')`,
    [table],
  )) as NamedDefinition[];
  for (const { name } of constraints) await query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  const indexes = (await query(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
      FROM pg_index WHERE indrelid = $1::regclass`,
    [table],
  )) as NamedDefinition[];
  for (const { name } of indexes) await query(`DROP INDEX ${name}`);
  return [
    ...constraints.map(
      ({ name, definition }) => `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition}`,
    ),
    ...indexes.map(({ definition }) => definition),
  ];
}

/** After many inserts in bulk: statistics, and nothing left to write. */
export async function settleTables(
  query: Database['query'],
  tables: readonly string[],
): Promise<void> {
  for (const table of tables) await query(`VACUUM (ANALYZE) ${table}`);
  await query('CHECKPOINT');
}
