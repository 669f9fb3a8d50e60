// How the follower of the feed gives way to payments.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mustWait, restAfter } from './follower.ts';

describe('the follower of the feed', () => {
  test('works a quarter of the time while reports are young, and all of it where they are too late', () => {
    assert.equal(restAfter(20, 0), 60);
    assert.equal(restAfter(20, 5_000), 20);
    assert.equal(restAfter(20, 60_000), 0);
    assert.equal(restAfter(60_000, 0), 2_000);
  });

  test('waits while there is much else to do, and for a minute at most', () => {
    assert.equal(mustWait(0.39, 0), false);
    assert.equal(mustWait(0.4, 0), true);
    assert.equal(mustWait(3, 59_999), true);
    assert.equal(mustWait(3, 60_000), false);
  });
});
