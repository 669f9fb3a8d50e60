import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPlaces } from './concurrency-limit.ts';

describe('places', () => {
  it('are few for each and in all, and are given back once', () => {
    const places = createPlaces({ each: 2, inAll: 3 });
    const left = (key: string) => {
      const taken = places.take(key);
      assert.ok(typeof taken === 'function', String(taken));
      return taken;
    };
    const first = left('a');
    left('a');
    assert.equal(places.take('a'), 'OwnFull');
    const third = left('b');
    assert.equal(places.take('b'), 'Full');
    first();
    first();
    assert.equal(places.size(), 2);
    left('b');
    assert.equal(places.take('a'), 'Full', 'given back twice it would be free');
    third();
    left('a');
    assert.equal(places.size(), 3);
  });
});
