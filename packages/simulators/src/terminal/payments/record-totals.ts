// Adds a transaction to the totals and marks it as counted, in one stored line.
import { defined } from '@switchyard/contract';
import type { ServiceContext } from '../context/service-context.ts';
import { addToTotals, type TotalsEntry } from '../storage/reconciliation-totals.ts';
import type { TerminalState } from '../storage/terminal-store.ts';

/** A marked transaction is not counted again after a restart. `otherChanges` go into the same line. */
export function recordTotals(
  { store }: ServiceContext,
  entry: TotalsEntry,
  otherChanges: Partial<TerminalState> = {},
): void {
  const { books, pending, operation } = store.read();
  store.update({
    ...otherChanges,
    books: addToTotals(books, entry),
    ...defined({
      pending: pending === undefined ? undefined : { ...pending, isBooked: true as const },
      operation: operation === undefined ? undefined : { ...operation, isBooked: true as const },
    }),
  });
}
