// Tests that the follower of the feed waits while payments need the process.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { delayForMoreEvents, mustWait, pauseAfterWork } from './feed-follower.ts';

describe('the follower of the feed', () => {
  test('works a quarter of the time while reports are young, and half of it where they are late', () => {
    assert.equal(pauseAfterWork(20, 0), 60);
    assert.equal(pauseAfterWork(20, 10_000), 20);
    assert.equal(pauseAfterWork(60_000, 0), 1_000);
  });

  test('waits for more where much happens, since sums are then written once for many', () => {
    assert.equal(delayForMoreEvents(99, false, 0), 0);
    assert.equal(delayForMoreEvents(100, false, 0), 3_000);
    assert.equal(delayForMoreEvents(2_000, true, 0), 0, 'it waits already');
    assert.equal(delayForMoreEvents(100, false, 10_000), 0);
  });

  // Spec: REP-10
  test('waits while there is much else to do, and for two minutes at most', () => {
    assert.equal(mustWait(0.39, 0.59, 0), false);
    assert.equal(mustWait(0.4, 0, 0), true);
    assert.equal(mustWait(0, 0.6, 0), true);
    assert.equal(mustWait(3, 1, 119_999), true);
    assert.equal(mustWait(3, 1, 120_000), false);
  });
});
