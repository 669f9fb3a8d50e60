// Tests the cache of frequent queries, with several keys for one result.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../platform/index.ts';
import { createShortLivedCache } from './short-lived-cache.ts';

type Answer = { readonly id: string };

function opened() {
  const memory = createShortLivedCache<Answer>(systemClock);
  let loads = 0;
  const ask = (key: string, answer: Answer | Promise<Answer>) =>
    memory.get(
      'one',
      key,
      async () => {
        loads += 1;
        return answer;
      },
      ({ id }) => id,
    );
  return { memory, ask, loads: () => loads };
}

describe('the short-lived cache', () => {
  it('is known by its other name', async () => {
    const { ask, loads } = opened();
    await ask('name', { id: 'id' });
    assert.deepEqual(await ask('id', { id: 'another' }), { id: 'id' });
    assert.equal(loads(), 1);
  });

  it('is under no name where it was forgotten while it was read', async () => {
    const { memory, ask, loads } = opened();
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const asked = ask('name', promise);
    memory.invalidateOrganization('one');
    resolve({ id: 'id' });
    await asked;
    assert.deepEqual(await ask('id', { id: 'changed' }), { id: 'changed' });
    assert.equal(loads(), 2);
  });
});
