// Cache of recently committed transactions, read by the event publisher of the same process.
import { createInFlight } from '../../platform/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';

/** Enough entries for some seconds of sales; each saves one read from the database. */
const defaultMaxEntries = 4096;

export type RecentTransactions = {
  /** Adds a committed transaction. */
  add(transaction: TransactionRecord): void;
  /** Finds a transaction with at least this number of events. */
  find(
    organizationId: string,
    transactionId: string,
    minEventCount: number,
  ): TransactionRecord | undefined;
  /** Removes a transaction that is no longer needed. */
  remove(transactionId: string): void;
};

/** @example const recent = createRecentTransactions(); recent.add(transaction); */
export function createRecentTransactions(maxEntries = defaultMaxEntries): RecentTransactions {
  const entries = createInFlight<TransactionRecord>();
  return {
    add(transaction) {
      const { transactionId, version } = transaction.row;
      entries.delete(transactionId);
      if (transaction.events.length !== version) return;
      entries.set(transactionId, transaction);
      const oldest = entries.size() > maxEntries ? entries.oldest() : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    find(organizationId, transactionId, minEventCount) {
      const transaction = entries.get(transactionId);
      const isUsable =
        transaction?.row.organizationId === organizationId &&
        transaction.row.version >= minEventCount;
      return isUsable ? transaction : undefined;
    },
    remove: entries.delete,
  };
}
