import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import type { Priority } from '../routes/route-declaration.ts';
import { createSample } from '../server/sample-server.fixture.ts';
import { createLoadShedding, pressureLimits, sampleEveryMs } from './load-shedding.ts';
import { connectionLimit } from './new-connection-limits.ts';

const limits = { loopDelayMs: 100, running: 10 };
const order: Priority[] = ['report', 'list', 'sale', 'last'];

function createWatched() {
  const state = { nowMs: 0, running: 0 };
  const running = () => state.running;
  const shedding = createLoadShedding({ running, limits, nowMs: () => state.nowMs });
  const measureLag = (delayMs: number) => {
    state.nowMs += sampleEveryMs + delayMs;
    shedding.sample();
  };
  const refused = () =>
    order.filter((priority) => {
      try {
        shedding.check(priority);
        return false;
      } catch (error) {
        assert.ok(error instanceof ProblemError && error.code === 'overloaded');
        assert.equal(error.outcome, 'NotProcessed');
        return true;
      }
    });
  return { state, shedding, refused, turn: measureLag };
}

describe('load shedding', () => {
  // Spec: LIST-7
  it('rejects reports first, then lists, then sales, and operations that complete a payment last', () => {
    const { state, shedding, refused } = createWatched();
    const errors: string[] = [];
    for (let running = 0; running <= 40; running += 1) {
      state.running = running;
      const rejected = refused();
      assert.deepEqual(rejected, order.slice(0, rejected.length));
      if (rejected.length > errors.length) errors.push(...rejected.slice(errors.length));
    }
    assert.deepEqual(errors, order);
    assert.deepEqual(
      order.map((priority) => pressureLimits[priority]),
      Object.values(pressureLimits).sort((one, other) => one - other),
    );
    shedding.stop();
  });

  it('rejects no list, sale or completion because of requests that only wait', () => {
    const running = () => connectionLimit;
    const shedding = createLoadShedding({ running, nowMs: () => 0 });
    for (const priority of ['list', 'sale', 'last'] as const) shedding.check(priority);
    assert.throws(() => shedding.check('report'), { code: 'overloaded' });
    shedding.stop();
  });

  it('ignores one long pause, and reacts to two', () => {
    const { shedding, refused, turn: measureLag } = createWatched();
    measureLag(150);
    assert.deepEqual(refused(), []);
    measureLag(150);
    assert.deepEqual(refused(), ['report', 'list', 'sale']);
    measureLag(0);
    assert.deepEqual(refused(), []);
    shedding.stop();
  });

  it('uses the queues of the modules', () => {
    const { shedding, refused } = createWatched();
    let queue = 0;
    shedding.addPressure(() => queue);
    queue = 0.7;
    shedding.sample();
    assert.deepEqual(refused(), ['report', 'list']);
    assert.equal(shedding.pressure(), 0.7);
    shedding.stop();
  });

  it('detects an event loop that is always busy', async () => {
    const shedding = createLoadShedding({ running: () => 0, limits });
    const endMs = performance.now() + 30_000;
    while (shedding.pressure() < 0.2 && performance.now() < endMs) {
      const busyUntilMs = performance.now() + 2 * sampleEveryMs;
      while (performance.now() < busyUntilMs);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.ok(shedding.pressure() >= 0.2);
    shedding.stop();
  });

  it('answers with overloaded before any other check', async () => {
    const sample = await createSample();
    try {
      let queue = 0.7;
      sample.loadShedding.addPressure(() => queue);
      const endMs = performance.now() + 30_000;
      while (sample.loadShedding.pressure() < queue && performance.now() < endMs) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const list = await sample.app.inject({ url: '/sample/v1/things' });
      assert.equal(list.statusCode, 503);
      assert.equal(list.json().code, 'overloaded');
      assert.equal(list.json().outcome, 'NotProcessed');
      assert.equal(list.headers['retry-after'], '2');
      const sale = await sample.app.inject({
        method: 'POST',
        url: '/sample/v1/things',
        headers: { authorization: 'Bearer all' },
        payload: { name: 'cup', amount: 1 },
      });
      assert.equal(sale.statusCode, 200);
      queue = 0;
    } finally {
      await sample.close();
    }
  });
});
