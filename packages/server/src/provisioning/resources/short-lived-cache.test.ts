// Tests the cache of frequent queries, with several keys for one result.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../platform/index.ts';
import { createShortLivedCache } from './short-lived-cache.ts';

type Answer = { readonly id: string };

function opened() {
  const memory = createShortLivedCache<Answer>(systemClock);
  let loads = 0;
  const readCached = (key: string, answer: Answer | Promise<Answer>) =>
    memory.get(
      'one',
      key,
      async () => {
        loads += 1;
        return answer;
      },
      ({ id }) => id,
    );
  return { memory, ask: readCached, loads: () => loads };
}

describe('the short-lived cache', () => {
  it('is known by its other name', async () => {
    const { ask: readCached, loads } = opened();
    await readCached('name', { id: 'id' });
    assert.deepEqual(await readCached('id', { id: 'another' }), { id: 'id' });
    assert.equal(loads(), 1);
  });

  it('is under no name where it was forgotten while it was read', async () => {
    const { memory, ask: readCached, loads } = opened();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const pendingRead = readCached('name', promise);
    memory.invalidateOrganization('one');
    resolve({ id: 'id' });
    await pendingRead;
    assert.deepEqual(await readCached('id', { id: 'changed' }), { id: 'changed' });
    assert.equal(loads(), 2);
  });
});
