// Signatures: the published vector, several keys, and every kind of wrong signature.
import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { providerCallText } from '@switchyard/contract';
import { type CallSignatureFault, SecretError, signCall, verifyCall } from './call-signatures.ts';

/** The example secret of the Standard Webhooks libraries. */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const text = '{"test": 2432232314}';
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const at = 1_614_265_330_000;
const published = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const headers = signCall({ id, at, text, secrets: [secret] });

function faultOf(
  change: Record<string, string | undefined>,
  facts = {},
): CallSignatureFault | 'none' {
  const call = { headers: { ...headers, ...change }, text, secrets: [secret], now: at, ...facts };
  const verdict = verifyCall(call);
  return verdict.isGenuine ? 'none' : verdict.fault;
}

describe('signatures of calls', () => {
  it('match the published examples of the standard', () => {
    assert.equal(headers['webhook-signature'], published);
    assert.deepEqual(verifyCall({ headers, text, secrets: [secret], now: at }), {
      isGenuine: true,
      id,
    });
  });

  it('are good for one text, one id and one moment', () => {
    assert.equal(faultOf({}, { text: `${text} ` }), 'signature_wrong');
    assert.equal(faultOf({ 'webhook-id': 'msg_2' }), 'signature_wrong');
    assert.equal(faultOf({ 'webhook-timestamp': '1614265331' }), 'signature_wrong');
    assert.equal(faultOf({ 'webhook-signature': 'v1,AAAA' }), 'signature_wrong');
    assert.equal(
      faultOf({ 'webhook-signature': published.replace('v1', 'v1a') }),
      'signature_wrong',
    );
    assert.equal(faultOf({}, { secrets: [other] }), 'signature_wrong');
    assert.equal(faultOf({}, { secrets: [] }), 'signature_wrong');
  });

  it('grow old, on both sides of the clock', () => {
    assert.equal(faultOf({}, { now: at + 300_000 }), 'none');
    assert.equal(faultOf({}, { now: at + 301_000 }), 'timestamp_stale');
    assert.equal(faultOf({}, { now: at - 301_000 }), 'timestamp_stale');
    assert.equal(faultOf({}, { now: at + 10_000, toleranceSeconds: 5 }), 'timestamp_stale');
    for (const timestamp of ['', '-1', '1e9', 'NaN', '9'.repeat(13)]) {
      const expected = timestamp === '' ? 'headers_missing' : 'timestamp_invalid';
      assert.equal(faultOf({ 'webhook-timestamp': timestamp }), expected, timestamp);
    }
  });

  it('are missed where a header is missing or far too long', () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      assert.equal(faultOf({ [name]: undefined }), 'headers_missing', name);
    }
    assert.equal(faultOf({ 'webhook-id': 'x'.repeat(257) }), 'headers_missing');
    assert.equal(faultOf({ 'webhook-signature': `${published} `.repeat(200) }), 'headers_missing');
    const twice = verifyCall({
      headers: { ...headers, 'webhook-id': [id, id] },
      text,
      secrets: [secret],
      now: at,
    });
    assert.equal(twice.isGenuine, false);
  });

  it('are valid with the old and the new secret during a renewal', () => {
    const twoSecrets = signCall({ id, at, text, secrets: [other, secret] });
    for (const secrets of [[secret], [other], [other, secret]]) {
      assert.ok(verifyCall({ headers: twoSecrets, text, secrets, now: at }).isGenuine);
    }
    assert.ok(verifyCall({ headers, text, secrets: [other, secret], now: at }).isGenuine);
  });

  it('by a key pair are verified with its public half', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const { x = '' } = publicKey.export({ format: 'jwk' });
    const known = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`;
    const bytes = sign(null, Buffer.from(`${id}.${at / 1000}.${text}`), privateKey);
    const signed = { ...headers, 'webhook-signature': `v1a,${bytes.toString('base64')}` };
    assert.ok(verifyCall({ headers: signed, text, secrets: [known], now: at }).isGenuine);
    assert.ok(!verifyCall({ headers: signed, text: 'x', secrets: [known], now: at }).isGenuine);
    assert.ok(!verifyCall({ headers, text, secrets: [known], now: at }).isGenuine);
  });

  it('sign the address where there is no body', () => {
    const health = providerCallText('GET', '/health');
    const own = signCall({ id, at, text: health, secrets: [secret] });
    assert.ok(verifyCall({ headers: own, text: health, secrets: [secret], now: at }).isGenuine);
    const elsewhere = providerCallText('GET', '/healthz');
    assert.ok(!verifyCall({ headers: own, text: elsewhere, secrets: [secret], now: at }).isGenuine);
  });

  it('need valid secrets and never contain them in errors', () => {
    const wrong = ['', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_AAAA', 'whsec_§', 'whpk_AAAA'];
    for (const each of wrong) {
      const verify = () => verifyCall({ headers, text, secrets: [each], now: at });
      assert.throws(verify, (error: Error) => {
        assert.ok(error instanceof SecretError);
        assert.ok(each === '' || !error.message.includes(each));
        return true;
      });
    }
    assert.throws(() => signCall({ id, at, text, secrets: ['whpk_x'] }), SecretError);
  });
});
