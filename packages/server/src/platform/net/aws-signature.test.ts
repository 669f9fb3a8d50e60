// Signature Version 4 against the values of its published test suite.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signAwsRequest } from './aws-signature.ts';

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const scope = {
  service: 'service',
  region: 'us-east-1',
  credentials,
  now: Date.parse('2015-08-30T12:36:00.123Z'),
};

const signatureOf = async (
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body = '',
) => {
  const signed = await signAwsRequest({ method, url: new URL(url), headers, body }, scope);
  assert.equal(signed['x-amz-date'], '20150830T123600Z');
  assert.equal(signed['host'], undefined);
  const [, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20150830\/us-east-1\/service\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      signed['authorization'] ?? '',
    ) ?? [];
  return [names, signature];
};

describe('AWS Signature Version 4', () => {
  it('signatures equal those of the published test suite', async () => {
    assert.deepEqual(await signatureOf('GET', 'https://example.amazonaws.com/'), [
      'host;x-amz-date',
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    ]);
    assert.deepEqual(await signatureOf('POST', 'https://example.amazonaws.com/'), [
      'host;x-amz-date',
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ]);
    assert.deepEqual(
      await signatureOf(
        'POST',
        'https://example.amazonaws.com/',
        { 'content-type': 'application/x-www-form-urlencoded' },
        'Param1=value1',
      ),
      [
        'content-type;host;x-amz-date',
        'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
      ],
    );
    assert.deepEqual(
      await signatureOf('GET', 'https://example.amazonaws.com/?Param2=value2&Param1=value1'),
      ['host;x-amz-date', 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'],
    );
  });

  it('the path is encoded twice, and the session token is signed', async () => {
    const url = new URL('https://example.amazonaws.com/keys/arn%3Aaws%2Fkey/decrypt');
    const request = { method: 'POST', url, headers: {}, body: '{}' };
    const plain = await signAwsRequest(request, scope);
    const session = { ...credentials, sessionToken: 'token' };
    const signed = await signAwsRequest(request, { ...scope, credentials: session });
    assert.equal(signed['x-amz-security-token'], 'token');
    assert.match(
      signed['authorization'] ?? '',
      /SignedHeaders=host;x-amz-date;x-amz-security-token,/,
    );
    const decoded = new URL('https://example.amazonaws.com/keys/arn:aws/key/decrypt');
    const other = await signAwsRequest({ ...request, url: decoded }, scope);
    assert.notEqual(plain['authorization'], other['authorization']);
    const changed = await signAwsRequest({ ...request, body: '{ }' }, scope);
    assert.notEqual(plain['authorization'], changed['authorization']);
  });
});
