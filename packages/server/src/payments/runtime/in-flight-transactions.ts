// Knows what runs in this process: duplicates wait for it, and readers wait for the next change.
import { createWorks, pause, type Works } from '../../platform/index.ts';
import type { LoadedTransaction } from '../transaction/transaction.ts';

/** A work that found its sale begun by another one ends with nothing. */
export type Running = Works<LoadedTransaction | undefined> & {
  changed(transactionId: string): void;
  /** Ends at the next change of the transaction, or after the time. */
  nextChange(transactionId: string, timeoutMs: number): Promise<void>;
  /**
   * Takes a place among the readers that wait; undefined where there is none, for the client or in
   * all, or once a stop has begun: it is told at once how things stand. The place is left by
   * calling what it gives.
   */
  park(client: string): (() => void) | undefined;
  /** Wakes the readers that wait, and lets none wait any more. */
  stop(): void;
  isStopping(): boolean;
};

const watchersMax = 10_000;
/** Readers that wait at once; each holds a connection. */
export const parkedMax = 5000;
export const parkedPerClientMax = 200;

/** @example const running = createRunning(); */
export function createRunning(): Running {
  const works = createWorks<LoadedTransaction | undefined>();
  const watchers = new Map<string, Set<() => void>>();
  const parked = new Map<string, number>();
  let watching = 0;
  let parkedInAll = 0;
  let isStopping = false;

  return {
    ...works,
    changed(transactionId) {
      for (const wake of watchers.get(transactionId) ?? []) wake();
    },
    nextChange(transactionId, timeoutMs) {
      // Whoever asks in a loop must not spin.
      if (watching >= watchersMax) return pause(timeoutMs);
      watching += 1;
      return new Promise((resolve) => {
        const set = watchers.get(transactionId) ?? new Set();
        watchers.set(transactionId, set);
        const wake = () => {
          clearTimeout(timer);
          set.delete(wake);
          if (set.size === 0) watchers.delete(transactionId);
          watching -= 1;
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        set.add(wake);
      });
    },
    park(client) {
      const before = parked.get(client) ?? 0;
      const isFull = before >= parkedPerClientMax || parkedInAll >= parkedMax;
      if (isStopping || isFull) return undefined;
      parked.set(client, before + 1);
      parkedInAll += 1;
      return () => {
        parkedInAll -= 1;
        const left = (parked.get(client) ?? 1) - 1;
        if (left === 0) parked.delete(client);
        else parked.set(client, left);
      };
    },
    stop() {
      isStopping = true;
      for (const set of [...watchers.values()]) for (const wake of [...set]) wake();
    },
    isStopping: () => isStopping,
  };
}
