// Writes a line into the books, in one step with the mark that it stands there.
import { defined } from '@switchyard/contract';
import type { Inside } from '../context/service-context.ts';
import { type Entry, noted } from '../storage/reconciliation-totals.ts';
import type { Memory } from '../storage/terminal-store.ts';

/** After a restart what is marked is not counted once more. `besides`: what else stands in the same line. */
export function book({ keeper }: Inside, entry: Entry, besides: Partial<Memory> = {}): void {
  const { books, pending, operation } = keeper.read();
  keeper.keep({
    ...besides,
    books: noted(books, entry),
    ...defined({
      pending: pending === undefined ? undefined : { ...pending, isBooked: true as const },
      operation: operation === undefined ? undefined : { ...operation, isBooked: true as const },
    }),
  });
}
