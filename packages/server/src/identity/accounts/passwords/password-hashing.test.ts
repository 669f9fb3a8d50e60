// Password hashing: argon2id parameters, limited concurrency and a limited queue.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { systemIdGenerator } from '../../../platform/index.ts';
import { createPasswordHasher } from './password-hashing.ts';

describe('password hashing', () => {
  // Spec: IDENT-34
  test('uses argon2id with a random salt for each password', async () => {
    const passwords = createPasswordHasher(systemIdGenerator.secret());
    const firstHash = await passwords.hash('seven tills');
    const other = await passwords.hash('seven tills');
    assert.match(firstHash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    assert.notEqual(firstHash, other);
    assert.ok(await passwords.verify(firstHash, 'seven tills'));
    assert.equal(await passwords.verify(firstHash, 'seven till'), false);
    assert.equal(await passwords.verify(undefined, 'seven tills'), false);
    assert.equal(passwords.isOutdated(firstHash), false);
    assert.equal(passwords.isOutdated(firstHash.replace('m=19456', 'm=47104')), true);
    assert.equal(passwords.isOutdated(firstHash.replace('t=2', 't=1')), true);
  });

  test('no password matches without a hash, not even the empty one or the dummy password', async () => {
    const unguessable = systemIdGenerator.secret();
    const passwords = createPasswordHasher(unguessable);
    assert.equal(await passwords.verify(undefined, unguessable), false);
    assert.equal(await passwords.verify(undefined, ''), false);
  });

  test('a full queue answers 503, and the queue continues', async () => {
    const passwords = createPasswordHasher(systemIdGenerator.secret(), 3);
    const pending = Array.from({ length: 8 }, () => passwords.verify(undefined, 'x'));
    const ends = await Promise.allSettled(pending);
    const full = ends.filter((end) => end.status === 'rejected');
    assert.equal(full.length, 3, 'two running and three waiting');
    for (const { reason } of full) {
      assert.ok(reason instanceof ProblemError);
      assert.equal(reason.code, 'overloaded');
      assert.ok((reason.retryAfterMs ?? 0) > 0);
    }
    assert.equal(await passwords.verify(undefined, 'x'), false);
  });
});
