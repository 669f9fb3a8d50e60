// Writes a line into the books, in one step with the mark that it stands there.
import { defined } from '@switchyard/contract';
import type { ServiceContext } from '../context/service-context.ts';
import { addToTotals, type TotalsEntry } from '../storage/reconciliation-totals.ts';
import type { TerminalState } from '../storage/terminal-store.ts';

/** After a restart what is marked is not counted once more. `besides`: what else stands in the same line. */
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
