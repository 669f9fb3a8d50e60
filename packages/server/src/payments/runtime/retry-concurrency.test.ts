import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createRetryConcurrency,
  maxRetriesPerLink,
  maxRetriesPerUnresponsiveLink,
} from './send-queued-message.ts';

function takeAll(places: ReturnType<typeof createRetryConcurrency>, linkId: string): number {
  let taken = 0;
  while (taken < 1000 && places.acquire(linkId)) taken += 1;
  return taken;
}

describe('retry concurrency', () => {
  it('uses the full limit for each responsive link', () => {
    const places = createRetryConcurrency();
    assert.equal(takeAll(places, 'one'), maxRetriesPerLink);
    assert.equal(takeAll(places, 'other'), maxRetriesPerLink);
    places.release('one', true);
    assert.equal(takeAll(places, 'one'), 1);
  });

  it('decreases after no response, recovers after a response, and stays when nothing was sent', () => {
    const places = createRetryConcurrency();
    const next = (answered?: boolean) => {
      assert.ok(places.acquire('one'));
      places.release('one', answered);
      const taken = takeAll(places, 'one');
      for (let left = taken; left > 0; left -= 1) places.release('one');
      return taken;
    };
    assert.equal(next(), maxRetriesPerLink);
    assert.equal(next(false), maxRetriesPerUnresponsiveLink);
    assert.equal(next(), maxRetriesPerUnresponsiveLink);
    assert.equal(next(true), maxRetriesPerLink);
  });
});
