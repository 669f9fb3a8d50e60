import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPacer } from './capture-concurrency.ts';

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
