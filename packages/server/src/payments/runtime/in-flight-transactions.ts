// Transactions in progress in this process. Duplicates wait for the result; readers wait for the next change.
import { createConcurrencyCounter, createKeyedTasks, pause } from '../../platform/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';

const maxChangeListeners = 10_000;
/** Limit of waiting readers; each one holds a connection. */
export const maxWaitingReaders = 5000;
export const maxWaitingReadersPerClient = 200;

/** @example const inFlightTransactions = createInFlightTransactions(); */
export function createInFlightTransactions() {
  // The result is undefined when another request has stored the same sale.
  const keyedTasks = createKeyedTasks<TransactionRecord | undefined>();
  const listenersByTransaction = new Map<string, Set<() => void>>();
  const waitingReaders = createConcurrencyCounter({
    perKey: maxWaitingReadersPerClient,
    total: maxWaitingReaders,
  });
  let listenerCount = 0;
  let isStopping = false;

  return {
    ...keyedTasks,
    notifyChange(transactionId: string): void {
      for (const wake of listenersByTransaction.get(transactionId) ?? []) wake();
    },
    /** Resolves at the next change of the transaction or after the timeout. */
    waitForChange(transactionId: string, timeoutMs: number): Promise<void> {
      // The pause prevents a busy loop of the caller.
      if (listenerCount >= maxChangeListeners) return pause(timeoutMs);
      listenerCount += 1;
      return new Promise((resolve) => {
        const listeners = listenersByTransaction.get(transactionId) ?? new Set();
        listenersByTransaction.set(transactionId, listeners);
        const wake = () => {
          clearTimeout(timer);
          listeners.delete(wake);
          if (listeners.size === 0) listenersByTransaction.delete(transactionId);
          listenerCount -= 1;
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        listeners.add(wake);
      });
    },
    /** The returned function releases the slot. Undefined if a limit is reached or a stop has begun. */
    acquireWaitSlot(client: string): (() => void) | undefined {
      const release = isStopping ? undefined : waitingReaders.tryBegin(client);
      return typeof release === 'function' ? release : undefined;
    },
    /** Releases all waiting readers and admits no new ones. */
    stop(): void {
      isStopping = true;
      for (const set of [...listenersByTransaction.values()]) for (const wake of [...set]) wake();
    },
    isStopping: (): boolean => isStopping,
  };
}

export type InFlightTransactions = ReturnType<typeof createInFlightTransactions>;
