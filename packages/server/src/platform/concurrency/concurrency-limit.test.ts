import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConcurrencyLimit } from './concurrency-limit.ts';

describe('concurrency limit', () => {
  it('tasks run in order up to the limit, also after a failure', async () => {
    const limit = createConcurrencyLimit({ maxConcurrent: 2 });
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
    const begun: number[] = [];
    const all = gates.map(({ promise }, index) =>
      limit.run(async () => {
        begun.push(index);
        await promise;
        return index;
      }),
    );
    assert.deepEqual(begun, [0, 1]);
    assert.equal(limit.waiting(), 3);
    gates[1]?.reject(new Error('failed'));
    await assert.rejects(all[1] ?? Promise.resolve(), /failed/);
    assert.deepEqual(begun, [0, 1, 2]);
    for (const { resolve } of gates) resolve();
    assert.deepEqual(
      (await Promise.allSettled(all)).map(({ status }) => status === 'fulfilled'),
      [true, false, true, true, true],
    );
    assert.deepEqual(begun, [0, 1, 2, 3, 4]);
    assert.ok(limit.isIdle());
    const again = [limit.run(async () => begun.push(5)), limit.run(async () => begun.push(6))];
    assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
    await Promise.all(again);
  });

  it('rejects a task when too many wait or when it has waited too long', async () => {
    const limit = createConcurrencyLimit({
      maxConcurrent: 1,
      waitLimit: { maxWaiting: 1, maxWaitMs: 10, error: () => new Error('busy') },
    });
    const release = await limit.acquire();
    const late = limit.acquire();
    await assert.rejects(limit.acquire(), /busy/);
    await assert.rejects(late, /busy/);
    assert.equal(limit.waiting(), 0);
    release();
    (await limit.acquire())();
    assert.ok(limit.isIdle());
  });

  it('a second release does not free a second slot', async () => {
    const limit = createConcurrencyLimit({ maxConcurrent: 1 });
    const release = await limit.acquire();
    release();
    release();
    const next = await limit.acquire();
    const last = limit.acquire();
    assert.equal(limit.waiting(), 1);
    next();
    (await last)();
  });
});
