// What runs in this process: whoever wants the same meanwhile waits for it, and rivals come one by one.
import { createInFlightMap } from './in-flight-map.ts';

export type KeyedTasks<Result> = {
  /**
   * Runs work under a key; whoever asks for the key meanwhile waits for the same answer. What runs under it
   * already goes on beside.
   */
  run(key: string, work: () => Promise<Result>): Promise<Result>;
  /** Of several the one that has run for longest. */
  find(key: string): Promise<Result> | undefined;
  /** One after another for the same key, so that rivals for one thing do not spin. */
  runExclusive<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Once nothing runs any more of what runs now. */
  waitForIdle(): Promise<void>;
};

const ignoreResult = (): void => {};

/** @example const works = createWorks<LoadedTransaction>(); */
export function createKeyedTasks<Result>(): KeyedTasks<Result> {
  const runningTasks = createInFlightMap<readonly Promise<Result>[]>();
  const exclusiveTasks = createInFlightMap<Promise<unknown>>();

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
