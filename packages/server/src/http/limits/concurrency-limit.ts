// Lets so many pieces of work run at once and no more; the others wait in the order in which they came.

export type RunLimited = <T>(work: () => Promise<T>) => Promise<T>;

/** @example const inTurn = createAtMost(16); await inTurn(() => read(after)); */
export function createConcurrencyLimit(maxConcurrent: number): RunLimited {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < maxConcurrent) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Whoever is next takes over the place.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
