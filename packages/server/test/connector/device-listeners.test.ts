// The listeners of a platform: the authentication that the settings require, until the platform
// stops.

import assert from 'node:assert/strict';
import { lookup } from 'node:dns/promises';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Application, createApplication } from '../../src/application.ts';
import {
  createLog,
  ensureListenerCertificate,
  readSettings,
  systemClock,
  systemIdGenerator,
} from '../../src/platform/index.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { freePorts } from '../support/free-ports.ts';
import { highLoadLimits } from '../support/high-load-limits.ts';
import {
  type CertificateAndKey,
  createCertificateRequest,
} from '../support/provisioning/test-devices.ts';
import { merchantBody } from '../support/provisioning/test-provisioning.ts';

const path = '/oauth2-mtls/v1/merchants-credentials';

describe('the listeners of a server', () => {
  let dataDir: string;
  let ca: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-listeners-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  async function openApplication(clientCertificates: 'on' | 'off') {
    const [port = 0, devicePort = 0] = await freePorts(2);
    const settings = readSettings({
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_PORT: String(port),
      SWITCHYARD_DEVICE_PORT: String(devicePort),
      SWITCHYARD_CLIENT_CERTIFICATES: clientCertificates,
    });
    const log = createLog({ logLevel: 'silent', instanceName: 'test' });
    const tls = await ensureListenerCertificate({ settings, clock: systemClock });
    ca = await readFile(tls.caFile, 'utf8');
    const application = await createApplication({
      settings,
      database: await testDatabase(),
      log,
      tls,
      loadLimits: highLoadLimits,
    });
    await application.http.listen();
    return { application, port, devicePort };
  }

  async function certify({ provisioning, identity }: Application): Promise<CertificateAndKey> {
    const organizationId = systemIdGenerator.uuid();
    const scope = { organizationId };
    await provisioning.organizations.create(scope, { name: 'Acquirer' }, organizationId);
    await identity.createUserDomain({ userDomainId: `realm-${organizationId}`, organizationId });
    const { view: merchant } = await provisioning.merchants.create(scope, merchantBody('Shop'));
    const { merchantId } = merchant;
    const { view: store } = await provisioning.stores.create(scope, { merchantId, name: 'Store' });
    const { view: place } = await provisioning.logicalDevices.create(scope, {
      storeId: store.storeId,
      name: 'Till',
    });
    const { view: hardware } = await provisioning.physicalDevices.create(scope, {
      // A terminal can belong to only one organisation of the platform, so each has its own serial
      // number.
      serialNumber: organizationId.slice(-12),
      make: 'AXIUM',
      model: 'DX8000',
      family: 'axium',
    });
    const { physicalDeviceId } = hardware;
    await provisioning.logicalDevices.linkPhysicalDevices(scope, place.logicalDeviceId, [
      physicalDeviceId,
    ]);
    const { key, csr: certificateRequest } = await createCertificateRequest();
    const input = { certificateRequest };
    const made = await identity.devices.certificates.enrol(scope, physicalDeviceId, input);
    return { key, cert: made.certificateChain };
  }

  /**
   * Requests by IP address: localhost may have an IPv4 and an IPv6 address, and both must be open.
   */
  function statusOf(
    host: string,
    port: number,
    certificate: CertificateAndKey,
  ): Promise<number | undefined> {
    const agent = new Agent({ ca, ...certificate });
    return new Promise((resolve, reject) => {
      const sent = request({ host, port, path, agent }, (answer) => {
        answer.resume().on('end', () => {
          agent.destroy();
          resolve(answer.statusCode);
        });
      });
      sent.on('error', reject).end();
    });
  }

  for (const [setting, status] of [
    ['on', 200],
    ['off', 401],
  ] as const) {
    it(`with CLIENT_CERTIFICATES=${setting} the API answers a device with ${status}`, async () => {
      const { application, port, devicePort } = await openApplication(setting);
      let certificate: CertificateAndKey;
      try {
        certificate = await certify(application);
        assert.equal(await statusOf('127.0.0.1', port, certificate), status);
        for (const { address } of await lookup('localhost', { all: true })) {
          assert.equal(await statusOf(address, devicePort, certificate), 200, address);
        }
      } finally {
        await application.stop();
      }
      for (const closedPort of [port, devicePort]) {
        await assert.rejects(statusOf('127.0.0.1', closedPort, certificate), {
          code: 'ECONNREFUSED',
        });
      }
    });
  }
});
