import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBatchPlaces, createPace } from './link-concurrency.ts';

describe('the places of a link', () => {
  it('are so many and no more, and go on in the order of asking', async () => {
    const places = createBatchPlaces(2);
    const leaves = [await places.enter('near'), await places.enter('near')];
    const entered: string[] = [];
    const third = places.enter('near').then((leave) => {
      entered.push('third');
      return leave;
    });
    const fourth = places.enter('near').then((leave) => {
      entered.push('fourth');
      return leave;
    });
    // Another link is not held up by it.
    (await places.enter('far'))();
    assert.deepEqual(entered, []);
    leaves[0]?.();
    const leaveThird = await third;
    assert.deepEqual(entered, ['third']);
    leaveThird();
    (await fourth)();
    leaves[1]?.();
    assert.deepEqual(entered, ['third', 'fourth']);
    (await places.enter('near'))();
  });
});

describe('the pace of a batch', () => {
  it('spreads turns over time', async () => {
    const startedAt = performance.now();
    const turn = createPace({ now: () => performance.now() }, () => 1000);
    await Promise.all(Array.from({ length: 50 }, turn));
    assert.ok(performance.now() - startedAt >= 45, 'fifty turns take fifty milliseconds');
  });

  it('does not wait out a clock that was set back', async () => {
    let now = 10_000_000;
    const turn = createPace({ now: () => now }, () => 10);
    await turn();
    now -= 3_600_000;
    const startedAt = performance.now();
    await turn();
    assert.ok(performance.now() - startedAt < 30_000);
  });
});
