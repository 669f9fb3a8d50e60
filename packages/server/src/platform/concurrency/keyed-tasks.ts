// Runs tasks by key: one after another, or at the same time with a result that several callers can wait for.
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.ts';
import { createMemoryReleasingMap } from './memory-releasing-map.ts';

export type KeyedQueue = {
  /** Runs work of the same key in the order of the calls. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result>;
  /** Enters the queue of the key and waits for a slot. The returned function releases it, once. */
  acquire(key: string): Promise<() => void>;
  keys(): string[];
};

/** @example const queue = createKeyedQueue(); await queue.run(transactionId, () => capture(transactionId)); */
export function createKeyedQueue(maxConcurrentPerKey = 1): KeyedQueue {
  const limits = createMemoryReleasingMap<ConcurrencyLimit>();

  async function acquire(key: string): Promise<() => void> {
    const limit = limits.get(key) ?? createConcurrencyLimit({ maxConcurrent: maxConcurrentPerKey });
    limits.set(key, limit);
    const release = await limit.acquire();
    return () => {
      release();
      if (limit.isIdle() && limits.get(key) === limit) limits.delete(key);
    };
  }

  return {
    acquire,
    async run(key, work) {
      const release = await acquire(key);
      try {
        return await work();
      } finally {
        release();
      }
    },
    keys: () => limits.entries().map(([key]) => key),
  };
}

export type KeyedTasks<Result> = {
  /** Runs a task under a key. Other tasks of the same key may run at the same time. */
  run(key: string, work: () => Promise<Result>): Promise<Result>;
  /** The oldest running task of the key. */
  find(key: string): Promise<Result> | undefined;
  /**
   * Runs tasks of the same key one after another, so that concurrent changes of one record do not
   * conflict again and again.
   */
  runExclusive<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Resolves once every task that runs now has ended. */
  waitForIdle(): Promise<void>;
};

/** @example const tasks = createKeyedTasks<TransactionRecord>(); */
export function createKeyedTasks<Result>(): KeyedTasks<Result> {
  const runningTasks = createMemoryReleasingMap<readonly Promise<Result>[]>();
  const exclusiveQueue = createKeyedQueue();

  function removeTask(key: string, task: Promise<Result>): void {
    const otherTasks = runningTasks.get(key)?.filter((other) => other !== task) ?? [];
    if (otherTasks.length === 0) runningTasks.delete(key);
    else runningTasks.set(key, otherTasks);
  }

  return {
    run(key, work) {
      const task: Promise<Result> = work().finally(() => removeTask(key, task));
      runningTasks.set(key, [...(runningTasks.get(key) ?? []), task]);
      return task;
    },
    find: (key) => runningTasks.get(key)?.[0],
    runExclusive: exclusiveQueue.run,
    async waitForIdle() {
      const running = runningTasks.entries().flatMap(([, together]) => together);
      // The end of each queue: all earlier tasks have ended when it is reached.
      const exclusive = exclusiveQueue.keys().map((key) => exclusiveQueue.run(key, async () => {}));
      await Promise.allSettled([...running, ...exclusive]);
    },
  };
}
