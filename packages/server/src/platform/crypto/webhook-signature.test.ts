import assert from 'node:assert/strict';
import { createPublicKey, createSecretKey, verify } from 'node:crypto';
import { test } from 'node:test';
import {
  createWebhookHeaders,
  createWebhookKeyPair,
  formatWebhookSecret,
} from './webhook-signature.ts';

/** The example of the specification's reference libraries. */
const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const message = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  sentAt: 1_614_265_330_000,
  body: '{"test": 2432232314}',
};

test('the published example has the published signature', () => {
  assert.equal(formatWebhookSecret(key), 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  assert.deepEqual(createWebhookHeaders({ ...message, keys: [key] }), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('during a rotation of the secret both secrets sign', () => {
  const other = Buffer.alloc(32, 7);
  const { 'webhook-signature': both = '' } = createWebhookHeaders({
    ...message,
    keys: [other, key],
  });
  const [first, second] = both.split(' ');
  assert.equal(second, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  assert.notEqual(first, second);
});

test('a secret of a wrong length is refused', () => {
  assert.throws(() => formatWebhookSecret(Buffer.alloc(16)), RangeError);
});

test('a key pair adds an Ed25519 signature to the signature of the secret', () => {
  const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';
  const { privateKey, publicKey } = createWebhookKeyPair(Buffer.from(seed, 'hex'));
  assert.equal(publicKey, 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=');
  const { 'webhook-signature': both = '' } = createWebhookHeaders({
    ...message,
    keys: [createSecretKey(key)],
    privateKeys: [privateKey],
  });
  const [secret, pair = ''] = both.split(' ');
  assert.equal(secret, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  assert.match(pair, /^v1a,/);
  const text = `${message.id}.1614265330.${message.body}`;
  const signature = Buffer.from(pair.slice('v1a,'.length), 'base64');
  assert.ok(verify(null, Buffer.from(text), createPublicKey(privateKey), signature));
});
