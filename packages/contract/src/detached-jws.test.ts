import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { FlattenedSign, flattenedVerify } from 'jose';
import { jwsSigningInput, verifyDetachedJws } from './detached-jws.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const { x = '' } = publicKey.export({ format: 'jwk' });
const key = { kty: 'OKP', crv: 'Ed25519', x, kid: 'one', alg: 'EdDSA', use: 'sig' } as const;
const document = Buffer.from('{"passed":60}');
const header = '{"alg":"EdDSA","kid":"one"}';

function signDocument(signedHeader = header): string {
  const text = jwsSigningInput(signedHeader, document);
  const signature = sign(null, Buffer.from(text), privateKey).toString('base64url');
  return `${text.split('.')[0]}..${signature}`;
}

test('a detached JWS verifies with the key of its header, and not for another byte', async () => {
  const jws = signDocument();
  assert.equal(await verifyDetachedJws(document, jws, [key]), 'Valid');
  assert.equal(await verifyDetachedJws(document, `${jws}\n`, [key]), 'Valid');
  assert.equal(await verifyDetachedJws(Buffer.from('{"passed":61}'), jws, [key]), 'Invalid');
  assert.equal(await verifyDetachedJws(document, jws, [{ ...key, kid: 'two' }]), 'KeyUnknown');
  assert.equal(await verifyDetachedJws(document, 'no signature', [key]), 'Invalid');
  assert.equal(await verifyDetachedJws(document, signDocument('{"alg":"none"}'), [key]), 'Invalid');
});

test('another library verifies the signature, and its signature is verified', async () => {
  const [protectedHeader = '', signature = ''] = signDocument().split('..');
  const payload = document.toString('base64url');
  await flattenedVerify({ protected: protectedHeader, payload, signature }, publicKey);
  const other = await new FlattenedSign(document)
    .setProtectedHeader({ alg: 'EdDSA', kid: 'one' })
    .sign(privateKey);
  const jws = `${other.protected}..${other.signature}`;
  assert.equal(await verifyDetachedJws(document, jws, [key]), 'Valid');
});
