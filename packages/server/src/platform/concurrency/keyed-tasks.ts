// Tracks running tasks by key, and runs tasks of the same key one after another if asked to.
import { createMemoryReleasingMap } from './memory-releasing-map.ts';

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

const ignoreResult = (): void => {};

/** @example const tasks = createKeyedTasks<TransactionRecord>(); */
export function createKeyedTasks<Result>(): KeyedTasks<Result> {
  const runningTasks = createMemoryReleasingMap<readonly Promise<Result>[]>();
  const exclusiveTasks = createMemoryReleasingMap<Promise<unknown>>();

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
    runExclusive(key, work) {
      const previous = exclusiveTasks.get(key) ?? Promise.resolve();
      const task = previous.then(work, work);
      const settled = task.then(ignoreResult, ignoreResult);
      exclusiveTasks.set(key, settled);
      void settled.then(() => {
        if (exclusiveTasks.get(key) === settled) exclusiveTasks.delete(key);
      });
      return task;
    },
    async waitForIdle() {
      const running = runningTasks.entries().flatMap(([, together]) => together);
      const waiting = exclusiveTasks.entries().map(([, last]) => last);
      await Promise.allSettled([...running, ...waiting]);
    },
  };
}
