// Writes a line into the books, in one step with the mark that it stands there.
import { type Entry, noted } from './books.ts';
import type { Inside } from './work.ts';

/** After a restart what is marked is not counted once more. */
export function book({ keeper }: Inside, entry: Entry): void {
  const { books, pending, operation } = keeper.read();
  keeper.keep({
    books: noted(books, entry),
    ...(pending === undefined ? {} : { pending: { ...pending, isBooked: true } }),
    ...(operation === undefined ? {} : { operation: { ...operation, isBooked: true } }),
  });
}
