// Transactions in progress in this process. Duplicates wait for the result; readers wait for the next change.
import { createWorks, pause, type Works } from '../../platform/index.ts';
import type { TransactionRecord } from '../transaction/transaction.ts';

/** The result is undefined when another request has stored the same sale. */
export type InFlightTransactions = Works<TransactionRecord | undefined> & {
  notifyChange(transactionId: string): void;
  /** Ends at the next change of the transaction, or after the time. */
  waitForChange(transactionId: string, timeoutMs: number): Promise<void>;
  /**
   * Takes a place among the readers that wait; undefined where there is none, for the client or in
   * all, or once a stop has begun: it is told at once how things stand. The place is left by
   * calling what it gives.
   */
  acquireWaitSlot(client: string): (() => void) | undefined;
  /** Releases all waiting readers and admits no new ones. */
  stop(): void;
  isStopping(): boolean;
};

const maxChangeListeners = 10_000;
/** Limit of waiting readers; each one holds a connection. */
export const maxWaitingReaders = 5000;
export const maxWaitingReadersPerClient = 200;

/** @example const running = createRunning(); */
export function createInFlightTransactions(): InFlightTransactions {
  const keyedTasks = createWorks<TransactionRecord | undefined>();
  const listenersByTransaction = new Map<string, Set<() => void>>();
  const waitingByClient = new Map<string, number>();
  let listenerCount = 0;
  let waitingTotal = 0;
  let isStopping = false;

  return {
    ...keyedTasks,
    notifyChange(transactionId) {
      for (const wake of listenersByTransaction.get(transactionId) ?? []) wake();
    },
    waitForChange(transactionId, timeoutMs) {
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
    acquireWaitSlot(client) {
      const waitingCount = waitingByClient.get(client) ?? 0;
      const isFull =
        waitingCount >= maxWaitingReadersPerClient || waitingTotal >= maxWaitingReaders;
      if (isStopping || isFull) return undefined;
      waitingByClient.set(client, waitingCount + 1);
      waitingTotal += 1;
      return () => {
        waitingTotal -= 1;
        const remainingCount = (waitingByClient.get(client) ?? 1) - 1;
        if (remainingCount === 0) waitingByClient.delete(client);
        else waitingByClient.set(client, remainingCount);
      };
    },
    stop() {
      isStopping = true;
      for (const set of [...listenersByTransaction.values()]) for (const wake of [...set]) wake();
    },
    isStopping: () => isStopping,
  };
}
