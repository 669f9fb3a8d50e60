import assert from 'node:assert/strict';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { defined } from '@switchyard/contract';
import { type Answer, type DeviceScene, openDevices, type Shown } from '../../../test/devices.ts';
import { type DeviceSubject, issueDeviceCertificate, makeAuthority } from './issue.ts';

const path = '/oauth2-mtls/v1/merchants-credentials';
const dayMs = 86_400_000;

type Authority = { readonly certificate: string; readonly privateKey: KeyObject };

const validity = (days = 30) => ({
  notBefore: new Date(Date.now() - dayMs),
  notAfter: new Date(Date.now() + days * dayMs),
});

async function makeOperator(name: string): Promise<Authority> {
  const { certificate, privateKey: key } = await makeAuthority(name, validity());
  return { certificate, privateKey: createPrivateKey({ key, format: 'der', type: 'pkcs8' }) };
}

async function signBy(authority: Authority, subject: DeviceSubject, days?: number): Promise<Shown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const cert = await issueDeviceCertificate(authority, {
    publicKey: createPublicKey(privateKey),
    subject,
    certificateSerial: '4c',
    validity: validity(days),
  });
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

function assertCode({ status, body }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
}

describe('an authority of the operator', () => {
  let scene: DeviceScene;
  let directory: string;
  let operator: Authority;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-device-ca-'));
    operator = await makeOperator('Terminals Ltd');
    const other = await makeOperator('Terminals Ltd, second line');
    const authorityFile = join(directory, 'devices.pem');
    await writeFile(authorityFile, `${other.certificate}\n${operator.certificate}`);
    scene = await openDevices({ authorityFile });
  });
  after(async () => {
    await scene.close();
    await rm(directory, { recursive: true, force: true });
  });

  const register = (physicalDeviceId: string, certificate: string) =>
    scene.api(`/provisioning/v2/physical-devices/${physicalDeviceId}/certificates`, {
      token: scene.token,
      json: { certificate },
    });

  it('vouches for devices whose certificates were made known, and can be overruled', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await scene.place();
    const shown = await signBy(operator, { serialNumber, tsn });
    assertCode(await scene.device(path, { shown }), 401, 'certificate_invalid');
    const made = await register(physicalDeviceId, shown.cert);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.ok(made.body.certificateChain.endsWith(operator.certificate));
    assert.equal((await scene.device(path, { shown })).status, 200);
    assertCode(await register(physicalDeviceId, shown.cert), 409, 'already_exists');
    const { thumbprint } = made.body;
    await scene.api(
      `/provisioning/v2/physical-devices/${physicalDeviceId}/certificates/${thumbprint}/revoke`,
      { method: 'POST', token: scene.token },
    );
    assertCode(await scene.device(path, { shown }), 401, 'certificate_revoked');
  });

  it('may name the terminal in full or by its serial number, in either place of the subject', async () => {
    for (const subject of [
      (serialNumber: string, tsn: string) => ({ serialNumber: tsn, tsn: serialNumber }),
      (serialNumber: string) => ({ serialNumber, tsn: 'Till 7' }),
    ]) {
      const { physicalDeviceId, serialNumber, tsn } = await scene.place();
      const shown = await signBy(operator, subject(serialNumber, tsn));
      assert.equal((await register(physicalDeviceId, shown.cert)).status, 201);
    }
  });

  it('is believed in nothing else', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await scene.place();
    const subject = { serialNumber, tsn };
    const stranger = await makeOperator('Terminals Ltd');
    const another = await scene.place();
    const own = await scene.certify(physicalDeviceId);
    const wrong: Readonly<Record<string, string>> = {
      'of another authority with its name': (await signBy(stranger, subject)).cert,
      'of another terminal': (await signBy(operator, another)).cert,
      expired: (await signBy(operator, subject, -0.5)).cert,
      'its own': operator.certificate,
      'of the platform': own.certificateChain,
      broken: operator.certificate.replace(/A/g, 'B'),
    };
    for (const [what, certificate] of Object.entries(wrong)) {
      const answer = await register(physicalDeviceId, certificate);
      assert.deepEqual([answer.status, answer.body.code], [422, 'field_invalid'], what);
      assert.equal(answer.body.errors[0].pointer, '/certificate');
    }
  });
});

describe('a proxy that ends TLS', () => {
  let scene: DeviceScene;
  const proxy = '10.7.0.1';
  before(async () => {
    scene = await openDevices({ trustedProxy: ['10.7.0.0/16'] });
  });
  after(() => scene.close());

  /** As the proxy hands it on (RFC 9440); injected requests have no TLS of their own. */
  async function pass(cert: string | undefined, remoteAddress = proxy): Promise<Answer> {
    const header = cert && `:${new X509Certificate(cert).raw.toString('base64')}:`;
    const answer = await scene.app.inject({
      url: path,
      remoteAddress,
      headers: defined({ 'client-cert': header }),
    });
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() };
  }

  it('hands certificates on, which are checked here all the same', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await scene.place();
    const shown = await scene.certify(physicalDeviceId);
    assert.equal((await pass(shown.cert)).status, 200);
    assertCode(await pass(undefined), 401, 'certificate_required');
    const rogue = await signBy(await makeOperator('Switchyard'), { serialNumber, tsn });
    assertCode(await pass(rogue.cert), 401, 'certificate_invalid');
    const [authority = ''] = await scene.identity.devices.authorities();
    assertCode(await pass(authority), 401, 'certificate_invalid');
    const { organizationId, identity } = scene;
    const { thumbprint } = shown;
    await identity.devices.certificates.revoke(
      { organizationId },
      physicalDeviceId,
      thumbprint,
      'KeyCompromise',
    );
    assertCode(await pass(shown.cert), 401, 'certificate_revoked');
  });

  it('is believed from its own address alone', async () => {
    const { physicalDeviceId } = await scene.place();
    const { cert } = await scene.certify(physicalDeviceId);
    for (const address of ['192.0.2.1', '127.0.0.1', '::1', '10.8.0.1']) {
      assertCode(await pass(cert, address), 401, 'certificate_required');
    }
    const shown = await scene.certify(physicalDeviceId);
    const header = `:${new X509Certificate(cert).raw.toString('base64')}:`;
    const headers = { 'client-cert': header };
    assertCode(await scene.device(path, { headers }), 401, 'certificate_required');
    assert.equal((await scene.device(path, { headers, shown })).status, 200);
  });

  it('sees a certificate expire', async () => {
    const { physicalDeviceId } = await scene.place();
    const { cert } = await scene.certify(physicalDeviceId);
    assert.equal((await pass(cert)).status, 200);
    scene.clock.advance(366 * dayMs);
    assertCode(await pass(cert), 401, 'certificate_expired');
  });
});
