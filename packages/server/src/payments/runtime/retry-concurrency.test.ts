import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRepeatPlaces, repeatsPerLink, repeatsPerSilentLink } from './retry-concurrency.ts';

function takeAll(places: ReturnType<typeof createRepeatPlaces>, linkId: string): number {
  let taken = 0;
  while (taken < 1000 && places.take(linkId)) taken += 1;
  return taken;
}

describe('places of repeats', () => {
  it('are many at an acquirer that answers, and its own alone', () => {
    const places = createRepeatPlaces();
    assert.equal(takeAll(places, 'one'), repeatsPerLink);
    assert.equal(takeAll(places, 'other'), repeatsPerLink);
    places.release('one', true);
    assert.equal(takeAll(places, 'one'), 1);
  });

  it('are few after silence, as before after an answer, and unchanged where nothing left', () => {
    const places = createRepeatPlaces();
    const next = (answered?: boolean) => {
      assert.ok(places.take('one'));
      places.release('one', answered);
      const taken = takeAll(places, 'one');
      for (let left = taken; left > 0; left -= 1) places.release('one');
      return taken;
    };
    assert.equal(next(), repeatsPerLink);
    assert.equal(next(false), repeatsPerSilentLink);
    assert.equal(next(), repeatsPerSilentLink);
    assert.equal(next(true), repeatsPerLink);
  });
});
