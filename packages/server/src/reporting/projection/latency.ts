// A histogram of times that can be added to another one: buckets that grow by a tenth. Pure.

const growth = 1.1;
const perBucket = Math.log(growth);
const bucketsMax = 200;

/** By bucket; what is 0 or 1 ms long is in the first. */
export type Latency = Map<number, number>;

export function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(bucketsMax, Math.ceil(Math.log(ms) / perBucket));
}

/** The middle of a bucket, so that it is wrong by a twentieth at most. */
export function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : Math.round(growth ** bucket * (1 - (growth - 1) / (2 * growth)));
}

export function addLatency(to: Latency, from: Iterable<readonly [number, number]>): void {
  for (const [bucket, count] of from) to.set(bucket, (to.get(bucket) ?? 0) + count);
}

/** The time that this share of them did not exceed; undefined where there is none. */
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
