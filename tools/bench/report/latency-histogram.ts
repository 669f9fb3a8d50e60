// Counts latencies in buckets a thousandth wide: a percentile is never reported too low.
import { createHistogram } from 'node:perf_hooks';

export type LatencyHistogram = {
  record(ms: number): void;
  count(): number;
  percentileUs(percent: number): number;
  maxUs(): number;
};

/** @example const latencies = createLatencyHistogram(); latencies.record(1.25); latencies.percentileUs(99); */
export function createLatencyHistogram(): LatencyHistogram {
  const histogram = createHistogram();
  return {
    // Node counts whole numbers from 1.
    record: (ms) => histogram.record(Math.max(1, Math.round(ms * 1000))),
    count: () => histogram.count,
    percentileUs: (percent) => histogram.percentile(percent),
    maxUs: () => histogram.max,
  };
}
