import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { demoApplications } from './catalogue.ts';
import { demoFileIn, factsOf, readSecrets, writeFacts } from './demo-json.ts';

const addresses = {
  environment: 'demo',
  baseUrl: 'https://localhost:8443',
  authUrl: 'https://localhost:8443',
  deviceAuthUrl: 'https://localhost:9021',
  metricsHost: '127.0.0.1',
  metricsPort: 9464,
} as const;
const secrets = new Map(
  demoApplications.map(({ clientId }) => [clientId, `secret of ${clientId}`]),
);
const facts = factsOf(addresses, '/srv/ca.pem', secrets);

describe('demo.json', () => {
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-demo-'));
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  test('is for its owner alone, and a second start leaves it as it is', async () => {
    writeFacts(dataDir, facts);
    const file = demoFileIn(dataDir);
    const first = await stat(file);
    assert.equal(first.mode & 0o777, 0o600);
    assert.deepEqual(readSecrets(dataDir), secrets);
    writeFacts(dataDir, factsOf(addresses, '/srv/ca.pem', readSecrets(dataDir)));
    const second = await stat(file);
    assert.deepEqual([second.ino, second.mtimeMs], [first.ino, first.mtimeMs]);
    writeFacts(dataDir, { ...facts, baseUrl: 'https://localhost:9443' });
    assert.match(await readFile(file, 'utf8'), /localhost:9443/);
  });

  test('has the shape that clients of the demo read', () => {
    assert.equal(facts.userDomainId, 'demo');
    assert.equal(facts.metricsUrl, 'http://127.0.0.1:9464');
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
    for (const own of stores) assert.ok(facts.devices.some(({ storeId }) => own.has(storeId)));
    const { merchant, otherMerchant, pos } = facts.applications;
    assert.equal(merchant?.merchantId, facts.merchants[0]?.merchantId);
    assert.equal(otherMerchant?.merchantId, facts.merchants[1]?.merchantId);
    assert.equal(pos?.storeId, facts.merchants[0]?.stores[0]?.storeId);
  });

  test('a file that is damaged or missing holds no secrets', async () => {
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '{"applications":3}',
      '{"applications":{"x":null}}',
    ]) {
      await writeFile(demoFileIn(dataDir), text);
      assert.equal(readSecrets(dataDir).size, 0, text);
    }
    assert.equal(readSecrets(join(dataDir, 'nowhere')).size, 0);
  });
});
