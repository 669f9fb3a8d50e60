import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  capturesPerSecondLeast,
  capturesPerSecondMost,
  createCaptureRate,
} from './capture-rate.ts';

const lookMs = 500;

/** A rate, and half seconds of it: so many writes of sales, so many of them slow. */
function rated() {
  let now = 1_000_000;
  const rate = createCaptureRate({ now: () => now });
  rate.perSecond();
  return {
    pass(writes: number, slow = 0): number {
      for (let at = 0; at < writes; at += 1) rate.note(at < slow ? 31 : 5);
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

describe('the rate of captures', () => {
  it('begins with the half, and comes up in seconds where nobody sells or nobody suffers', () => {
    for (const writes of [0, 200]) {
      const of = rated();
      assert.ok(of.now() <= capturesPerSecondMost * 0.6);
      for (let turn = 0; turn < 6; turn += 1) of.pass(writes);
      assert.equal(of.now(), capturesPerSecondMost);
      assert.equal(of.pass(writes), capturesPerSecondMost);
    }
  });

  it('gives way while sales are slow, down to what still ends, and comes back', () => {
    const of = rated();
    for (let turn = 0; turn < 6; turn += 1) of.pass(200);
    assert.equal(of.pass(200, 20), capturesPerSecondMost * 0.7);
    for (let turn = 0; turn < 20; turn += 1) of.pass(200, 200);
    assert.equal(of.now(), capturesPerSecondLeast);
    for (let turn = 0; turn < 20; turn += 1) of.pass(200);
    assert.equal(of.now(), capturesPerSecondMost);
  });

  it('bears a hiccup, and stays where it is between few and too many', () => {
    const of = rated();
    for (let turn = 0; turn < 6; turn += 1) of.pass(200);
    assert.equal(of.pass(200, 2), capturesPerSecondMost);
    of.pass(200, 30);
    const stays = of.now();
    assert.equal(of.pass(200, 6), stays);
    assert.ok(of.pass(200, 1) > stays);
  });

  it('is looked at each half second, and by a clock that was set back at once', () => {
    const of = rated();
    const first = of.now();
    assert.equal(of.now(), first);
    assert.ok(of.setBack(3_600_000) > first);
  });
});
