import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createMemoryReleasingMap } from './memory-releasing-map.ts';

describe('map of work in progress', () => {
  test('a value is found until its key is deleted', () => {
    const inFlight = createMemoryReleasingMap<number>();
    inFlight.set('first', 1);
    inFlight.set('second', 2);
    inFlight.set('first', 3);
    assert.equal(inFlight.get('first'), 3);
    assert.deepEqual(inFlight.entries(), [
      ['first', 3],
      ['second', 2],
    ]);
    assert.equal(inFlight.oldest(), 'first');
    inFlight.delete('first');
    assert.equal(inFlight.oldest(), 'second');
    inFlight.delete('first');
    inFlight.delete('never there');
    assert.equal(inFlight.get('first'), undefined);
    assert.equal(inFlight.size(), 1);
  });

  test('it has the same entries as a Map', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
    const step = fc.tuple(key, fc.option(fc.nat()));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const inFlight = createMemoryReleasingMap<number>();
        const map = new Map<string, number>();
        for (const [name, value] of steps) {
          if (value === null) {
            inFlight.delete(name);
            map.delete(name);
          } else {
            inFlight.set(name, value);
            map.set(name, value);
          }
          assert.equal(inFlight.get(name), map.get(name));
        }
        assert.deepEqual(inFlight.entries(), [...map]);
        assert.equal(inFlight.size(), map.size);
      }),
    );
  });
});
