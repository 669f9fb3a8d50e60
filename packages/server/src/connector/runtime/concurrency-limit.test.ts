import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConcurrencyLimit } from './concurrency-limit.ts';

describe('places', () => {
  it('are few for each and in all, and are given back once', () => {
    const limit = createConcurrencyLimit({ perKey: 2, total: 3 });
    const acquireSlot = (key: string) => {
      const releaseSlot = limit.acquire(key);
      assert.ok(typeof releaseSlot === 'function', String(releaseSlot));
      return releaseSlot;
    };
    const first = acquireSlot('a');
    acquireSlot('a');
    assert.equal(limit.acquire('a'), 'OwnFull');
    const third = acquireSlot('b');
    assert.equal(limit.acquire('b'), 'Full');
    first();
    first();
    assert.equal(limit.inUse(), 2);
    acquireSlot('b');
    assert.equal(limit.acquire('a'), 'Full', 'given back twice it would be free');
    third();
    acquireSlot('a');
    assert.equal(limit.inUse(), 3);
  });
});
