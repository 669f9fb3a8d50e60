// Knows what runs in this process: duplicates wait for it, and readers wait for the next change.
import type { LoadedTransaction } from './model.ts';

export type Running = {
  /** Runs work under a key; whoever asks for the key meanwhile waits for the same answer. */
  run(key: string, work: () => Promise<LoadedTransaction>): Promise<LoadedTransaction>;
  find(key: string): Promise<LoadedTransaction> | undefined;
  /** One after another for the same key, so that rivals for one transaction do not spin. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T>;
  changed(transactionId: string): void;
  /** Ends at the next change of the transaction, or after the time. */
  nextChange(transactionId: string, timeoutMs: number): Promise<void>;
  idle(): Promise<void>;
};

const watchersMax = 10_000;

/** @example const running = createRunning(); */
export function createRunning(): Running {
  const works = new Map<string, Promise<LoadedTransaction>>();
  const turns = new Map<string, Promise<unknown>>();
  const watchers = new Map<string, Set<() => void>>();
  let watching = 0;

  return {
    run(key, work) {
      const promise = work().finally(() => works.delete(key));
      works.set(key, promise);
      return promise;
    },
    find: (key) => works.get(key),
    inTurn(key, work) {
      const before = turns.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      const settled = mine.then(
        () => undefined,
        () => undefined,
      );
      turns.set(key, settled);
      void settled.then(() => {
        if (turns.get(key) === settled) turns.delete(key);
      });
      return mine;
    },
    changed(transactionId) {
      for (const wake of watchers.get(transactionId) ?? []) wake();
    },
    nextChange(transactionId, timeoutMs) {
      if (watching >= watchersMax) return Promise.resolve();
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
    async idle() {
      await Promise.allSettled([...works.values(), ...turns.values()]);
    },
  };
}
