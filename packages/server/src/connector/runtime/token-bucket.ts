// Limits how often an operation runs, with a token bucket for each key. A window of the rate counter would
// stop a point of sale after a burst for the rest of the window; a bucket lets it continue at the steady rate.

/** The maximum number of tracked keys; all other keys share one bucket. */
const keysMax = 20_000;

export type TokenBuckets = {
  /** Returns false if the rate exceeds the limit. */
  take(key: string, now: number): boolean;
};

/** @example const buckets = createTokenBuckets({ burst: 200, perSecond: 50 }); buckets.take(clientKeyOf(caller), clock.now()); */
export function createTokenBuckets({
  burst,
  perSecond,
}: {
  burst: number;
  perSecond: number;
}): TokenBuckets {
  const buckets = new Map<string, { tokens: number; at: number }>();

  /** Removes the full buckets, which limit nothing. */
  function removeFullBuckets(now: number): void {
    const refillMs = (burst / perSecond) * 1000;
    for (const [key, { at }] of buckets) if (now - at >= refillMs) buckets.delete(key);
  }

  return {
    take(requestedKey, now) {
      if (buckets.size >= keysMax) removeFullBuckets(now);
      const key = buckets.has(requestedKey) || buckets.size < keysMax ? requestedKey : '';
      const bucket = buckets.get(key) ?? { tokens: burst, at: now };
      const tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
      buckets.set(key, { tokens: Math.max(0, tokens - 1), at: now });
      return tokens >= 1;
    },
  };
}
