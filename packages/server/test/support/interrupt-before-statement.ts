// Runs an action in the middle of a request, immediately before a chosen SQL statement.
import type { Database } from '../../src/platform/index.ts';

type Statement = { readonly text: string; readonly values: readonly unknown[] };
export type Wanted = (statement: Statement) => boolean;

/** Matches the statement that stores an entity of this model. */
export const writes =
  (model: string): Wanted =>
  ({ text, values }) =>
    text.includes('INSERT INTO oidc_entities') && values.includes(model);

export type Interrupted = ReturnType<typeof interrupted>;

/** A database that runs an action before the first statement that matches. */
export function interrupted(database: Database) {
  let next: { readonly wanted: Wanted; act(): Promise<void> } | undefined;
  return {
    before(wanted: Wanted, act: () => Promise<void>): void {
      next = { wanted, act };
    },
    isDone: () => next === undefined,
    database: {
      ...database,
      async query<Of extends object>(text: string, values: readonly unknown[] = []) {
        if (next?.wanted({ text, values }) === true) {
          const { act } = next;
          next = undefined;
          await act();
        }
        return database.query<Of>(text, values);
      },
    } satisfies Database,
  };
}
