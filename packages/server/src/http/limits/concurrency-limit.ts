// Limits how many tasks run at the same time; further tasks wait in the order of their arrival.

export type RunLimited = <T>(work: () => Promise<T>) => Promise<T>;

/** @example const runLimited = createConcurrencyLimit(16); await runLimited(() => read(after)); */
export function createConcurrencyLimit(maxConcurrent: number): RunLimited {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < maxConcurrent) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next task takes over the slot, so `running` does not change.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
