// Runs constant statement texts as named prepared statements, and derives the names from the texts.
import { hash } from 'node:crypto';
import type { Database, Row } from '../database.ts';

const hashCharacters = 32;

/**
 * For a few constant statements that take longer to plan than to execute. PostgreSQL plans each
 * once per connection.
 *
 * @param namePrefix names the module in `pg_prepared_statements`
 * @example const run = createStatementRunner(database, 'catalog');
 */
export function createStatementRunner(
  database: Pick<Database, 'prepared'>,
  namePrefix: string,
): (text: string, values: readonly unknown[]) => Promise<Row[]> {
  const names = new Map<string, string>();
  return (text, values) => {
    const name =
      names.get(text) ?? `${namePrefix}_${hash('sha256', text, 'hex').slice(0, hashCharacters)}`;
    names.set(text, name);
    return database.prepared({ name, text }, values);
  };
}
