import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webhookHeaders, webhookSecret } from './webhook-signature.ts';

/** The example of the specification's reference libraries. */
const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
const message = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  at: 1_614_265_330_000,
  body: '{"test": 2432232314}',
};

test('the published example is signed as published', () => {
  assert.equal(webhookSecret(key), 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  assert.deepEqual(webhookHeaders({ ...message, keys: [key] }), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('while a secret is changed, both sign', () => {
  const other = Buffer.alloc(32, 7);
  const { 'webhook-signature': both = '' } = webhookHeaders({ ...message, keys: [other, key] });
  const [first, second] = both.split(' ');
  assert.equal(second, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  assert.notEqual(first, second);
});

test('a key of another length is none', () => {
  assert.throws(() => webhookSecret(Buffer.alloc(16)), RangeError);
});
