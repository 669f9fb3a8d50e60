import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemIds } from '../platform/index.ts';
import { createSigningSecrets, overlapMs } from './signing-secrets.ts';

test('the old key signs beside the new one for a day, and in no other service', () => {
  let now = 1_000_000;
  const masterKey = Buffer.alloc(32, 3);
  const secrets = createSigningSecrets({ masterKey, ids: systemIds, clock: { now: () => now } });
  const [old, fresh] = [secrets.make('a'), secrets.make('a')];
  const row = {
    secret_sealed: fresh.sealed,
    previous_sealed: old.sealed,
    previous_until: new Date(now + overlapMs),
  };
  const shown = () => secrets.open('a', row).map((key) => `whsec_${key.toString('base64')}`);
  assert.deepEqual(shown(), [fresh.secret, old.secret]);
  assert.throws(() => secrets.open('b', row), /seal is broken/);
  now += overlapMs;
  assert.deepEqual(shown(), [fresh.secret]);
});
