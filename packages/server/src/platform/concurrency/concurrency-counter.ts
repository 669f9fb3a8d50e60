// Counts running work by key, for limits that reject work instead of letting it wait.

export type CounterLimits = {
  readonly perKey: number;
  /** Of all keys together. */
  readonly total: number;
};

export type ConcurrencyCounter = {
  /** Counts one more. The returned function ends it; a second call has no effect. */
  begin(key: string): () => void;
  /** The same, or the limit that is reached. */
  tryBegin(key: string): (() => void) | 'KeyLimit' | 'TotalLimit';
  count(key: string): number;
  total(): number;
  /** The keys that have at least this many running. */
  keysWith(minCount: number): string[];
};

/** @example const running = createRunningCounts({ perKey: 1000, total: 10_000 }); running.tryBegin(clientKeyOf(caller)); */
export function createConcurrencyCounter(limits: Partial<CounterLimits> = {}): ConcurrencyCounter {
  const { perKey = Number.POSITIVE_INFINITY, total = Number.POSITIVE_INFINITY } = limits;
  const counts = new Map<string, number>();
  let all = 0;
  const count = (key: string): number => counts.get(key) ?? 0;

  function begin(key: string): () => void {
    counts.set(key, count(key) + 1);
    all += 1;
    let isEnded = false;
    return () => {
      if (isEnded) return;
      isEnded = true;
      all -= 1;
      const remaining = count(key) - 1;
      if (remaining === 0) counts.delete(key);
      else counts.set(key, remaining);
    };
  }

  return {
    begin,
    tryBegin(key) {
      if (count(key) >= perKey) return 'KeyLimit';
      return all >= total ? 'TotalLimit' : begin(key);
    },
    count,
    total: () => all,
    keysWith: (minCount) => [...counts].filter(([, each]) => each >= minCount).map(([key]) => key),
  };
}
