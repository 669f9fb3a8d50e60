// Limits the operations in progress in this process, for each key and in total.

export type ConcurrencyLimit = {
  /** @returns a function that ends the operation, or the limit that is reached */
  acquire(key: string): (() => void) | 'OwnFull' | 'Full';
  inUse(): number;
};

/** @example const release = createConcurrencyLimit({ perKey: 1000, total: 10_000 }).acquire(clientKeyOf(caller)); */
export function createConcurrencyLimit({
  perKey,
  total,
}: {
  perKey: number;
  total: number;
}): ConcurrencyLimit {
  const byKey = new Map<string, number>();
  let inUse = 0;
  return {
    inUse: () => inUse,
    acquire(key) {
      const used = byKey.get(key) ?? 0;
      if (used >= perKey) return 'OwnFull';
      if (inUse >= total) return 'Full';
      byKey.set(key, used + 1);
      inUse += 1;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        inUse -= 1;
        const remaining = (byKey.get(key) ?? 1) - 1;
        if (remaining > 0) byKey.set(key, remaining);
        else byKey.delete(key);
      };
    },
  };
}
