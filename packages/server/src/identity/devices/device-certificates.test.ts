import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { type DeviceCertificate, defined } from '@switchyard/contract';
import {
  type Answer,
  createCertificateRequest,
  type DeviceRequestOptions,
  type KeyKind,
  openDevices,
  type TestDevices,
} from '../../../test/support/provisioning/test-devices.ts';
import { systemIdGenerator } from '../../platform/index.ts';
import { maxActiveCertificates } from './device-certificates.ts';

const urlOf = (physicalDeviceId: string, more = '') =>
  `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates${more}`;

function assertRefused({ status, body }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
}

describe('device certificates', () => {
  let setup: TestDevices;
  before(async () => {
    setup = await openDevices();
  });
  after(() => setup.close());

  const post = (physicalDeviceId: string, request: DeviceRequestOptions) =>
    setup.api(urlOf(physicalDeviceId), { token: setup.token, ...request });

  for (const kind of ['P-256', 'P-384', 'RSA-2048'] as const satisfies KeyKind[]) {
    // Spec: TERM-2
    it(`are signed for a request with a key of ${kind}`, async () => {
      const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
      const { csr, key } = await createCertificateRequest(kind, 'CN=another name, 2.5.4.5=666');
      const answer = await post(physicalDeviceId, { json: { certificateRequest: csr } });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      const made: DeviceCertificate = answer.body;
      assert.equal(answer.headers['location'], urlOf(physicalDeviceId, `/${made.thumbprint}`));
      const [response = '', authority = ''] = made.certificateChain.split(/(?<=-----END.*\n)/);
      const certificate = new X509Certificate(response);
      const issuer = new X509Certificate(authority);
      assert.equal(certificate.subject, `serialNumber=${serialNumber}\nCN=${tsn}`);
      assert.ok(certificate.verify(issuer.publicKey) && certificate.checkIssued(issuer));
      assert.equal(certificate.ca, false);
      assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2']);
      assert.equal(made.certificateSerial, certificate.serialNumber.toLowerCase());
      assert.equal(made.status, 'Active');
      const days = (Date.parse(made.notAfter) - setup.clock.now()) / 86_400_000;
      assert.ok(days > 364.9 && days <= 365, String(days));
      const credentials = await setup.device('/oauth2-mtls/v1/merchants-credentials', {
        certificate: { cert: made.certificateChain, key },
      });
      assert.equal(credentials.status, 200, JSON.stringify(credentials.body));
    });
  }

  // Spec: IDENT-31
  it('are signed for a PKCS#10 body, as DER and as PEM', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { der, csr } = await createCertificateRequest();
    for (const raw of [der, csr]) {
      const headers = { 'content-type': 'application/pkcs10' };
      const answer = await post(physicalDeviceId, { raw, headers });
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
    }
  });

  it('are refused for weak keys, and for requests without a valid signature', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { csr } = await createCertificateRequest();
    const { der } = await createCertificateRequest('RSA-2048');
    const broken = Buffer.from(der);
    broken.writeUInt8(broken.readUInt8(broken.length - 1) ^ 1, broken.length - 1);
    const requests = [
      (await createCertificateRequest('P-521')).csr,
      (await createCertificateRequest('RSA-1024')).csr,
      (await createCertificateRequest('RSA-2048 with SHA-1')).csr,
      csr.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE'),
      csr.slice(0, 200),
      'nonsense',
      broken,
      der.subarray(0, der.length - 10),
      Buffer.alloc(0),
    ];
    for (const certificateRequest of requests) {
      const answer = await post(
        physicalDeviceId,
        typeof certificateRequest === 'string'
          ? { json: { certificateRequest } }
          : { raw: certificateRequest, headers: { 'content-type': 'application/pkcs10' } },
      );
      assertRefused(answer, 422, 'certificate_request_invalid');
      assert.equal(answer.body.errors[0].pointer, '/certificateRequest');
    }
  });

  it('are refused for bodies that are too large, of another type, or of neither member', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { csr } = await createCertificateRequest();
    const headers = { 'content-type': 'application/pkcs10' };
    const large = await post(physicalDeviceId, { raw: Buffer.alloc(65_536, 65), headers });
    assertRefused(large, 413, 'payload_too_large');
    const form = await post(physicalDeviceId, { form: { certificateRequest: csr } });
    assertRefused(form, 415, 'unsupported_media_type');
    assertRefused(await post(physicalDeviceId, { json: {} }), 422, 'field_required');
    const bothMembers = { certificateRequest: csr, certificate: csr };
    assertRefused(await post(physicalDeviceId, { json: bothMembers }), 422, 'field_required');
    const more = { certificateRequest: csr, subject: 'CN=me' };
    assertRefused(await post(physicalDeviceId, { json: more }), 422, 'field_unknown');
    const response = await post(physicalDeviceId, { json: { certificate: csr } });
    assertRefused(response, 422, 'field_invalid');
  });

  it('are refused for another organisation, an unknown device, or without permission', async () => {
    const { physicalDeviceId, merchantId } = await setup.createTerminal();
    const otherOrganization = await openDevices();
    const { csr } = await createCertificateRequest();
    const json = { certificateRequest: csr };
    try {
      const foreign = await otherOrganization.api(urlOf(physicalDeviceId), {
        token: otherOrganization.token,
        json,
      });
      assertRefused(foreign, 404, 'device_not_found');
    } finally {
      await otherOrganization.close();
    }
    for (const id of [systemIdGenerator.uuid(), 'nonsense']) {
      assertRefused(await post(id, { json }), 404, 'device_not_found');
    }
    assertRefused(await setup.api(urlOf(physicalDeviceId), { json }), 401, 'token_missing');
    const till = await merchantToken(merchantId, 'Merchant');
    const unfit = await setup.api(urlOf(physicalDeviceId), { token: till, json });
    assertRefused(unfit, 403, 'permission_denied');
    const onboarding = await merchantToken(merchantId, 'Onboarding');
    const response = await setup.api(urlOf(physicalDeviceId), { token: onboarding, json });
    assert.equal(response.status, 201, JSON.stringify(response.body));
    const other = await setup.createTerminal();
    const beyond = await setup.api(urlOf(other.physicalDeviceId), { token: onboarding, json });
    assertRefused(beyond, 404, 'device_not_found');
  });

  async function merchantToken(merchantId: string, role: string): Promise<string> {
    const { organizationId, userDomainId, identity } = setup;
    const client = await identity.createApplication({
      organizationId,
      userDomainId,
      merchantId,
      name: role,
      entityType: 'merchant',
      entityId: merchantId,
      roles: [role],
      securityFlows: ['ClientCredentials'],
    });
    const { clientId: client_id, clientSecret: client_secret } = client;
    const form = { grant_type: 'client_credentials', client_id, client_secret };
    return (await setup.api(`/oauth2/v1/${userDomainId}/token`, { form })).body.access_token;
  }

  it('are listed in pages, read, and revoked once', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      made.push((await setup.certify(physicalDeviceId)).thumbprint);
      setup.clock.advance(1);
    }
    const read = (more: string, request: DeviceRequestOptions = {}) =>
      setup.api(urlOf(physicalDeviceId, more), { token: setup.token, ...request });
    const first = await read('?limit=2');
    assert.deepEqual(
      first.body.items.map((item: DeviceCertificate) => item.thumbprint),
      made.slice(0, 2),
    );
    const rest = await read(`?limit=2&cursor=${first.body.nextCursor}`);
    assert.deepEqual(
      rest.body.items.map((item: DeviceCertificate) => item.thumbprint),
      made.slice(2),
    );
    assert.equal(rest.body.nextCursor, null);
    const other = await setup.createTerminal();
    const elsewhere = await setup.api(
      urlOf(other.physicalDeviceId, `?limit=2&cursor=${first.body.nextCursor}`),
      { token: setup.token },
    );
    assertRefused(elsewhere, 422, 'cursor_invalid');

    const revoke = (thumbprint: string | undefined, json?: unknown) =>
      read(`/${thumbprint}/revoke`, { method: 'POST', ...defined({ json }) });
    const revoked = await revoke(made[0], { reason: 'KeyCompromise' });
    assert.equal(revoked.status, 200, JSON.stringify(revoked.body));
    assert.equal(revoked.body.status, 'Revoked');
    setup.clock.advance(1000);
    assert.deepEqual((await revoke(made[0])).body, revoked.body);
    const { certificateChain: _chain, ...facts } = revoked.body;
    assert.deepEqual((await read('')).body.items[0], facts);
    assert.equal((await revoke(made[1])).body.revocationReason, 'Unspecified');
    assertRefused(await revoke(made[2], { reason: 'Boredom' }), 422, 'field_invalid');
    assertRefused(await revoke('a'.repeat(43)), 404, 'resource_not_found');
    assertRefused(await read(`/${'a'.repeat(43)}`), 404, 'resource_not_found');
    const borrowed = await setup.api(urlOf(other.physicalDeviceId, `/${made[2]}`), {
      token: setup.token,
    });
    assertRefused(borrowed, 404, 'resource_not_found');
    assert.equal((await read(`/${made[2]}`)).body.status, 'Active');
  });

  it('have a maximum number, without revoked and expired ones', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { csr } = await createCertificateRequest();
    const json = { certificateRequest: csr };
    const made: string[] = [];
    for (let count = 0; count < maxActiveCertificates; count += 1) {
      made.push((await post(physicalDeviceId, { json })).body.thumbprint);
    }
    assertRefused(await post(physicalDeviceId, { json }), 409, 'certificate_limit_reached');
    const path = urlOf(physicalDeviceId, `/${made[0]}/revoke`);
    await setup.api(path, { token: setup.token, json: { reason: 'Superseded' } });
    assert.equal((await post(physicalDeviceId, { json })).status, 201);
  });
});
