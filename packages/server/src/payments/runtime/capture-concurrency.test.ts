import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLinkConcurrency, createPacer } from './capture-concurrency.ts';

describe('link concurrency', () => {
  it('enforces the limit and serves waiting tasks in FIFO order', async () => {
    const places = createLinkConcurrency(2);
    const leaves = [await places.acquire('near'), await places.acquire('near')];
    const entered: string[] = [];
    const third = places.acquire('near').then((leave) => {
      entered.push('third');
      return leave;
    });
    const fourth = places.acquire('near').then((leave) => {
      entered.push('fourth');
      return leave;
    });
    // Another link is not held up by it.
    (await places.acquire('far'))();
    assert.deepEqual(entered, []);
    leaves[0]?.();
    const leaveThird = await third;
    assert.deepEqual(entered, ['third']);
    leaveThird();
    (await fourth)();
    leaves[1]?.();
    assert.deepEqual(entered, ['third', 'fourth']);
    (await places.acquire('near'))();
  });
});

describe('pacing of a batch', () => {
  it('distributes slots over time', async () => {
    const startedAt = performance.now();
    const turn = createPacer({ now: () => performance.now() }, () => 1000);
    await Promise.all(Array.from({ length: 50 }, turn));
    assert.ok(performance.now() - startedAt >= 45, 'fifty turns take fifty milliseconds');
  });

  it('does not wait after the clock was set back', async () => {
    let now = 10_000_000;
    const turn = createPacer({ now: () => now }, () => 10);
    await turn();
    now -= 3_600_000;
    const startedAt = performance.now();
    await turn();
    assert.ok(performance.now() - startedAt < 30_000);
  });
});
