// A histogram of durations that can be merged; each bucket is a tenth larger than the last.

const growth = 1.1;
const perBucket = Math.log(growth);
const bucketsMax = 200;

/** The count of each bucket; the first contains 0 and 1 ms. */
export type Latency = Map<number, number>;

export function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(bucketsMax, Math.ceil(Math.log(ms) / perBucket));
}

/** The middle of a bucket, so that the error is at most a twentieth. */
export function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : Math.round(growth ** bucket * (1 - (growth - 1) / (2 * growth)));
}

export function addLatency(to: Latency, from: Iterable<readonly [number, number]>): void {
  for (const [bucket, count] of from) to.set(bucket, (to.get(bucket) ?? 0) + count);
}

/** The duration that this share of values does not exceed; undefined without values. */
export function quantileOf(latency: Latency, share: number): number | undefined {
  const buckets = [...latency].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const wanted = Math.max(1, Math.ceil(total * share));
  let seen = 0;
  for (const [bucket, count] of buckets) {
    seen += count;
    if (seen >= wanted) return middleOf(bucket);
  }
  return undefined;
}
