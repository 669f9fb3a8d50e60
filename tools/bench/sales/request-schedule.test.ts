import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createArrivalTimes, createRandom } from './request-schedule.ts';

describe('the request schedule', () => {
  test('the same seed gives the same arrivals, another seed others', () => {
    const drawTimes = (seed: number) => {
      const next = createArrivalTimes(1000, createRandom(seed));
      return Array.from({ length: 50 }, next);
    };
    assert.deepEqual(drawTimes(7), drawTimes(7));
    assert.notDeepEqual(drawTimes(7), drawTimes(8));
  });

  test('arrivals have the requested rate, in order', () => {
    const seed = 42;
    const next = createArrivalTimes(2000, createRandom(seed));
    let last = 0;
    for (let count = 0; count < 100_000; count += 1) {
      const due = next();
      assert.ok(due >= last);
      last = due;
    }
    const rate = 100_000 / (last / 1000);
    assert.ok(Math.abs(rate - 2000) < 40, `seed ${seed}: ${rate} a second`);
  });

  test('gaps vary like those of independent clients', () => {
    const seed = 43;
    const next = createArrivalTimes(1000, createRandom(seed));
    const gaps: number[] = [];
    for (let last = 0; gaps.length < 50_000; ) {
      const due = next();
      gaps.push(due - last);
      last = due;
    }
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    assert.ok(Math.abs(Math.sqrt(variance) / mean - 1) < 0.05, `seed ${seed}`);
  });
});
