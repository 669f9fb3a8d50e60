import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EmvError } from './errors.ts';
import { parseIssuerResponse } from './issuer-response.ts';

const script = (commands: string) =>
  `72${(commands.length / 2).toString(16).padStart(2, '0')}${commands}`;
const first = script('9F1804AABBCCDD' + '860484240000' + '860484180000');
const second = script('860484160000');

test('the parser returns the chip data unchanged, with the scripts in their order', () => {
  const hex = `910A11223344556677883030${first}8A023030${second}8906414243313233`;
  assert.deepEqual(parseIssuerResponse(hex), {
    emvResponse: hex,
    scripts: 2,
    issuerAuthenticationData: '11223344556677883030',
    authorizationResponseCode: '00',
    authorizationCode: 'ABC123',
  });
});

test('everything else is left out', () => {
  const hex = '5A085413330089010012' + '9F36020001' + '00' + '8A023035';
  assert.deepEqual(parseIssuerResponse(hex), {
    emvResponse: '8A023035',
    scripts: 0,
    authorizationResponseCode: '05',
  });
  assert.deepEqual(parseIssuerResponse(''), { emvResponse: '', scripts: 0 });
});

test('faults have codes', () => {
  assert.throws(() => parseIssuerResponse('8A023035' + '8A023030'), { code: 'tlv_duplicate_tag' });
  assert.throws(() => parseIssuerResponse('910A11'), { code: 'tlv_truncated' });
  assert.throws(() => parseIssuerResponse('91'.repeat(1000)), { code: 'tlv_too_large' });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      try {
        parseIssuerResponse(Buffer.from(bytes).toString('hex'));
      } catch (error) {
        assert.ok(error instanceof EmvError, String(error));
      }
    }),
  );
});
