// Whole run: devices, accounts or nodes are prepared for each test.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type Answer,
  type CertificateAndKey,
  openDevices,
  type TestDevices,
} from '../../../test/support/provisioning/test-devices.ts';
import type { AuditChange } from '../infrastructure/audit-port.ts';

const path = '/oauth2-mtls/v1/merchants-credentials';

function assertRefused({ status, body }: Answer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
}

describe('merchants-credentials', () => {
  let setup: TestDevices;
  const changes: AuditChange[] = [];
  before(async () => {
    const recordChange = async (_trx: unknown, change: AuditChange) => void changes.push(change);
    setup = await openDevices({ recordChange });
  });
  after(() => setup.close());

  const requestCredentials = (certificate: CertificateAndKey | undefined, query = '') =>
    setup.device(`${path}${query}`, { certificate });

  /** The valid secrets of a device, newest first. */
  async function aliveSecrets(thumbprint: string) {
    return setup.database.query<{ client_id: string; expires_at: Date | null }>(
      `SELECT client_id, expires_at FROM device_secrets
       WHERE organization_id = $1 AND thumbprint = $2
         AND (expires_at IS NULL OR expires_at > $3)
       ORDER BY expires_at DESC NULLS FIRST`,
      [setup.organizationId, thumbprint, new Date(setup.clock.now()).toISOString()],
    );
  }

  // Spec: MCRED-1 MCRED-2 MCRED-3 MTLS-1 SET-17
  it('answers the array of the specification, at both listeners', async () => {
    const location = await setup.createTerminal();
    const certificate = await setup.certify(location.physicalDeviceId);
    for (const answer of [
      await requestCredentials(certificate),
      await setup.api(path, { certificate }),
    ]) {
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      assert.equal(answer.headers['cache-control'], 'no-store');
      const [{ clientSecret, ...rest }, ...others] = answer.body;
      assert.deepEqual(others, []);
      assert.deepEqual(rest, {
        merchantName: 'Shop',
        userDomain: setup.userDomainId,
        clientId: `device-${location.merchantId}`,
      });
      assert.match(clientSecret, /^[A-Za-z0-9_-]{43}$/);
    }
  });

  it('records in the audit log that a secret was created, without the secret', async () => {
    const location = await setup.createTerminal();
    const certificate = await setup.certify(location.physicalDeviceId);
    const { body } = await requestCredentials(certificate);
    const [created, ...others] = changes.filter(
      ({ action, entity }) =>
        action === 'deviceCertificate.secretMade' && entity.id === certificate.thumbprint,
    );
    assert.deepEqual(others, []);
    assert.deepEqual(created?.after, { clientId: `device-${location.merchantId}` });
    assert.equal(created?.entity.merchantId, location.merchantId);
    assert.equal(JSON.stringify(changes).includes(body[0].clientSecret), false);
  });

  // Spec: IDENT-27
  it('after many concurrent calls, two secrets remain, and the last one works', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => requestCredentials(certificate)),
    );
    for (const answer of answers) assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const secrets = new Set(answers.map(({ body }) => body[0].clientSecret));
    assert.equal(secrets.size, answers.length);
    const alive = await aliveSecrets(certificate.thumbprint);
    assert.equal(alive.length, 2);
    assert.deepEqual(
      alive.map(({ expires_at }) => expires_at === null),
      [true, false],
    );
  });

  it('the devices of a merchant share an application, also after concurrent first calls', async () => {
    const first = await setup.createTerminal();
    const { merchantId } = first;
    const others = [
      await setup.createTerminal({ merchantId }),
      await setup.createTerminal({ merchantId }),
    ];
    const certificate: CertificateAndKey[] = [];
    for (const { physicalDeviceId } of [first, ...others]) {
      certificate.push(await setup.certify(physicalDeviceId));
    }
    const answers = await Promise.all(
      certificate.map((certificate) => requestCredentials(certificate)),
    );
    assert.deepEqual(
      answers.map(({ body }) => body[0]?.clientId),
      certificate.map(() => `device-${merchantId}`),
    );
    const { identity, organizationId } = setup;
    await identity.setApplicationStatus(organizationId, `device-${merchantId}`, 'Disabled');
    assertRefused(await requestCredentials(certificate[0]), 403, 'device_not_active');
  });

  // Spec: TERM-2 IDENT-33
  it('a serial number that is sent must be that of the certificate', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    const other = await setup.createTerminal();
    for (const name of [serialNumber, tsn]) {
      assert.equal(
        (await requestCredentials(certificate, `?serial_number=${name}`)).status,
        200,
        name,
      );
    }
    for (const name of [other.serialNumber, other.tsn, `TETRA_LANE3000-${serialNumber}`, 'x']) {
      const answer = await requestCredentials(certificate, `?serial_number=${name}`);
      assertRefused(answer, 403, 'certificate_mismatch');
      assert.ok(!JSON.stringify(answer.body).includes(serialNumber));
    }
    for (const query of ['?serial_number=', '?serial_number=a&serial_number=b', '?serial=1']) {
      assert.equal((await requestCredentials(certificate, query)).status, 422, query);
    }
  });

  // Spec: MTLS-2
  it('a device of the tetra family must send its serial number', async () => {
    const { physicalDeviceId, serialNumber, tsn } = await setup.createTerminal({ family: 'tetra' });
    const certificate = await setup.certify(physicalDeviceId);
    const response = await requestCredentials(certificate);
    assertRefused(response, 422, 'field_required');
    assert.equal(response.body.errors[0].pointer, '?serial_number');
    assert.equal(
      (await requestCredentials(certificate, `?serial_number=${serialNumber}`)).status,
      200,
    );
    assert.equal((await requestCredentials(certificate, `?serial_number=${tsn}`)).status, 200);
  });

  it('is refused if the device is in no store, or its store or merchant is disabled', async () => {
    const stock = await setup.createTerminal({ isLinked: false });
    const inStock = await setup.certify(stock.physicalDeviceId);
    assertRefused(await requestCredentials(inStock), 403, 'device_without_store');
    const token = await setup.device('/oauth2-mtls/v1/token', {
      certificate: inStock,
      form: { grant_type: 'client_credentials', client_id: 'x', client_secret: 'y' },
    });
    assert.deepEqual([token.status, token.body.error], [400, 'unauthorized_client']);

    const placed = await setup.createTerminal();
    const certificate = await setup.certify(placed.physicalDeviceId);
    const { stores, physicalDevices } = setup.provisioning;
    const scope = { organizationId: setup.organizationId };
    const disable = { name: 'Store', status: 'Disabled' };
    await stores.replace(scope, placed.storeId, disable);
    assertRefused(await requestCredentials(certificate), 403, 'device_not_active');
    await stores.replace(scope, placed.storeId, { name: 'Store' });
    assert.equal((await requestCredentials(certificate)).status, 200);
    const hardware = { make: 'AXIUM', model: 'DX8000', family: 'axium' };
    const { merchantId } = placed;
    const renamed = { ...hardware, merchantId, serialNumber: `${placed.serialNumber}B` };
    await physicalDevices.replace(scope, placed.physicalDeviceId, renamed);
    assertRefused(await requestCredentials(certificate), 403, 'certificate_mismatch');
    await setup.provisioning.logicalDevices.linkPhysicalDevices(scope, placed.logicalDeviceId, []);
    await physicalDevices.remove(scope, placed.physicalDeviceId);
    assertRefused(await requestCredentials(certificate), 403, 'device_not_active');
  });

  it('a device that moved to another merchant gets its credentials, and the old secret stops working', async () => {
    const before = await setup.createTerminal();
    const certificate = await setup.certify(before.physicalDeviceId);
    const [old] = (await requestCredentials(certificate)).body;
    const after = await setup.createTerminal();
    const scope = { organizationId: setup.organizationId };
    const { logicalDevices, physicalDevices } = setup.provisioning;
    await logicalDevices.linkPhysicalDevices(scope, before.logicalDeviceId, []);
    await physicalDevices.change(scope, before.physicalDeviceId, undefined, async () => ({
      merchant_id: after.merchantId,
    }));
    await logicalDevices.linkPhysicalDevices(scope, after.logicalDeviceId, [
      before.physicalDeviceId,
    ]);
    const form = {
      grant_type: 'client_credentials',
      client_id: old.clientId,
      client_secret: old.clientSecret,
    };
    const stale = await setup.device('/oauth2-mtls/v1/token', { certificate, form });
    assert.deepEqual([stale.status, stale.body.error], [401, 'invalid_client']);
    assert.equal(
      (await requestCredentials(certificate)).body[0].clientId,
      `device-${after.merchantId}`,
    );
    const alive = await aliveSecrets(certificate.thumbprint);
    assert.deepEqual(
      alive.map(({ client_id }) => client_id),
      [`device-${after.merchantId}`],
    );
  });

  // Runs last: it moves the test clock, which OpenSSL does not use.
  // Spec: MCRED-4
  it('keeps at most two secrets valid, the older one for ten minutes', async () => {
    const { physicalDeviceId } = await setup.createTerminal();
    const certificate = await setup.certify(physicalDeviceId);
    const token = (clientId: string, clientSecret: string) =>
      setup.device('/oauth2-mtls/v1/token', {
        certificate,
        form: {
          grant_type: 'client_credentials',
          client_id: clientId,
          client_secret: clientSecret,
        },
      });
    const getCredentials = async () =>
      (await requestCredentials(certificate)).body[0] as Record<string, string>;
    const [one, two, three] = [
      await getCredentials(),
      await getCredentials(),
      await getCredentials(),
    ];
    const clientId = String(one['clientId']);
    const statusOf = async (item: Record<string, string>) =>
      (await token(clientId, String(item['clientSecret']))).status;
    assert.deepEqual(
      [await statusOf(one), await statusOf(two), await statusOf(three)],
      [401, 200, 200],
    );
    setup.clock.advance(599_999);
    assert.equal(await statusOf(two), 200);
    setup.clock.advance(1);
    assert.deepEqual([await statusOf(two), await statusOf(three)], [401, 200]);
    const secretRows = await setup.database.query<{ secret_hash: Buffer }>(
      'SELECT secret_hash FROM device_secrets WHERE organization_id = $1',
      [setup.organizationId],
    );
    const secret = String(three['clientSecret']);
    assert.ok(
      secretRows.every(({ secret_hash: hash }) => hash.length === 32 && !hash.includes(secret)),
    );
  });
});
