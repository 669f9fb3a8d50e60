import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLinkConcurrency, createPacer } from './capture-concurrency.ts';

describe('link concurrency', () => {
  it('enforces the limit and serves waiting tasks in FIFO order', async () => {
    const concurrency = createLinkConcurrency(2);
    const leaves = [await concurrency.acquire('near'), await concurrency.acquire('near')];
    const entered: string[] = [];
    const third = concurrency.acquire('near').then((leave) => {
      entered.push('third');
      return leave;
    });
    const fourth = concurrency.acquire('near').then((leave) => {
      entered.push('fourth');
      return leave;
    });
    // Another link is not held up by it.
    (await concurrency.acquire('far'))();
    assert.deepEqual(entered, []);
    leaves[0]?.();
    const leaveThird = await third;
    assert.deepEqual(entered, ['third']);
    leaveThird();
    (await fourth)();
    leaves[1]?.();
    assert.deepEqual(entered, ['third', 'fourth']);
    (await concurrency.acquire('near'))();
  });
});

describe('pacing of a batch', () => {
  it('distributes slots over time', async () => {
    const startedAt = performance.now();
    const waitForTurn = createPacer({ now: () => performance.now() }, () => 1000);
    await Promise.all(Array.from({ length: 50 }, waitForTurn));
    assert.ok(performance.now() - startedAt >= 45, 'fifty turns take fifty milliseconds');
  });

  it('does not wait after the clock was set back', async () => {
    let now = 10_000_000;
    const waitForTurn = createPacer({ now: () => now }, () => 10);
    await waitForTurn();
    now -= 3_600_000;
    const startedAt = performance.now();
    await waitForTurn();
    assert.ok(performance.now() - startedAt < 30_000);
  });
});
