// Counts latencies in buckets less than one percent wide, so that a run of any length fits in 20 kB.
const subBucketBits = 7;
const subBuckets = 1 << subBucketBits;
/** 2^36 µs is 19 hours: slower values count as this. */
const octaves = 36 - subBucketBits;

export type Histogram = {
  /** Counts one value, whole microseconds. */
  record(valueUs: number): void;
  count(): number;
  /** The least value that this share of all values does not exceed, in microseconds. */
  percentile(percent: number): number;
  max(): number;
  mean(): number;
};

/** Below the first 2^8 each value has a bucket; above, each octave has 128. */
export function bucketOf(valueUs: number): number {
  const value = Math.max(0, Math.floor(valueUs));
  if (value < 2 * subBuckets) return value;
  const octave = Math.floor(Math.log2(value)) - subBucketBits;
  const bounded = Math.min(octave, octaves);
  const inOctave = Math.min(Math.floor(value / 2 ** bounded), 2 * subBuckets - 1);
  return bounded * subBuckets + inOctave;
}

/** The greatest value that falls into a bucket: a percentile is never reported too low. */
export function highestValueOf(bucket: number): number {
  if (bucket < 2 * subBuckets) return bucket;
  const octave = Math.floor(bucket / subBuckets) - 1;
  const inOctave = bucket - octave * subBuckets;
  return (inOctave + 1) * 2 ** octave - 1;
}

/** @example const latencies = createHistogram(); latencies.record(1250); latencies.percentile(99); */
export function createHistogram(): Histogram {
  const counts = new Uint32Array((octaves + 2) * subBuckets);
  let count = 0;
  let sum = 0;
  let max = 0;
  return {
    record(valueUs) {
      const bucket = bucketOf(valueUs);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      count += 1;
      sum += valueUs;
      if (valueUs > max) max = valueUs;
    },
    count: () => count,
    percentile(percent) {
      const targetCount = Math.max(1, Math.ceil((percent / 100) * count));
      let cumulativeCount = 0;
      for (let bucket = 0; bucket < counts.length; bucket += 1) {
        cumulativeCount += counts[bucket] ?? 0;
        if (cumulativeCount >= targetCount) return Math.min(highestValueOf(bucket), max);
      }
      return max;
    },
    max: () => max,
    mean: () => (count === 0 ? 0 : sum / count),
  };
}
