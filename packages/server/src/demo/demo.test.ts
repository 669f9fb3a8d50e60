// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import Fastify from 'fastify';
import { decodeJwt } from 'jose';
import { testDatabase } from '../../test/support/database/test-database.ts';
import { testPasswordHasher } from '../../test/support/identity/test-password-hasher.ts';
import { movableClock, sharedPasswordStrength } from '../../test/support/identity/test-realm.ts';
import { testAudit } from '../../test/support/test-audit.ts';
import { type Catalog, createCatalog, scopeAuthoredByPlatform } from '../catalog/index.ts';
import { createIdentity, type Identity } from '../identity/index.ts';
import {
  createLog,
  createOutgoingCalls,
  createWebhookHeaders,
  type Database,
  systemIdGenerator,
} from '../platform/index.ts';
import { createProvisioning, type Provisioning } from '../provisioning/index.ts';
import {
  acquirerLinkId,
  demoApplications,
  demoMerchants,
  demoQrService,
  demoServiceProvider,
  demoServices,
  organizationId,
  providerServices,
} from './demo-data.ts';
import type { DemoCredentials, DemoFacts, DemoUser } from './demo-json.ts';
import { startDemo } from './index.ts';
import { oneTimePasswordAt } from './seed-users.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const authUrl = 'https://localhost:8443';

describe('the demo environment', () => {
  let dataDir: string;
  let database: Database;
  let identity: Identity;
  let provisioning: Provisioning;
  let catalog: Catalog;
  const app = Fastify();
  const clock = movableClock(Date.now());
  const printed: string[] = [];
  const scope = { organizationId };

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-demo-start-'));
    await mkdir(join(dataDir, 'tls'));
    await writeFile(join(dataDir, 'tls', 'ca.pem'), 'nobody speaks TLS here');
    database = await testDatabase();
    provisioning = createProvisioning({
      database,
      clock,
      ids: systemIdGenerator,
      audit: testAudit(database, clock),
      posClients: () => identity.posClients,
    });
    catalog = createCatalog({
      database,
      clock,
      ids: systemIdGenerator,
      log,
      provisioning,
      baseUrl: authUrl,
      audit: testAudit(database, clock),
      masterKey: randomBytes(32),
      jobs: { handle: () => {}, enqueue: async () => {}, wake: () => {} },
      calls: createOutgoingCalls({ allowsLoopback: true }),
    });
    identity = createIdentity({
      database,
      settings: { authUrl, environment: 'demo' },
      clock,
      ids: systemIdGenerator,
      log,
      masterKey: randomBytes(32),
      passwordStrength: sharedPasswordStrength,
      passwordHasher: testPasswordHasher,
      findDevice: provisioning.findDevice,
      findTerminal: async (within, id) => (await provisioning.physicalDevices.get(within, id)).view,
      findMerchantName: async (organization, id) =>
        (await provisioning.merchants.get({ organizationId: organization }, id)).view.name,
      // The test does not need the mail about a new password.
      jobs: { handle: () => {}, enqueue: async () => {}, wake: () => {} },
    });
    await identity.register(app);
  });
  after(async () => {
    await app.close();
    await identity.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** Starts the demo once, from the settings to the table, and stops it. */
  async function startOnce(
    more: { qrProviderPort?: number; baseUrl?: string } = {},
    meanwhile = async () => {},
  ): Promise<DemoFacts> {
    const demo = await startDemo({
      settings: {
        environment: 'demo',
        baseUrl: authUrl,
        authUrl,
        deviceAuthUrl: 'https://localhost:9021',
        metricsHost: '127.0.0.1',
        metricsPort: 9464,
        dataDir,
        acquirerPort: 0,
        acquirerTimeoutMs: 10_000,
        ...more,
      },
      modules: { provisioning, identity, catalog },
      log,
      clock,
      caFile: join(dataDir, 'tls', 'ca.pem'),
      output: { write: (text) => printed.push(text) },
      verbose: true,
    });
    const [link] = (await provisioning.listLinksToOpen()).filter(
      ({ linkId }) => linkId === acquirerLinkId,
    );
    assert.equal(link?.settings.port, demo.acquirerPort);
    demo.announce();
    try {
      await meanwhile();
    } finally {
      await demo.stop();
    }
    return JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
  }

  async function post(form: Record<string, string>, domain = 'demo') {
    const answer = await app.inject({
      method: 'POST',
      url: `/oauth2/v1/${domain}/token`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(form).toString(),
    });
    return { status: answer.statusCode, body: answer.json<Record<string, string>>() };
  }

  async function tokenStatus(
    { clientId, clientSecret = '' }: DemoCredentials,
    domain?: string,
  ): Promise<number> {
    const form = { client_id: clientId, client_secret: clientSecret };
    return (await post({ grant_type: 'client_credentials', ...form }, domain)).status;
  }

  /** Returns the answer to the password grant of the device application. */
  function signIn({ username, password, otpSecret }: DemoUser) {
    return post({
      grant_type: 'password',
      client_id: 'demo-device',
      username,
      password,
      ...defined({
        totp: otpSecret === undefined ? undefined : oneTimePasswordAt(otpSecret, clock.now()),
      }),
    });
  }

  // Spec: START-15
  test('Cloud Connector and QR are active for every device', async () => {
    await startOnce();
    const devices = demoMerchants.flatMap(({ stores }) => stores.flatMap((store) => store.devices));
    assert.ok(devices.length >= 4);
    for (const { logicalDeviceId } of devices) {
      const active = await catalog.listActiveServices(organizationId, logicalDeviceId);
      const deviceServices = active.map(({ name, domain, paymentTypes }) => [
        name,
        domain,
        paymentTypes,
      ]);
      assert.deepEqual(deviceServices, [
        ['Cloud Connector', 'Retail API', []],
        ['QR', 'QR payments', ['demopay']],
        ['EMV terminal parameters', 'emvTerminalParameters', []],
        ['Lumen QR', 'QR payments', ['lumenpay']],
      ]);
    }
  });

  test('terminals inherit their parameters, except the values that a merchant or a store sets', async () => {
    await startOnce();
    const devices = demoMerchants.flatMap(({ stores }) => stores.flatMap((store) => store.devices));
    const parameters = await Promise.all(
      devices.map(async ({ logicalDeviceId }) => {
        const deviceServices = await catalog.configuration.readDeviceConfiguration(
          organizationId,
          logicalDeviceId,
        );
        const service = deviceServices.find(({ domain }) => domain === 'emvTerminalParameters');
        assert.deepEqual(service?.faults, []);
        const { terminal, coBrandRules = [], caKeys = {} } = service?.values ?? {};
        const { countryCode, terminalType } = Object(terminal);
        return [
          countryCode,
          terminalType,
          Object(coBrandRules).length,
          Object.keys(Object(caKeys)).length,
        ];
      }),
    );
    assert.deepEqual(parameters, [
      ['250', '22', 2, 20],
      ['250', '25', 2, 20],
      ['528', '22', 0, 20],
      ['528', '22', 0, 20],
    ]);
  });

  // Spec: START-13
  test('the reference provider knows the platform, and the platform knows where it is', async () => {
    const file = join(dataDir, 'qr-provider', 'platform.json');
    const secrets: string[] = [];
    const checkProviderFile = async () => {
      const facts = JSON.parse(await readFile(file, 'utf8'));
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      assert.equal(facts.tokenUrl, `${authUrl}/oauth2/v1/demo/token`);
      assert.equal(facts.clientId, 'demo-provider');
      const credentials = { clientId: facts.clientId, clientSecret: facts.clientSecret };
      assert.equal(await tokenStatus(credentials), 200);
      const { view } = await catalog.services.get(scope, demoQrService.serviceId);
      assert.match(view.spiUrl ?? '', /^http:\/\/127\.0\.0\.1:\d+\/switchyard$/);
      assert.equal(view.unpublishedChanges, false);
      const [lumen] = facts.accounts;
      assert.equal(lumen.tokenUrl, `${authUrl}/oauth2/v1/lumen/token`);
      assert.equal(lumen.serviceId, providerServices.pay.serviceId);
      assert.equal(await tokenStatus(lumen, 'lumen'), 200);
      const [secret = ''] = facts.signingSecrets;
      secrets.push(secret);
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const body = JSON.stringify({ method: 'GET', path: '/health' });
      const headers = createWebhookHeaders({ id: 'health', sentAt: Date.now(), body, keys: [key] });
      const answer = await fetch(`${view.spiUrl}/health`, { headers });
      assert.deepEqual(await answer.json(), { status: 'Up' });
      assert.equal((await fetch(`${view.spiUrl}/health`)).status, 401);
    };
    const facts = await startOnce({ qrProviderPort: 0 }, checkProviderFile);
    assert.deepEqual(facts.qr, { paymentType: 'demopay' });
    assert.match(
      printed.join(''),
      /QR provider {2,}http:\/\/127\.0\.0\.1:\d+\/switchyard, data in/,
    );
    await startOnce({ qrProviderPort: 0 }, checkProviderFile);
    assert.equal(secrets[1], secrets[0]);
    await rm(file);
    await startOnce({ qrProviderPort: 0 }, checkProviderFile);
    assert.notEqual(secrets[2], secrets[0], 'a secret that was lost is renewed');
    const { view } = await catalog.services.get(scope, demoQrService.serviceId);
    const { serviceId, organizationId: _owner, status, release, ...rest } = view;
    const { unpublishedChanges, createdAt, updatedAt, ...declaration } = rest;
    const changedDeclaration = { ...declaration, spiUrl: 'http://127.0.0.1:9/own' };
    await catalog.services.replace(
      scopeAuthoredByPlatform(organizationId),
      serviceId,
      changedDeclaration,
    );
    await startOnce({ qrProviderPort: 0 });
    const after = await catalog.services.get(scope, serviceId);
    assert.equal(after.view.spiUrl, changedDeclaration.spiUrl, 'a declared URL stays');
    assert.ok(release > 1 && status === 'Published' && createdAt <= updatedAt);
    assert.equal(unpublishedChanges, false);
    await catalog.services.replace(scopeAuthoredByPlatform(organizationId), serviceId, declaration);
  });

  // Spec: START-12
  test('a service provider is an organisation of its own, with a user, an application and services', async () => {
    const { serviceProvider, users, organizationId: acquirer } = await startOnce();
    const { application, organizationId: providerId, userDomainId, services } = serviceProvider;
    assert.notEqual(providerId, acquirer);
    assert.equal(await tokenStatus(application, userDomainId), 200);
    assert.equal(await tokenStatus(application), 401, 'not an application of the acquirer');
    const [user] = serviceProvider.users;
    assert.deepEqual(user?.groups, [`${providerId}_org_admin`]);
    assert.ok(users.every(({ username }) => username !== user?.username));
    const person = await identity.accounts.findByName(providerId, user?.username ?? '');
    assert.equal(person?.organizationId, providerId);
    const { view } = await provisioning.organizations.get(
      { organizationId: providerId },
      providerId,
    );
    assert.equal(view.labels?.['persona'], 'ServiceProvider');
    const asProvider = { organizationId: providerId };
    const providerServicesPage = await catalog.services.list(
      asProvider,
      { providerId },
      { limit: 9 },
    );
    assert.deepEqual(
      providerServicesPage.items.map(({ name, status }) => [name, status]),
      [
        ['Lumen QR', 'Published'],
        ['Lumen Points', 'Published'],
        ['Lumen Later', 'Draft'],
      ],
    );
    assert.deepEqual(
      services.map(({ name }) => name),
      providerServicesPage.items.map(({ name }) => name),
    );
    const visibleServices = await catalog.services.list(scope, { providerId }, { limit: 9 });
    assert.equal(visibleServices.items.length, 2, 'a draft is its provider’s alone');
    const [, , draft] = services;
    await catalog.services.remove(scopeAuthoredByPlatform(providerId), draft?.serviceId ?? '');
    await startOnce();
    const after = await catalog.services.list(asProvider, { providerId }, { limit: 9 });
    assert.equal(after.items.length, 2, 'a deleted draft stays deleted');
    assert.equal(providerId, demoServiceProvider.organizationId);
  });

  test('starts the provider at another port if its port is in use', async () => {
    const otherServer = createServer().listen(0, '127.0.0.1');
    await once(otherServer, 'listening');
    const { port } = otherServer.address() as AddressInfo;
    try {
      await startOnce({ qrProviderPort: port }, async () => {
        const { view } = await catalog.services.get(scope, demoQrService.serviceId);
        assert.ok(!view.spiUrl?.includes(`:${port}/`), view.spiUrl);
      });
    } finally {
      otherServer.close();
    }
  });

  test('updates the callback URL of the web application with its base URL, and does not change a registered URL', async () => {
    const moved = 'https://localhost:9443';
    const registered = async () => {
      const [row] = await database.query<{ redirect_uris: string[]; web_origins: string[] }>(
        `SELECT redirect_uris, web_origins FROM applications
         WHERE organization_id = $1 AND client_id = 'demo-web'`,
        [organizationId],
      );
      return [row?.redirect_uris, row?.web_origins];
    };
    const first = await startOnce();
    const { web } = (await startOnce({ baseUrl: moved })).applications;
    assert.equal(web?.redirectUri, `${moved}/portal/callback`);
    assert.deepEqual(await registered(), [[web?.redirectUri], [moved]]);
    const providerId = ['https://shop.example/back'];
    await database.query(
      `UPDATE applications SET redirect_uris = $2::jsonb
       WHERE organization_id = $1 AND client_id = 'demo-web'`,
      [organizationId, JSON.stringify(providerId)],
    );
    await startOnce();
    assert.deepEqual((await registered())[0], providerId);
    const uris = [first.applications['web']?.redirectUri];
    await database.query(
      `UPDATE applications SET redirect_uris = $2::jsonb, web_origins = $3::jsonb
       WHERE organization_id = $1 AND client_id = 'demo-web'`,
      [organizationId, JSON.stringify(uris), JSON.stringify([authUrl])],
    );
  });

  test('a service that a user deactivated stays inactive after a restart', async () => {
    await startOnce();
    const [{ serviceId }] = demoServices;
    const target = { serviceId, level: 'Organization', entityId: organizationId } as const;
    await catalog.activations.deactivate(scopeAuthoredByPlatform(organizationId), target);
    await startOnce();
    const { items } = await catalog.activations.list({ organizationId }, target, { limit: 1 });
    assert.equal(items[0]?.status, 'Inactive');
    await catalog.activations.activate(scopeAuthoredByPlatform(organizationId), target);
  });

  // Spec: SET-21 START-2 START-4 START-10 START-14 START-16
  test('a first start seeds, a second one changes nothing, a lost demo.json is made again', async () => {
    const facts = await startOnce();
    assert.match(printed.join(''), /Switchyard is ready/);
    assert.ok((await stat(join(dataDir, 'acquirer'))).isDirectory(), 'the books of the acquirer');
    for (const { key, securityFlow } of demoApplications) {
      const credentials = facts.applications[key];
      assert.ok(credentials !== undefined, key);
      // The server knows the applications of other flows, but does not allow this flow for them.
      assert.equal(await tokenStatus(credentials), securityFlow === undefined ? 200 : 400, key);
    }
    for (const user of facts.users) {
      const { status, body } = await signIn(user);
      assert.equal(status, 200, user.username);
      const claims = decodeJwt(body['access_token'] ?? '');
      assert.deepEqual(
        [claims['preferred_username'], claims['groups'], claims['entityId']],
        [user.username, user.groups, user.entityId],
      );
    }
    for (const device of facts.devices) {
      const resolved = await provisioning.resolveSaleEntities(organizationId, {
        deviceId: device.logicalDeviceId,
      });
      assert.equal(resolved.store?.storeId, device.storeId);
      assert.equal(resolved.contract.acquirerLink, acquirerLinkId);
      assert.deepEqual(resolved.contract.currencies, ['EUR', 'USD', 'JPY']);
      assert.deepEqual(resolved.contract.captureModes, ['Immediate', 'Deferred']);
      assert.equal(resolved.contract.clearCardData, 'Allowed');
      const { view } = await provisioning.physicalDevices.get(scope, device.physicalDeviceId);
      assert.equal(view.tsn, device.tsn);
      assert.equal(view.logicalDeviceId, device.logicalDeviceId);
      const certificate = new X509Certificate(await readFile(device.certFile, 'utf8'));
      assert.equal(certificate.subject, `serialNumber=${view.serialNumber}\nCN=${device.tsn}`);
      assert.ok(certificate.checkPrivateKey(createPrivateKey(await readFile(device.keyFile))));
      assert.equal((await stat(device.keyFile)).mode & 0o777, 0o600);
    }
    const keysOf = () => Promise.all(facts.devices.map(({ keyFile }) => readFile(keyFile, 'utf8')));
    const keys = await keysOf();

    const [{ merchantId, name, stores: _stores, ...merchant }] = demoMerchants;
    const {
      contractId: _contract,
      acquirerMerchantId: _number,
      terminalIdRange: _range,
      ...providerId
    } = merchant;
    await provisioning.merchants.replace(scope, merchantId, { ...providerId, name: 'Renamed' });
    const [removed] = facts.devices;
    await provisioning.logicalDevices.linkPhysicalDevices(
      scope,
      removed?.logicalDeviceId ?? '',
      [],
    );
    await provisioning.logicalDevices.remove(scope, removed?.logicalDeviceId ?? '');
    assert.deepEqual(await startOnce(), facts);
    const { view } = await provisioning.merchants.get(scope, merchantId);
    assert.equal(view.name, 'Renamed', name);
    const deletedDevice = provisioning.logicalDevices.get(scope, removed?.logicalDeviceId ?? '');
    await assert.rejects(deletedDevice, 'a deleted device stays deleted');

    await rm(join(dataDir, 'demo.json'));
    assert.deepEqual(await keysOf(), keys);
    await rm(facts.devices[0]?.keyFile ?? '');
    const again = await startOnce();
    const [newKey, ...otherKeys] = await keysOf();
    assert.notEqual(newKey, keys[0]);
    assert.deepEqual(otherKeys, keys.slice(1));
    const lost = { applications: {}, users: [], serviceProvider: {} };
    assert.deepEqual({ ...again, ...lost }, { ...facts, ...lost });
    for (const { key, securityFlow } of demoApplications) {
      const credentials = again.applications[key];
      assert.ok(credentials !== undefined, key);
      assert.equal(await tokenStatus(credentials), securityFlow === undefined ? 200 : 400, key);
    }
    const [old] = Object.values(facts.applications);
    assert.ok(old !== undefined);
    assert.equal(await tokenStatus(old), 401, 'a secret that was lost is dead');
    // The time step in which the new code was set up is already used.
    clock.advance(2 * 30_000);
    for (const [index, user] of again.users.entries()) {
      assert.equal((await signIn(user)).status, 200, user.username);
      const before = facts.users[index];
      assert.ok(before !== undefined);
      assert.equal((await signIn(before)).status, 400, 'a password that was lost is dead');
    }
  });
});
