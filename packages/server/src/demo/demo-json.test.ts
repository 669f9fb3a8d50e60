import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { groupLevels } from '@switchyard/contract';
import { demoApplications, serviceProviderApplication } from './demo-data.ts';
import { buildDemoJson, demoFileIn, readSecrets, writeDemoFile } from './demo-json.ts';
import { demoUsers, providerUsers } from './demo-users.ts';

const addresses = {
  environment: 'demo',
  baseUrl: 'https://localhost:8443',
  authUrl: 'https://localhost:8443',
  deviceAuthUrl: 'https://localhost:9021',
  metricsHost: '127.0.0.1',
  metricsPort: 9464,
  dataDir: '/srv/pay/.switchyard',
} as const;
const secrets = {
  applications: new Map(
    [...demoApplications, serviceProviderApplication]
      .filter(({ isPublic }) => !isPublic)
      .map(({ clientId }) => [clientId, `secret of ${clientId}`]),
  ),
  users: new Map(
    [...demoUsers, ...providerUsers].map(({ username, hasOneTimePassword }) => [
      username,
      {
        password: `password of ${username}`,
        ...(hasOneTimePassword ? { otpSecret: `OTP of ${username}` } : {}),
      },
    ]),
  ),
};
const facts = buildDemoJson(addresses, '/srv/ca.pem', secrets);
const noSecrets = { applications: new Map(), users: new Map() };

describe('demo.json', () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-demo-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  // Spec: START-3
  test('is for its owner alone, and a second start leaves it as it is', async () => {
    writeDemoFile(dataDir, facts);
    const file = demoFileIn(dataDir);
    const first = await stat(file);
    assert.equal(first.mode & 0o777, 0o600);
    assert.deepEqual(readSecrets(dataDir), secrets);
    writeDemoFile(dataDir, buildDemoJson(addresses, '/srv/ca.pem', readSecrets(dataDir)));
    const second = await stat(file);
    assert.deepEqual([second.ino, second.mtimeMs], [first.ino, first.mtimeMs]);
    writeDemoFile(dataDir, { ...facts, baseUrl: 'https://localhost:9443' });
    assert.match(await readFile(file, 'utf8'), /localhost:9443/);
  });

  // Spec: ID-1 START-6 START-7 START-9
  test('has the shape that clients of the demo read', () => {
    assert.equal(facts.userDomainId, 'demo');
    assert.equal(facts.mailDir, '/srv/pay/.switchyard/mail');
    assert.equal(facts.metricsUrl, 'http://127.0.0.1:9464');
    assert.equal(facts.portalUrl, 'https://localhost:8443/portal');
    assert.equal(facts.providerPortalUrl, 'https://localhost:8443/provider-portal');
    assert.ok(facts.merchants.length >= 2);
    assert.ok(facts.merchants.every(({ stores }) => stores.length >= 2));
    assert.ok(facts.devices.length >= 4);
    assert.equal(facts.devices[0]?.tsn, 'AXIUM_DX8000-10000001');
    assert.deepEqual(
      new Set(facts.devices.map(({ family }) => family)),
      new Set(['axium', 'tetra']),
    );
    const stores = facts.merchants.map(
      (merchant) => new Set(merchant.stores.map((s) => s.storeId)),
    );
    for (const storeIds of stores)
      assert.ok(facts.devices.some(({ storeId }) => storeIds.has(storeId)));
    const { merchant, otherMerchant, merchantDeveloper, pos } = facts.applications;
    assert.equal(merchantDeveloper?.merchantId, facts.merchants[0]?.merchantId);
    assert.ok(merchantDeveloper?.clientSecret);
    assert.equal(merchant?.merchantId, facts.merchants[0]?.merchantId);
    assert.equal(otherMerchant?.merchantId, facts.merchants[1]?.merchantId);
    assert.equal(pos?.storeId, facts.merchants[0]?.stores[0]?.storeId);
    const { device, web } = facts.applications;
    assert.deepEqual(Object.keys(device ?? {}), ['clientId'], 'a public application');
    assert.equal(web?.redirectUri, 'https://localhost:8443/portal/callback');
    assert.ok(web?.clientSecret);
  });

  test('the redirect URI of the web application uses the port of the platform', () => {
    const elsewhere = { ...addresses, baseUrl: 'https://localhost:9443' };
    const { web } = buildDemoJson(elsewhere, '/srv/ca.pem', secrets).applications;
    assert.equal(web?.redirectUri, 'https://localhost:9443/portal/callback');
  });

  // Spec: START-11
  test('contains the base derivation key and the first KSN of each device', () => {
    const keysOf = ({ serialNumber }: { serialNumber: string }) => ({
      baseDerivationKey: '0123456789ABCDEFFEDCBA9876543210',
      ksn: `FFFF${serialNumber.slice(-8)}00200001`.slice(0, 20),
    });
    const { devices } = buildDemoJson(addresses, '/srv/ca.pem', secrets, keysOf);
    assert.equal(new Set(devices.map(({ ksn }) => ksn)).size, devices.length);
    for (const { baseDerivationKey, ksn } of devices) {
      assert.match(baseDerivationKey ?? '', /^[0-9A-F]{32}$/);
      assert.match(ksn ?? '', /^[0-9A-F]{20}$/);
    }
  });

  // Spec: SIM-2 START-8
  test('has a user of every group of the specification, and one manager without a code', () => {
    const groups = facts.users.flatMap((user) => user.groups);
    for (const [group, level] of Object.entries(groupLevels)) {
      const entity = level === 'merchant' ? facts.merchants[0]?.merchantId : facts.organizationId;
      assert.ok(groups.includes(`${entity}_${group}`), group);
    }
    for (const { groups: userGroups, entityId } of facts.users) {
      assert.ok(userGroups.every((group) => group.startsWith(`${entityId}_`)));
    }
    const withoutCode = facts.users.filter(({ otpSecret }) => otpSecret === undefined);
    assert.equal(withoutCode.length, 1);
    assert.match(withoutCode[0]?.groups[0] ?? '', /_merchant_manager$/);
    assert.equal('otpSecret' in (withoutCode[0] ?? {}), false);
  });

  test('a damaged or missing file gives no secrets', async () => {
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '{"applications":3}',
      '{"applications":{"x":null}}',
      '{"users":3}',
      '{"users":[null,{"username":"admin"},{"password":"x"}]}',
    ]) {
      await writeFile(demoFileIn(dataDir), text);
      assert.deepEqual(readSecrets(dataDir), noSecrets, text);
    }
    assert.deepEqual(readSecrets(join(dataDir, 'nowhere')), noSecrets);
  });
});
