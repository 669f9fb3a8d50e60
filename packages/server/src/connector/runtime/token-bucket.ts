// Limits how often an operation runs, with a token bucket for each key.

/** The maximum number of tracked keys; all other keys share one bucket. */
const keysMax = 20_000;

export type Rate = {
  /** Returns false if the rate exceeds the limit. */
  take(key: string, now: number): boolean;
};

/** @example const rate = createRate({ burst: 200, perSecond: 50 }); rate.take(clientKeyOf(caller), clock.now()); */
export function createRate({ burst, perSecond }: { burst: number; perSecond: number }): Rate {
  const buckets = new Map<string, { left: number; at: number }>();

  /** Removes the full buckets, which limit nothing. */
  function sweep(now: number): void {
    const refillMs = (burst / perSecond) * 1000;
    for (const [key, { at }] of buckets) if (now - at >= refillMs) buckets.delete(key);
  }

  return {
    take(named, now) {
      if (buckets.size >= keysMax) sweep(now);
      const key = buckets.has(named) || buckets.size < keysMax ? named : '';
      const bucket = buckets.get(key) ?? { left: burst, at: now };
      const left = Math.min(burst, bucket.left + ((now - bucket.at) / 1000) * perSecond);
      buckets.set(key, { left: Math.max(0, left - 1), at: now });
      return left >= 1;
    },
  };
}
