import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createRetryConcurrency,
  maxRetriesPerLink,
  maxRetriesPerUnresponsiveLink,
  type RetryConcurrency,
} from './send-queued-message.ts';

function takeAll(concurrency: RetryConcurrency, linkId: string): number {
  let acquired = 0;
  while (acquired < 1000 && concurrency.acquire(linkId)) acquired += 1;
  return acquired;
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
      const acquired = takeAll(concurrency, 'one');
      for (let remaining = acquired; remaining > 0; remaining -= 1) concurrency.release('one');
      return acquired;
    };
    assert.equal(next(), maxRetriesPerLink);
    assert.equal(next(false), maxRetriesPerUnresponsiveLink);
    assert.equal(next(), maxRetriesPerUnresponsiveLink);
    assert.equal(next(true), maxRetriesPerLink);
  });
});
