// Hashing: argon2id with today's figures, a few at once, a bounded line behind them.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import { systemIds } from '../../../platform/index.ts';
import { createPasswordHasher } from './password-hashing.ts';

describe('passwords', () => {
  test('are hashed by argon2id, each with a salt of its own', async () => {
    const passwords = createPasswordHasher(systemIds.secret());
    const one = await passwords.hash('seven tills');
    const other = await passwords.hash('seven tills');
    assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.notEqual(one, other);
    assert.ok(await passwords.verify(one, 'seven tills'));
    assert.equal(await passwords.verify(one, 'seven till'), false);
    assert.equal(await passwords.verify(undefined, 'seven tills'), false);
    assert.equal(passwords.isOutdated(one), false);
    assert.equal(passwords.isOutdated(one.replace('m=19456', 'm=47104')), true);
    assert.equal(passwords.isOutdated(one.replace('t=2', 't=1')), true);
  });

  test('nobody’s password is not the empty one, nor what it is made of', async () => {
    const unguessable = systemIds.secret();
    const passwords = createPasswordHasher(unguessable);
    assert.equal(await passwords.verify(undefined, unguessable), false);
    assert.equal(await passwords.verify(undefined, ''), false);
  });

  test('beyond the line the answer is 503, and the line moves on', async () => {
    const passwords = createPasswordHasher(systemIds.secret(), 3);
    const asked = Array.from({ length: 8 }, () => passwords.verify(undefined, 'x'));
    const ends = await Promise.allSettled(asked);
    const full = ends.filter((end) => end.status === 'rejected');
    assert.equal(full.length, 3, 'two at work and three behind them');
    for (const { reason } of full) {
      assert.ok(reason instanceof Refusal);
      assert.equal(reason.code, 'overloaded');
      assert.ok((reason.retryAfterMs ?? 0) > 0);
    }
    assert.equal(await passwords.verify(undefined, 'x'), false);
  });
});
