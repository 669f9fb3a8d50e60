// Tests that merged latency histograms are as exact as a single histogram.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  addLatency,
  computeQuantile,
  findLatencyBucket,
  type LatencyHistogram,
} from './latency-histogram.ts';

const histogram = (times: readonly number[]): LatencyHistogram => {
  const latency: LatencyHistogram = new Map();
  for (const ms of times) addLatency(latency, [[findLatencyBucket(ms), 1]]);
  return latency;
};

describe('the histogram of latencies', () => {
  test('is right to a twentieth, for any times and any share of them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 2, max: 60_000 }), { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (times, share) => {
          const sorted = times.toSorted((one, other) => one - other);
          const exact = sorted[Math.max(1, Math.ceil(times.length * share)) - 1] ?? 0;
          const quantile = computeQuantile(histogram(times), share) ?? 0;
          assert.ok(Math.abs(quantile - exact) <= exact * 0.05 + 1, `${quantile} for ${exact}`);
        },
      ),
    );
  });

  test('of parts that are added is that of the whole', () => {
    const times = fc.array(fc.integer({ min: 0, max: 100_000 }), { maxLength: 100 });
    fc.assert(
      fc.property(times, times, (one, other) => {
        const sum = histogram(one);
        addLatency(sum, histogram(other));
        assert.deepEqual(
          [...sum].sort(([a], [b]) => a - b),
          [...histogram([...one, ...other])].sort(([a], [b]) => a - b),
        );
      }),
    );
  });

  test('has no quantile without values, and a quantile of 1 ms for latencies of 0', () => {
    assert.equal(computeQuantile(new Map(), 0.5), undefined);
    assert.equal(computeQuantile(histogram([0, 0, 1]), 0.95), 1);
  });
});
