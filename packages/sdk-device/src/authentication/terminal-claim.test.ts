// A terminal requests its claim, with a small platform over real TLS.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type TestCertificates, testCertificates } from '../testing/certificates.fixture.ts';
import {
  type FakeAnswer,
  type FakePlatform,
  problem,
  startFakePlatform,
} from '../testing/fake-platform.fixture.ts';
import { claimTerminal } from './terminal-claim.ts';

describe('the client of the claim interface', () => {
  let certificates: TestCertificates;
  let platform: FakePlatform;
  before(async () => {
    certificates = await testCertificates();
    platform = await startFakePlatform(certificates);
  });
  after(() => platform.stop());

  const claim = (answer: FakeAnswer) => {
    platform.answer = () => answer;
    return claimTerminal({
      deviceAuthUrl: `${platform.url}/`,
      tls: { ca: certificates.ca, ...certificates.device },
      userDomain: 'acme',
    });
  };

  test('sends its certificate and user domain and reads the claim status', async () => {
    for (const claimStatus of ['Unclaimed', 'Claimed'] as const) {
      assert.equal(await claim({ status: 200, body: { claimStatus } }), claimStatus);
    }
    const [asked] = platform.requests;
    assert.deepEqual(
      [asked?.method, asked?.path, asked?.body],
      ['POST', '/oauth2-mtls/v1/claims', '{"userDomain":"acme"}'],
    );
    assert.notEqual(asked?.certificateName, undefined);
  });

  test('throws the error code of the platform and rejects an invalid response', async () => {
    await assert.rejects(claim(problem(401, 'certificate_invalid')), {
      code: 'certificate_invalid',
      retryable: false,
      message: 'the request was refused: 401 certificate_invalid: certificate_invalid',
    });
    const oauth = { error: 'invalid_client', error_description: 'Unknown client.' };
    await assert.rejects(claim({ status: 401, body: oauth }), {
      code: 'invalid_client',
      message: 'the request was refused: 401 invalid_client: Unknown client.',
    });
    await assert.rejects(claim({ status: 200, body: { claimStatus: 'Perhaps' } }), {
      code: 'bad_answer',
    });
    await assert.rejects(
      claimTerminal({ deviceAuthUrl: 'http://pay.example', tls: {}, userDomain: 'acme' }),
      { code: 'address_invalid' },
    );
  });
});
