import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  coversSpiComponents,
  isFreshSpiSignature,
  readSpiSignature,
  spiAnswerComponents,
  spiRequestComponents,
  spiSignatureBase,
  spiSignatureInputHeader,
} from './signatures.ts';

const input = spiSignatureInputHeader(spiRequestComponents, { created: 7, keyId: 'k', nonce: 'n' });

test('a request signs method, path and body in the lines of RFC 9421', () => {
  const base = spiSignatureBase(input, {
    '"@method"': 'POST',
    '"@path"': '/bank/v1/echo',
    '"content-digest"': 'sha-256=:AA==:',
  });
  assert.equal(
    base,
    [
      '"@method": POST',
      '"@path": /bank/v1/echo',
      '"content-digest": sha-256=:AA==:',
      '"@signature-params": ("@method" "@path" "content-digest");created=7;keyid="k";nonce="n";alg="ed25519"',
    ].join('\n'),
  );
});

test('the signature of a response covers the signature of its request', () => {
  const answer = spiSignatureInputHeader(spiAnswerComponents, { created: 8, keyId: 'a' });
  const values = { '"@status"': '200', '"content-digest"': 'd', [spiAnswerComponents[2]]: ':cc:' };
  assert.match(spiSignatureBase(answer, values) ?? '', /\n"signature";req;key="spi": :cc:\n/);
  const { '"@status"': _status, ...less } = values;
  assert.equal(spiSignatureBase(answer, less), undefined);
});

test('the headers are read back, parameters in any order', () => {
  const read = readSpiSignature({ signatureInput: `spi=${input}`, signature: 'spi=:YWI=:' });
  assert.deepEqual(read, {
    input,
    components: [...spiRequestComponents],
    signature: 'YWI=',
    created: 7,
    keyId: 'k',
    nonce: 'n',
  });
  const other = '("@path" "@method" "content-digest");keyid="k";alg="ed25519";created=7';
  const turned = readSpiSignature({ signatureInput: `spi=${other}`, signature: 'spi=:YWI=:' });
  assert.equal(turned?.created, 7);
  assert.ok(turned !== undefined && coversSpiComponents(turned, spiRequestComponents));
});

test('another label, algorithm or a missing part is no signature of the SPI', () => {
  const signature = 'spi=:YWI=:';
  for (const signatureInput of [
    undefined,
    '',
    input,
    `sig1=${input}`,
    `spi=${input.replace('ed25519', 'hmac-sha256')}`,
    `spi=${input.replace(';created=7', '')}`,
    `spi=${input.replace(';keyid="k"', '')}`,
    `spi=("@method" x);created=1;keyid="k"`,
    `spi=${input}${' '.repeat(3000)}`,
  ]) {
    assert.equal(readSpiSignature({ signatureInput, signature }), undefined, signatureInput);
  }
  assert.equal(
    readSpiSignature({ signatureInput: `spi=${input}`, signature: 'spi=YWI=' }),
    undefined,
  );
});

test('a signature is good for five minutes before and behind', () => {
  assert.ok(isFreshSpiSignature({ created: 1000 }, 1_300_000));
  assert.ok(isFreshSpiSignature({ created: 1300 }, 1_000_000));
  assert.ok(!isFreshSpiSignature({ created: 1000 }, 1_301_000));
});
