import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type SpiSignedParts,
  type SpiVerification,
  signSpiMessage,
  spiRequestComponents,
  verifySpiMessage,
} from './signatures.ts';

const request = { method: 'POST', path: '/bank/v1/echo', sha256: 'AA==' };
const parameters = { created: 1000, keyId: 'k', nonce: 'n' };
const input = `(${spiRequestComponents.join(' ')});created=1000;keyid="k";nonce="n";alg="ed25519"`;

/** A signature that shows the signed text. */
const sign = (text: string): string => Buffer.from(text).toString('base64');

function verify(
  parts: SpiSignedParts,
  headers: Record<string, string | undefined>,
  now = 1_000_000,
): SpiVerification {
  return verifySpiMessage(parts, headers, {
    now,
    verify: (keyId, text, signature) => (keyId === 'k' ? sign(text) === signature : undefined),
  });
}

test('a request signs method, path and body in the lines of RFC 9421', () => {
  const texts: string[] = [];
  const { headers, signature } = signSpiMessage(request, parameters, (text) => {
    texts.push(text);
    return 'YWI=';
  });
  assert.deepEqual(texts, [
    [
      '"@method": POST',
      '"@path": /bank/v1/echo',
      '"content-digest": sha-256=:AA==:',
      `"@signature-params": ${input}`,
    ].join('\n'),
  ]);
  assert.equal(signature, ':YWI=:');
  assert.deepEqual(headers, {
    'content-digest': 'sha-256=:AA==:',
    'signature-input': `spi=${input}`,
    signature: 'spi=:YWI=:',
  });
});

test('the signature of a response covers the signature of its request', () => {
  const response = { status: 200, requestSignature: ':cc:', sha256: 'AA==' };
  let signed = '';
  const { headers } = signSpiMessage(response, { created: 1000, keyId: 'k' }, (text) => {
    signed = text;
    return sign(text);
  });
  assert.match(signed, /^"@status": 200\n/);
  assert.match(signed, /\n"signature";req;key="spi": :cc:\n/);
  assert.equal(verify(response, headers).fault, undefined);
  assert.equal(verify({ ...response, requestSignature: ':dd:' }, headers).fault, 'wrong');
  assert.equal(verify({ ...response, status: 201 }, headers).fault, 'wrong');
});

test('a valid signature is read back, parameters and components in any order', () => {
  const { headers, signature } = signSpiMessage(request, parameters, sign);
  assert.deepEqual(verify(request, headers), { signature, nonce: 'n' });
  const other = '("@path" "@method" "content-digest");keyid="k";alg="ed25519";created=1000';
  const text = [
    '"@path": /bank/v1/echo',
    '"@method": POST',
    '"content-digest": sha-256=:AA==:',
    `"@signature-params": ${other}`,
  ].join('\n');
  const reordered = {
    ...headers,
    'signature-input': `spi=${other}`,
    signature: `spi=:${sign(text)}:`,
  };
  assert.deepEqual(verify(request, reordered), { signature: `:${sign(text)}:` });
});

test('another label, algorithm or a missing part is no signature of the SPI', () => {
  const { headers } = signSpiMessage(request, parameters, sign);
  for (const signatureInput of [
    undefined,
    '',
    input,
    `sig1=${input}`,
    `spi=${input.replace('ed25519', 'hmac-sha256')}`,
    `spi=${input.replace(';created=1000', '')}`,
    `spi=${input.replace(';keyid="k"', '')}`,
    `spi=("@method" x);created=1;keyid="k"`,
    `spi=${input}${' '.repeat(3000)}`,
  ]) {
    const changed = { ...headers, 'signature-input': signatureInput };
    assert.equal(verify(request, changed).fault, 'missing', signatureInput);
  }
  assert.equal(verify(request, { ...headers, signature: 'spi=YWI=' }).fault, 'missing');
});

test('a changed body, missing components, another key and a changed path have different faults', () => {
  const { headers } = signSpiMessage(request, parameters, sign);
  assert.equal(verify({ ...request, sha256: 'BB==' }, headers).fault, 'digest_wrong');
  const fewer = { ...headers, 'signature-input': `spi=${input.replace(' "@path"', '')}` };
  assert.equal(verify(request, fewer).fault, 'components_missing');
  const more = {
    ...headers,
    'signature-input': `spi=${input.replace('"@path"', '"@path" "date"')}`,
  };
  assert.equal(verify(request, more).fault, 'wrong');
  const otherKey = signSpiMessage(request, { ...parameters, keyId: 'z' }, sign);
  assert.deepEqual(verify(request, otherKey.headers), { fault: 'key_unknown', keyId: 'z' });
  assert.equal(verify({ ...request, path: '/v1/echo' }, headers).fault, 'wrong');
});

test('a signature is good for five minutes before and behind', () => {
  const { headers } = signSpiMessage(request, parameters, sign);
  assert.equal(verify(request, headers, 1_300_000).fault, undefined);
  assert.equal(verify(request, headers, 700_000).fault, undefined);
  assert.equal(verify(request, headers, 1_301_000).fault, 'stale');
});
