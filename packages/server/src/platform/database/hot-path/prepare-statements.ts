// Sends statements whose texts never change as prepared ones, without a name for each at every call.
import { hash } from 'node:crypto';
import type { Database, Row } from '../database.ts';

const hashCharacters = 32;

/**
 * For few and constant texts: what is costlier to plan than to do is planned once a connection.
 *
 * @param namePrefix goes before the names, so that they tell whose statements they are
 * @example const run = createPreparedRun(database, 'catalog');
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
