import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createRetryConcurrency,
  maxRetriesPerLink,
  maxRetriesPerUnresponsiveLink,
  type RetryConcurrency,
} from './send-queued-message.ts';

function takeAll(concurrency: RetryConcurrency, linkId: string): number {
  let taken = 0;
  while (taken < 1000 && concurrency.acquire(linkId)) taken += 1;
  return taken;
}

describe('retry concurrency', () => {
  it('uses the full limit for each responsive link', () => {
    const concurrency = createRetryConcurrency();
    assert.equal(takeAll(concurrency, 'one'), maxRetriesPerLink);
    assert.equal(takeAll(concurrency, 'other'), maxRetriesPerLink);
    concurrency.release('one', true);
    assert.equal(takeAll(concurrency, 'one'), 1);
  });

  it('decreases after no response, recovers after a response, and stays when nothing was sent', () => {
    const concurrency = createRetryConcurrency();
    const next = (answered?: boolean) => {
      assert.ok(concurrency.acquire('one'));
      concurrency.release('one', answered);
      const taken = takeAll(concurrency, 'one');
      for (let left = taken; left > 0; left -= 1) concurrency.release('one');
      return taken;
    };
    assert.equal(next(), maxRetriesPerLink);
    assert.equal(next(false), maxRetriesPerUnresponsiveLink);
    assert.equal(next(), maxRetriesPerUnresponsiveLink);
    assert.equal(next(true), maxRetriesPerLink);
  });
});
