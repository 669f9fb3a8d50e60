// Prepares constant statement texts, and derives their names from the texts.
import { hash } from 'node:crypto';
import type { Queries } from '../database.ts';

const hashCharacters = 32;

/**
 * For a few constant statements that take longer to plan than to execute. PostgreSQL plans each
 * once per connection.
 *
 * @param namePrefix names the module in `pg_prepared_statements`
 * @example const queries = createPreparedQueries(database, 'catalog');
 */
export function createPreparedQueries(database: Queries, namePrefix: string): Queries {
  const names = new Map<string, string>();
  return {
    ...database,
    query(statement, ...parameters) {
      if (typeof statement !== 'string') return database.query(statement, ...parameters);
      const name =
        names.get(statement) ??
        `${namePrefix}_${hash('sha256', statement, 'hex').slice(0, hashCharacters)}`;
      names.set(statement, name);
      return database.query({ name, text: statement }, ...parameters);
    },
  };
}
