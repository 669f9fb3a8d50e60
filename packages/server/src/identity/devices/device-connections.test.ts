import assert from 'node:assert/strict';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  X509Certificate,
} from 'node:crypto';
import { once } from 'node:events';
import type { Agent } from 'node:https';
import { createConnection } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import {
  type Answer,
  type CertificateAndKey,
  makeCertificate,
  openDevices,
  type TestDevices,
} from '../../../test/support/provisioning/test-devices.ts';
import { createDeviceAuthorities } from './certificate-authority.ts';
import { createDeviceCertificateStore } from './device-certificate-sql.ts';
import { createAuthority, issueDeviceCertificate } from './issue-certificate.ts';
import { thumbprintOf } from './validate-certificate.ts';

const path = '/oauth2-mtls/v1/merchants-credentials';
const dayMs = 86_400_000;

function assertRefused({ status, headers, body }: Answer, code: string): void {
  assert.deepEqual([status, body.code], [401, code], JSON.stringify(body));
  assert.match(String(headers['www-authenticate']), /^Bearer /);
}

describe('connections of devices', () => {
  let setup: TestDevices;
  before(async () => {
    setup = await openDevices();
  });
  after(() => setup.close());

  const store = () => createDeviceCertificateStore(setup.database);

  /** Signed by the platform's authority, with a validity that the platform would not issue. */
  async function certifyFor(from: number, to: number, isKept = true): Promise<CertificateAndKey> {
    const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { clock, masterKey, organizationId } = setup;
    const authorities = createDeviceAuthorities({ store: store(), clock, masterKey });
    const notBefore = new Date(clock.now() + from);
    const notAfter = new Date(clock.now() + to);
    const pem = await issueDeviceCertificate(await authorities.findSigner(), {
      publicKey: createPublicKey(privateKey),
      subject: { serialNumber, tsn },
      certificateSerial: '4a',
      validity: { notBefore, notAfter },
    });
    if (isKept) {
      await store().insert(
        {
          organizationId,
          physicalDeviceId,
          serialNumber,
          thumbprint: thumbprintOf(new X509Certificate(pem)),
          certificateSerial: '4a',
          certificate: pem,
          notBefore: notBefore.getTime(),
          notAfter: notAfter.getTime(),
          createdAt: clock.now(),
        },
        async () => {},
      );
    }
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    return { cert: pem, key };
  }

  /** From another authority with the same name as the platform's. */
  async function certifyRogue(): Promise<CertificateAndKey> {
    const { serialNumber, tsn } = await setup.createTerminal();
    const [pem = ''] = await setup.identity.devices.authorities();
    const name = /CN=(.*)/.exec(new X509Certificate(pem).subject)?.[1] ?? '';
    const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(2e12) };
    const rogue = await createAuthority(name, validity);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const key = createPrivateKey({ key: rogue.privateKey, format: 'der', type: 'pkcs8' });
    const cert = await issueDeviceCertificate(
      { certificate: rogue.certificate, privateKey: key },
      {
        publicKey: createPublicKey(privateKey),
        subject: { serialNumber, tsn },
        certificateSerial: '4b',
        validity,
      },
    );
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
  }

  const requestToken = (certificate: CertificateAndKey | undefined) =>
    setup.device(path, { certificate });
  const tokenOf = (certificate: CertificateAndKey | undefined) =>
    setup.device('/oauth2-mtls/v1/token', {
      certificate,
      form: { grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' },
    });

  async function assertTurnedAway(
    certificate: CertificateAndKey | undefined,
    code: string,
  ): Promise<void> {
    assertRefused(await requestToken(certificate), code);
    assertRefused(await setup.api(path, { certificate }), code);
    const { status, body } = await tokenOf(certificate);
    assert.deepEqual([status, body.error], [401, 'invalid_client']);
  }

  it('without a certificate are refused', () =>
    assertTurnedAway(undefined, 'certificate_required'));

  // Spec: TERM-1
  it('with a self-signed certificate, or one of an unknown authority, are refused', async () => {
    await assertTurnedAway(await makeCertificate('device'), 'certificate_invalid');
    await assertTurnedAway(await certifyRogue(), 'certificate_invalid');
  });

  it('with an expired certificate are refused', async () => {
    await assertTurnedAway(await certifyFor(-2 * dayMs, -dayMs), 'certificate_expired');
  });

  it('with a certificate that is not yet valid are refused', async () => {
    await assertTurnedAway(await certifyFor(dayMs, 2 * dayMs), 'certificate_invalid');
  });

  it('with a signed but unregistered certificate are refused', async () => {
    await assertTurnedAway(await certifyFor(-dayMs, dayMs, false), 'certificate_invalid');
  });

  // Spec: MTLS-5 LIM-4
  it('speak TLS 1.2 and 1.3 and nothing older', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    for (const version of ['TLSv1.2', 'TLSv1.3']) {
      const agent = setup.agent(certificate, { minVersion: version, maxVersion: version });
      assert.equal((await setup.device(path, { agent })).status, 200, version);
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    const agent = setup.agent(certificate, old);
    await assert.rejects(setup.device(path, { agent }), { code: /ERR_SSL|EPROTO/ });
  });

  it('without proof of possession of the private key are refused', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const { cert } = await setup.certify(physicalDeviceId);
    const other = await setup.certify((await setup.createTerminal()).physicalDeviceId);
    assert.throws(() => connect({ port: setup.devicePort, cert, key: other.key }));
  });

  const url = (physicalDeviceId: string, thumbprint: string) =>
    `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates/${thumbprint}/revoke`;

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    // Spec: IDENT-32
    it(`with a revoked certificate are refused, also over a resumed session of ${version}`, async () => {
      const { physicalDeviceId } = await setup.createTerminal();
      const certificate = await setup.certify(physicalDeviceId);
      const agent = setup.agent(certificate, { minVersion: version, maxVersion: version });
      const { client_id } = await setup.credentials(certificate);
      assert.equal((await setup.device(path, { agent })).status, 200);
      closeIdle(agent);
      assert.equal((await setup.device(path, { agent })).status, 200);
      assert.equal(socketOf(agent).isSessionReused(), true);

      const revoked = await setup.api(url(physicalDeviceId, certificate.thumbprint), {
        method: 'POST',
        token: setup.token,
      });
      assert.equal(revoked.status, 200, JSON.stringify(revoked.body));
      // The open connection, and the next one, which resumes its TLS session.
      assertRefused(await setup.device(path, { agent }), 'certificate_revoked');
      closeIdle(agent);
      assertRefused(await setup.device(path, { agent }), 'certificate_revoked');
      assert.equal(socketOf(agent).isSessionReused(), true);
      await assertTurnedAway(certificate, 'certificate_revoked');
      const remaining = await setup.database.query(
        'SELECT 1 FROM device_secrets WHERE organization_id = $1 AND client_id = $2',
        [setup.organizationId, client_id],
      );
      assert.equal(remaining.length, 0);
    });
  }

  it('learn of a revocation by another process: new ones at once, open ones within half a minute', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    const agent = setup.agent(certificate);
    assert.equal((await setup.device(path, { agent })).status, 200);
    const now = setup.clock.now();
    await store().revoke(
      setup.organizationId,
      certificate.thumbprint,
      'KeyCompromise',
      now,
      async () => {},
    );
    assertRefused(await requestToken(certificate), 'certificate_revoked');
    setup.clock.advance(30_000);
    assertRefused(await setup.device(path, { agent }), 'certificate_revoked');
  });

  it('that are bound to a revoked certificate lose their tokens too', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    const form = { grant_type: 'client_credentials', ...(await setup.credentials(certificate)) };
    const { access_token: token } = (
      await setup.device('/oauth2-mtls/v1/token', { form, certificate })
    ).body;
    const list = `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates`;
    const agent = setup.agent(certificate);
    assert.equal((await setup.api(list, { agent, token })).status, 200);
    await setup.api(url(physicalDeviceId, certificate.thumbprint), {
      method: 'POST',
      token: setup.token,
    });
    for (const answer of [
      await setup.api(list, { agent, token }),
      await setup.api(list, { certificate, token }),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [401, 'token_invalid']);
    }
  });

  it('that never finish their handshake do not delay others', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    const silent = createConnection({ port: setup.devicePort, host: '127.0.0.1' });
    await once(silent, 'connect');
    silent.write(Buffer.from([0x16, 0x03, 0x01]));
    assert.equal((await requestToken(certificate)).status, 200);
    silent.destroy();
  });
});

function closeIdle(agent: Agent): void {
  for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
}

function socketOf(agent: Agent): TLSSocket {
  const [socket] = Object.values(agent.freeSockets).flat();
  assert.ok(socket !== undefined);
  return socket as TLSSocket;
}
