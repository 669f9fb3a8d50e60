// A histogram of durations that can be merged; each bucket is a tenth larger than the last.

const bucketGrowth = 1.1;
const logBucketGrowth = Math.log(bucketGrowth);
const bucketsMax = 200;

/** The count of each bucket; the first contains 0 and 1 ms. */
export type LatencyHistogram = Map<number, number>;

export function findLatencyBucket(ms: number): number {
  return ms <= 1 ? 0 : Math.min(bucketsMax, Math.ceil(Math.log(ms) / logBucketGrowth));
}

/** The middle of a bucket, so that the error is at most a twentieth. */
export function getBucketMiddle(bucket: number): number {
  return bucket === 0
    ? 1
    : Math.round(bucketGrowth ** bucket * (1 - (bucketGrowth - 1) / (2 * bucketGrowth)));
}

export function addLatency(to: LatencyHistogram, from: Iterable<readonly [number, number]>): void {
  for (const [bucket, count] of from) to.set(bucket, (to.get(bucket) ?? 0) + count);
}

/** The duration that this share of values does not exceed; undefined without values. */
export function computeQuantile(latency: LatencyHistogram, share: number): number | undefined {
  const buckets = [...latency].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return undefined;
  const targetCount = Math.max(1, Math.ceil(total * share));
  let countSoFar = 0;
  for (const [bucket, count] of buckets) {
    countSoFar += count;
    if (countSoFar >= targetCount) return getBucketMiddle(bucket);
  }
  return undefined;
}
