import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createKneeSearch, isRateHeld, median } from './find-knee.ts';

function search(from: number, holds: (rate: number, step: number) => boolean) {
  const knee = createKneeSearch({ from });
  const tried: number[] = [];
  for (let rate = knee.next(); rate !== undefined; rate = knee.next()) {
    tried.push(rate);
    knee.report(rate, holds(rate, tried.length));
  }
  return { held: knee.highestHeldRate(), tried };
}

describe('the search for the knee', () => {
  test('the search ends within four percent of the highest sustainable rate', () => {
    for (const capacity of [180, 501, 1234, 2999, 7777]) {
      const { held, tried } = search(500, (rate) => rate <= capacity);
      assert.ok(held <= capacity && held >= capacity * 0.95, `${held} of ${capacity}`);
      assert.ok(tried.length <= 24, `${tried.length} steps`);
    }
  });

  test('the rate rises until one step fails', () => {
    const { tried } = search(500, (rate) => rate <= 1000);
    assert.deepEqual(tried.slice(0, 4), [500, 625, 781, 976]);
  });

  test('one failed step does not end the search', () => {
    const { held } = search(500, (rate, step) => rate <= 2000 && step !== 3);
    assert.ok(held > 1900, String(held));
  });

  test('a busy moment of the machine does not hide later results', () => {
    const { held } = search(500, (rate, step) => rate <= 1500 && (step < 3 || step > 8));
    assert.ok(held > 1420, String(held));
  });

  test('if no rate can be sustained, the knee is zero after a few steps', () => {
    const { held, tried } = search(500, () => false);
    assert.equal(held, 0);
    assert.deepEqual(tried, [500, 500, 250, 250, 125, 125, 63, 63]);
  });
});

describe('a load step', () => {
  const good = { offeredPerSecond: 1000, achievedPerSecond: 990, p99Us: 49_000, errors: 0 };

  test('a rate is sustained if nearly all requests succeed in time without an error', () => {
    assert.equal(isRateHeld(good), true);
    assert.equal(isRateHeld({ ...good, achievedPerSecond: 979 }), false);
    assert.equal(isRateHeld({ ...good, p99Us: 50_000 }), false);
    assert.equal(isRateHeld({ ...good, errors: 1 }), false);
  });
});

test('the median is the middle value', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(median([]), 0);
});
