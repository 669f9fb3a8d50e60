// Runs an action in the middle of a request, immediately before a chosen SQL statement.
import type { Database } from '../../src/platform/index.ts';

type Statement = { readonly text: string; readonly values: readonly unknown[] };
export type StatementFilter = (statement: Statement) => boolean;

/** Matches the statement that stores an entity of this model. */
export const matchOidcEntityInsert =
  (model: string): StatementFilter =>
  ({ text, values }) =>
    text.includes('INSERT INTO oidc_entities') && values.includes(model);

export type InterruptibleDatabase = ReturnType<typeof createInterruptibleDatabase>;

/** A database that runs an action before the first statement that matches. */
export function createInterruptibleDatabase(database: Database) {
  let pending: { readonly filter: StatementFilter; act(): Promise<void> } | undefined;
  return {
    before(filter: StatementFilter, action: () => Promise<void>): void {
      pending = { filter: filter, act: action };
    },
    isDone: () => pending === undefined,
    database: {
      ...database,
      async query<Of extends object>(text: string, values: readonly unknown[] = []) {
        if (pending?.filter({ text, values }) === true) {
          const { act } = pending;
          pending = undefined;
          await act();
        }
        return database.query<Of>(text, values);
      },
    } satisfies Database,
  };
}
