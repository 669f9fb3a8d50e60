import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../sales/request-schedule.ts';
import { bucketOf, createHistogram, highestValueOf } from './histogram.ts';

describe('the histogram of latencies', () => {
  test('every value lies in a bucket that ends less than one percent above it', () => {
    const seed = 20_260_101;
    const random = createRandom(seed);
    for (let round = 0; round < 20_000; round += 1) {
      const value = Math.floor(2 ** (random() * 35));
      const top = highestValueOf(bucketOf(value));
      assert.ok(top >= value, `seed ${seed}: ${value} in a bucket up to ${top}`);
      assert.ok(top <= value * 1.01 + 1, `seed ${seed}: ${value} in a bucket up to ${top}`);
    }
  });

  test('buckets follow each other without a gap', () => {
    for (let bucket = 1; bucket < 3000; bucket += 1) {
      assert.equal(bucketOf(highestValueOf(bucket - 1) + 1), bucket);
      assert.equal(bucketOf(highestValueOf(bucket)), bucket);
    }
  });

  test('percentiles are those of the sorted values, within a bucket', () => {
    const histogram = createHistogram();
    for (let value = 1; value <= 10_000; value += 1) histogram.record(value);
    assert.equal(histogram.count(), 10_000);
    assert.equal(histogram.max(), 10_000);
    assert.equal(histogram.mean(), 5000.5);
    for (const percent of [1, 50, 90, 99, 99.9]) {
      const exact = percent * 100;
      const estimate = histogram.percentile(percent);
      assert.ok(estimate >= exact && estimate <= exact * 1.01 + 1, `p${percent}: ${estimate}`);
    }
    assert.equal(histogram.percentile(100), 10_000);
  });

  test('an empty histogram is zero, and very long latencies are counted', () => {
    const histogram = createHistogram();
    assert.equal(histogram.percentile(99), 0);
    assert.equal(histogram.mean(), 0);
    histogram.record(2 ** 45);
    assert.equal(histogram.count(), 1);
    assert.equal(histogram.percentile(99), highestValueOf(bucketOf(2 ** 45)));
  });
});
