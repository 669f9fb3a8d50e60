import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createConcurrencyLimit } from './concurrency-limit.ts';

it('tasks run in order up to the limit, also after a failure', async () => {
  const inTurn = createConcurrencyLimit(2);
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const all = gates.map(({ promise }, index) =>
    inTurn(async () => {
      begun.push(index);
      await promise;
      return index;
    }),
  );
  assert.deepEqual(begun, [0, 1]);
  gates[1]?.reject(new Error('failed'));
  await assert.rejects(all[1] ?? Promise.resolve(), /failed/);
  assert.deepEqual(begun, [0, 1, 2]);
  for (const { resolve } of gates) resolve();
  assert.deepEqual(
    (await Promise.allSettled(all)).map(({ status }) => status === 'fulfilled'),
    [true, false, true, true, true],
  );
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  // Nothing of it is left: two begin at once again.
  const [one, two] = [inTurn(async () => begun.push(5)), inTurn(async () => begun.push(6))];
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
  await Promise.all([one, two]);
});
