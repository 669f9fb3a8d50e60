// Whole run: devices, accounts or nodes are prepared for each test.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  type Answer,
  openDevices,
  type TestDevices,
} from '../../../test/support/provisioning/test-devices.ts';
import {
  createManufacturer,
  type Manufacturer,
  writeManufacturerCaFile,
} from '../../../test/support/provisioning/test-manufacturer.ts';

const path = '/oauth2-mtls/v1/merchants-credentials';
const dayMs = 86_400_000;

function assertCode({ status, body }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
}

describe('an authority of the operator', () => {
  let setup: TestDevices;
  let operator: Manufacturer;
  before(async () => {
    operator = await createManufacturer('Terminals Ltd');
    const other = await createManufacturer('Terminals Ltd, second line');
    setup = await openDevices({ authorityFile: await writeManufacturerCaFile(other, operator) });
  });
  after(() => setup.close());

  const register = (physicalDeviceId: string, certificate: string) =>
    setup.api(`/provisioning/v2/physical-devices/${physicalDeviceId}/certificates`, {
      token: setup.token,
      json: { certificate },
    });

  it('is trusted for devices with registered certificates, which can be revoked', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
    const certificate = await operator.issueCertificate({ serialNumber, tsn });
    assertCode(await setup.device(path, { certificate }), 401, 'certificate_invalid');
    const made = await register(physicalDeviceId, certificate.cert);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.ok(made.body.certificateChain.endsWith(operator.certificate));
    assert.equal((await setup.device(path, { certificate })).status, 200);
    assertCode(await register(physicalDeviceId, certificate.cert), 409, 'already_exists');
    const { thumbprint } = made.body;
    await setup.api(
      `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates/${thumbprint}/revoke`,
      { method: 'POST', token: setup.token },
    );
    assertCode(await setup.device(path, { certificate }), 401, 'certificate_revoked');
  });

  it('may name the terminal in full or by its serial number, in either place of the subject', async () => {
    for (const subject of [
      (serialNumber: string, tsn: string) => ({ serialNumber: tsn, tsn: serialNumber }),
      (serialNumber: string) => ({ serialNumber, tsn: 'Till 7' }),
    ]) {
      const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
      const certificate = await operator.issueCertificate(subject(serialNumber, tsn));
      assert.equal((await register(physicalDeviceId, certificate.cert)).status, 201);
    }
  });

  it('is trusted for nothing else', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
    const subject = { serialNumber, tsn };
    const otherManufacturer = await createManufacturer('Terminals Ltd');
    const another = await setup.createTerminal();
    const ownCertificate = await setup.certify(physicalDeviceId);
    const wrong: Readonly<Record<string, string>> = {
      'of another authority with its name': (await otherManufacturer.issueCertificate(subject))
        .cert,
      'of another terminal': (await operator.issueCertificate(another)).cert,
      expired: (await operator.issueCertificate(subject, -0.5)).cert,
      'its own': operator.certificate,
      'of the platform': ownCertificate.certificateChain,
      broken: operator.certificate.replace(/A/g, 'B'),
    };
    for (const [what, certificate] of Object.entries(wrong)) {
      const answer = await register(physicalDeviceId, certificate);
      assert.deepEqual([answer.status, answer.body.code], [422, 'field_invalid'], what);
      assert.equal(answer.body.errors[0].pointer, '/certificate');
    }
  });
});

describe('a proxy that terminates TLS', () => {
  let setup: TestDevices;
  const proxy = '10.7.0.1';
  before(async () => {
    setup = await openDevices({ trustedProxy: ['10.7.0.0/16'] });
  });
  after(() => setup.close());

  /** The header of the proxy (RFC 9440); injected requests have no TLS. */
  async function pass(cert: string | undefined, remoteAddress = proxy): Promise<Answer> {
    const header = cert && `:${new X509Certificate(cert).raw.toString('base64')}:`;
    const answer = await setup.app.inject({
      url: path,
      remoteAddress,
      headers: defined({ 'client-cert': header }),
    });
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
  }

  it('forwards certificates, which the server validates too', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    assert.equal((await pass(certificate.cert)).status, 200);
    assertCode(await pass(undefined), 401, 'certificate_required');
    const rogue = await (await createManufacturer('Switchyard')).issueCertificate({
      serialNumber,
      tsn,
    });
    assertCode(await pass(rogue.cert), 401, 'certificate_invalid');
    const [authority = ''] = await setup.identity.devices.authorities();
    assertCode(await pass(authority), 401, 'certificate_invalid');
    const { organizationId, identity } = setup;
    const { thumbprint } = certificate;
    await identity.devices.certificates.revoke(
      { organizationId },
      physicalDeviceId,
      thumbprint,
      'KeyCompromise',
    );
    assertCode(await pass(certificate.cert), 401, 'certificate_revoked');
  });

  it('is trusted only from its own address', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { cert } = await setup.certify(physicalDeviceId);
    for (const address of ['192.0.2.1', '127.0.0.1', '::1', '10.8.0.1']) {
      assertCode(await pass(cert, address), 401, 'certificate_required');
    }
    const certificate = await setup.certify(physicalDeviceId);
    const header = `:${new X509Certificate(cert).raw.toString('base64')}:`;
    const headers = { 'client-cert': header };
    assertCode(await setup.device(path, { headers }), 401, 'certificate_required');
    assert.equal((await setup.device(path, { headers, certificate })).status, 200);
  });

  it('sees a certificate expire', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { cert } = await setup.certify(physicalDeviceId);
    assert.equal((await pass(cert)).status, 200);
    setup.clock.advance(366 * dayMs);
    assertCode(await pass(cert), 401, 'certificate_expired');
  });
});
