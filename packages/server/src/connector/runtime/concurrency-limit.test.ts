import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConcurrencyLimit } from './concurrency-limit.ts';

describe('places', () => {
  it('are few for each and in all, and are given back once', () => {
    const places = createConcurrencyLimit({ perKey: 2, total: 3 });
    const left = (key: string) => {
      const taken = places.acquire(key);
      assert.ok(typeof taken === 'function', String(taken));
      return taken;
    };
    const first = left('a');
    left('a');
    assert.equal(places.acquire('a'), 'OwnFull');
    const third = left('b');
    assert.equal(places.acquire('b'), 'Full');
    first();
    first();
    assert.equal(places.inUse(), 2);
    left('b');
    assert.equal(places.acquire('a'), 'Full', 'given back twice it would be free');
    third();
    left('a');
    assert.equal(places.inUse(), 3);
  });
});
