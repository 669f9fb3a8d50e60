import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCaptureRate, maxCapturesPerSecond, minCapturesPerSecond } from './batch-worker.ts';

const lookMs = 500;

/** A rate, and half seconds of it: so many writes of sales, so many of them slow. */
function rated() {
  let now = 1_000_000;
  const rate = createCaptureRate({ now: () => now });
  rate.perSecond();
  return {
    pass(writes: number, slow = 0): number {
      for (let at = 0; at < writes; at += 1) rate.recordWrite(at < slow ? 31 : 5);
      now += lookMs;
      return rate.perSecond();
    },
    setBack(ms: number): number {
      now -= ms;
      return rate.perSecond();
    },
    now: rate.perSecond,
  };
}

describe('capture rate', () => {
  it('starts at half and increases while sale writes are fast', () => {
    for (const writes of [0, 200]) {
      const captureRate = rated();
      assert.ok(captureRate.now() <= maxCapturesPerSecond * 0.6);
      for (let second = 0; second < 6; second += 1) captureRate.pass(writes);
      assert.equal(captureRate.now(), maxCapturesPerSecond);
      assert.equal(captureRate.pass(writes), maxCapturesPerSecond);
    }
  });

  // Spec: ACQ-8
  it('decreases to the minimum while sale writes are slow and recovers', () => {
    const captureRate = rated();
    for (let second = 0; second < 6; second += 1) captureRate.pass(200);
    assert.equal(captureRate.pass(200, 20), maxCapturesPerSecond * 0.7);
    for (let second = 0; second < 20; second += 1) captureRate.pass(200, 200);
    assert.equal(captureRate.now(), minCapturesPerSecond);
    for (let second = 0; second < 20; second += 1) captureRate.pass(200);
    assert.equal(captureRate.now(), maxCapturesPerSecond);
  });

  it('stays constant between the thresholds', () => {
    const captureRate = rated();
    for (let second = 0; second < 6; second += 1) captureRate.pass(200);
    assert.equal(captureRate.pass(200, 2), maxCapturesPerSecond);
    captureRate.pass(200, 30);
    const stays = captureRate.now();
    assert.equal(captureRate.pass(200, 6), stays);
    assert.ok(captureRate.pass(200, 1) > stays);
  });

  it('is evaluated every half second, also after the clock was set back', () => {
    const captureRate = rated();
    const first = captureRate.now();
    assert.equal(captureRate.now(), first);
    assert.ok(captureRate.setBack(3_600_000) > first);
  });
});
