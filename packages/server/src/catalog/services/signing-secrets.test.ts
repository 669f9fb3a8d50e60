import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { createWebhookHeaders, systemIdGenerator } from '../../platform/index.ts';
import { createSigningSecrets, secretOverlapMs } from './signing-secrets.ts';

test('the old key signs together with the new one for a day, and only for its own service', () => {
  let now = 1_000_000;
  const masterKey = Buffer.alloc(32, 3);
  const secrets = createSigningSecrets({
    masterKey,
    ids: systemIdGenerator,
    clock: { now: () => now },
  });
  const [old, fresh] = [secrets.create('a'), secrets.create('a')];
  const row = {
    secretSealed: fresh.sealed,
    previousSealed: old.sealed,
    previousUntil: now + secretOverlapMs,
    olderKeys: [],
  };
  const decryptSecrets = () =>
    secrets.decrypt('a', row).map((key) => `whsec_${key.toString('base64')}`);
  assert.deepEqual(decryptSecrets(), [fresh.signingSecret, old.signingSecret]);
  assert.throws(() => secrets.decrypt('b', row), /decryption failed/);
  now += secretOverlapMs;
  assert.deepEqual(decryptSecrets(), [fresh.signingSecret]);
});

// Spec: QRPROV-4
test('each key signs with a pair of its own, whose public half was handed out', () => {
  const deps = { ids: systemIdGenerator, clock: { now: () => 1_000_000 } };
  const secrets = createSigningSecrets({ masterKey: Buffer.alloc(32, 3), ...deps });
  const other = createSigningSecrets({ masterKey: Buffer.alloc(32, 4), ...deps });
  const { sealed, verificationKey } = secrets.create('a');
  const row = {
    secretSealed: sealed,
    olderKeys: [],
  };
  const keys = secrets.decrypt('a', row);
  const signatureBy = (signers: ReturnType<typeof secrets.toSigningKeys>) => {
    const headers = createWebhookHeaders({ id: 'm', sentAt: 5000, body: '{}', ...signers });
    const v1a = headers['webhook-signature']?.split(' ').find((each) => each.startsWith('v1a,'));
    return Buffer.from(v1a?.slice('v1a,'.length) ?? '', 'base64');
  };
  const x = Buffer.from(verificationKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const isGenuine = (signature: Buffer) => verify(null, Buffer.from('m.5.{}'), key, signature);
  assert.ok(isGenuine(signatureBy(secrets.toSigningKeys(keys))));
  // The secret alone does not give the key pair: it also depends on the master key.
  assert.ok(!isGenuine(signatureBy(other.toSigningKeys(keys))));
});
