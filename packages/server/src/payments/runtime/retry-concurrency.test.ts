import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createRetryConcurrency,
  maxRetriesPerLink,
  maxRetriesPerUnresponsiveLink,
} from './send-queued-message.ts';

type BeginRetry = ReturnType<typeof createRetryConcurrency>;
type EndRetry = NonNullable<ReturnType<BeginRetry>>;

function beginAll(beginRetry: BeginRetry, linkId: string): EndRetry[] {
  const ends: EndRetry[] = [];
  for (let end = beginRetry(linkId); end !== undefined && ends.length < 1000; ) {
    ends.push(end);
    end = beginRetry(linkId);
  }
  return ends;
}

describe('retry concurrency', () => {
  it('uses the full limit for each responsive link', () => {
    const beginRetry = createRetryConcurrency();
    const [end] = beginAll(beginRetry, 'one');
    assert.equal(beginAll(beginRetry, 'other').length, maxRetriesPerLink);
    assert.equal(beginRetry('one'), undefined);
    end?.(true);
    assert.equal(beginAll(beginRetry, 'one').length, 1);
  });

  it('decreases after no response, recovers after a response, and stays when nothing was sent', () => {
    const beginRetry = createRetryConcurrency();
    const next = (hasResponse?: boolean) => {
      const end = beginRetry('one');
      assert.ok(end);
      end(hasResponse);
      const ends = beginAll(beginRetry, 'one');
      for (const endOne of ends) endOne();
      return ends.length;
    };
    assert.equal(next(), maxRetriesPerLink);
    assert.equal(next(false), maxRetriesPerUnresponsiveLink);
    assert.equal(next(), maxRetriesPerUnresponsiveLink);
    assert.equal(next(true), maxRetriesPerLink);
  });
});
