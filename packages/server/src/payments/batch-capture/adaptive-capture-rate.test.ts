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
      const of = rated();
      assert.ok(of.now() <= maxCapturesPerSecond * 0.6);
      for (let turn = 0; turn < 6; turn += 1) of.pass(writes);
      assert.equal(of.now(), maxCapturesPerSecond);
      assert.equal(of.pass(writes), maxCapturesPerSecond);
    }
  });

  it('decreases to the minimum while sale writes are slow and recovers', () => {
    const of = rated();
    for (let turn = 0; turn < 6; turn += 1) of.pass(200);
    assert.equal(of.pass(200, 20), maxCapturesPerSecond * 0.7);
    for (let turn = 0; turn < 20; turn += 1) of.pass(200, 200);
    assert.equal(of.now(), minCapturesPerSecond);
    for (let turn = 0; turn < 20; turn += 1) of.pass(200);
    assert.equal(of.now(), maxCapturesPerSecond);
  });

  it('stays constant between the thresholds', () => {
    const of = rated();
    for (let turn = 0; turn < 6; turn += 1) of.pass(200);
    assert.equal(of.pass(200, 2), maxCapturesPerSecond);
    of.pass(200, 30);
    const stays = of.now();
    assert.equal(of.pass(200, 6), stays);
    assert.ok(of.pass(200, 1) > stays);
  });

  it('is evaluated every half second, also after the clock was set back', () => {
    const of = rated();
    const first = of.now();
    assert.equal(of.now(), first);
    assert.ok(of.setBack(3_600_000) > first);
  });
});
