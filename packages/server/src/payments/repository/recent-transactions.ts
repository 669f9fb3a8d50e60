// Sales as they were made durable a moment ago, for those of the same process who tell of them behind the commit.
import { createInFlight } from '../../platform/index.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';

/** What reading a sale again costs, its memory is worth for some seconds of them. */
const standardMost = 4096;

export type RecentSales = {
  /** It is committed as it stands here. */
  note(loaded: LoadedTransaction): void;
  /** With so many of its events at least; whoever finds nothing reads it. */
  find(
    organizationId: string,
    transactionId: string,
    events: number,
  ): LoadedTransaction | undefined;
  /** By the last one who asks for it. */
  forget(transactionId: string): void;
};

/** @example const recent = createRecentSales(); recent.note(loaded); */
export function createRecentSales(most = standardMost): RecentSales {
  const known = createInFlight<LoadedTransaction>();
  return {
    note(loaded) {
      const { transactionId, version } = loaded.row;
      known.delete(transactionId);
      if (loaded.events.length !== version) return;
      known.set(transactionId, loaded);
      const oldest = known.size() > most ? known.oldest() : undefined;
      if (oldest !== undefined) known.delete(oldest);
    },
    find(organizationId, transactionId, events) {
      const loaded = known.get(transactionId);
      const isIt = loaded?.row.organizationId === organizationId && loaded.row.version >= events;
      return isIt ? loaded : undefined;
    },
    forget: known.delete,
  };
}
