// Something else happens to the database in the middle of a request: right before a statement that is named.
import type { Database } from '../../src/platform/index.ts';

type Statement = { readonly text: string; readonly values: readonly unknown[] };
export type Wanted = (statement: Statement) => boolean;

/** Keeps entities of this model. */
export const writes =
  (model: string): Wanted =>
  ({ text, values }) =>
    text.includes('INSERT INTO oidc_entities') && values.includes(model);

export type Interrupted = ReturnType<typeof interrupted>;

/** A database that does something before the first statement of a kind. */
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
