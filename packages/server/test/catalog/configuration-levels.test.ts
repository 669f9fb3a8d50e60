import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import {
  declaration,
  openConfiguration,
  type TestConfiguration,
} from '../support/provisioning/test-service-configuration.ts';

let setup: TestConfiguration;
before(async () => {
  setup = await openConfiguration();
});
after(() => setup.close());

type Source = { pointer: string; level: string };
const levelAt = (sources: Source[], pointer: string) =>
  sources.find((source) => source.pointer === pointer)?.level;

// Spec: SVC-3
test('each level sets its own values, and inherits the others from above', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const [organizationPath, merchantPath, storePath, devicePath] = setup
    .levelsOf(merchant)
    .map(([level, id]) => setup.path(level, id, serviceId));
  const untouched = await setup.call('org', 'GET', String(devicePath));
  assert.equal(untouched.headers['etag'], '"0"');
  assert.deepEqual(untouched.body['effective'].values, declaration.defaults);
  assert.deepEqual(untouched.body['values'], {});
  assert.equal(untouched.body['isSet'], false);

  const levelInputs: [string | undefined, object][] = [
    [organizationPath, { floorLimit: 2500, receipt: { header: 'Bank' } }],
    [merchantPath, { receipt: { copies: 2 }, languages: ['fr', 'en'] }],
    [storePath, { footer: 'À bientôt' }],
    [devicePath, { receipt: { header: 'Till' } }],
  ];
  for (const [path, values] of levelInputs) {
    const answer = await setup.submit('org', String(path), values);
    assert.deepEqual([answer.status, answer.headers['etag']], [200, '"1"']);
    assert.deepEqual(answer.body['values'], values);
  }
  const { body } = await setup.call('org', 'GET', String(devicePath));
  const { values, sources } = body['effective'];
  assert.deepEqual(values, {
    floorLimit: 2500,
    receipt: { header: 'Till', copies: 2 },
    languages: ['fr', 'en'],
    footer: 'À bientôt',
  });
  assert.deepEqual(
    Object.fromEntries(sources.map(({ pointer, level }: Source) => [pointer, level])),
    {
      '/floorLimit': 'Organization',
      '/receipt/header': 'LogicalDevice',
      '/receipt/copies': 'Merchant',
      '/languages': 'Merchant',
      '/footer': 'Store',
    },
  );
  assert.deepEqual(
    body['levels'].map(({ level, version }: { level: string; version: number }) => [
      level,
      version,
    ]),
    [
      ['Organization', 1],
      ['Merchant', 1],
      ['Store', 1],
      ['LogicalDevice', 1],
    ],
  );
  assert.deepEqual([body['missing'], body['invalid']], [[], []]);
  assert.deepEqual((await setup.delivered(merchant, serviceId)).values, values);

  // A level inherits a value that it no longer sets.
  await setup.submit('org', String(merchantPath), { languages: [] });
  assert.equal((await setup.call('org', 'DELETE', String(storePath))).status, 204);
  const later = (await setup.call('org', 'GET', String(devicePath))).body['effective'];
  assert.deepEqual(later.values, {
    floorLimit: 2500,
    receipt: { header: 'Till', copies: 1 },
    languages: [],
    footer: 'Thank you',
  });
  assert.equal(levelAt(later.sources, '/receipt/copies'), 'Service');
  assert.deepEqual((await setup.delivered(merchant, serviceId)).values, later.values);
});

const members = fc.constantFrom('a', 'b', 'c', 'constructor', 'x/y');
const { open } = fc.letrec<{ value: unknown; open: object }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<unknown>(1, 'x', null, [1], []),
    tie('open'),
  ),
  open: fc.dictionary(members, tie('value'), { maxKeys: 3, noNullPrototype: true }),
}));

function merged(upper: unknown, lower: unknown): unknown {
  const isOpen = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isOpen(upper) || !isOpen(lower)) return lower;
  const all: Record<string, unknown> = { ...upper };
  for (const [name, value] of Object.entries(lower)) {
    all[name] = Object.hasOwn(upper, name) ? merged(upper[name], value) : value;
  }
  return all;
}

// Spec: PROV-42
test('a device gets the merged values of its four levels, as a model predicts', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const paths = setup.levelsOf(merchant).map(([level, id]) => setup.path(level, id, serviceId));
  await fc.assert(
    fc.asyncProperty(fc.tuple(open, open, open, open), async (levels) => {
      for (const [at, values] of levels.entries()) {
        const answer = await setup.submit('org', String(paths[at]), { open: values });
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
      }
      const expectedValues = levels.reduce((upper, lower) => merged(upper, lower) as object, {});
      const { body } = await setup.call('org', 'GET', String(paths.at(-1)));
      assert.deepEqual(body['effective'].values.open, expectedValues);
      assert.deepEqual(
        (await setup.delivered(merchant, serviceId)).values?.['open'],
        expectedValues,
      );
    }),
    { numRuns: 12 },
  );
});

// Spec: PROV-45
test('every change is a version, which can be read and brought back', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('stores', merchant.storeId, serviceId);
  for (const footer of ['one', 'two', 'two', 'three']) {
    await setup.done('org', 'POST', path, { values: { footer } });
  }
  await setup.done('org', 'DELETE', path);
  await setup.done('org', 'DELETE', path);
  const { items, nextCursor } = await setup.done('org', 'GET', `${path}/versions?limit=3`);
  const listedVersions = items.map(
    (item: { version: number; isSet: boolean; isCurrent: boolean }) => [
      item.version,
      item.isSet,
      item.isCurrent,
    ],
  );
  assert.deepEqual(listedVersions, [
    [4, false, true],
    [3, true, false],
    [2, true, false],
  ]);
  const rest = await setup.done('org', 'GET', `${path}/versions?limit=3&cursor=${nextCursor}`);
  assert.deepEqual([rest['items'].length, rest['nextCursor']], [1, null]);
  assert.equal(rest['items'][0].author.clientId, 'org');
  const first = await setup.done('org', 'GET', `${path}/versions/1`);
  assert.deepEqual(first['values'], { footer: 'one' });
  for (const unknown of ['5', '999999999']) {
    assert.equal((await setup.call('org', 'GET', `${path}/versions/${unknown}`)).status, 404);
    const restored = await setup.call('org', 'POST', `${path}/versions/${unknown}/restore`);
    assert.equal(restored.status, 404);
  }
  assert.equal((await setup.call('org', 'GET', `${path}/versions/0`)).status, 422);
  const restored = await setup.done('org', 'POST', `${path}/versions/2/restore`);
  assert.deepEqual([restored['version'], restored['values']], [5, { footer: 'two' }]);
  const newest = await setup.done('org', 'GET', `${path}/versions/5`);
  assert.deepEqual([newest['restoredFrom'], newest['isCurrent']], [2, true]);
  // A second restore of the same version changes nothing.
  const again = await setup.done('org', 'POST', `${path}/versions/2/restore`);
  assert.equal(again['version'], 5);
  const other = setup.path('logical-devices', merchant.deviceId, serviceId);
  assert.equal((await setup.call('org', 'POST', `${other}/versions/2/restore`)).status, 404);
});

// Spec: PROV-45
test('of several parallel changes of one version, one succeeds and the others get status 412', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('merchants', merchant.merchantId, serviceId);
  for (const tag of ['"0"', '"1"']) {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        setup.submit('org', path, { footer: `${tag} ${at}` }, tag),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array(5).fill(412)], tag);
  }
  const { body, headers } = await setup.call('org', 'GET', path);
  assert.deepEqual([body['version'], headers['etag']], [2, '"2"']);
  assert.equal((await setup.call('org', 'DELETE', path, undefined, '"1"')).status, 412);
  const restore = `${path}/versions/1/restore`;
  assert.equal((await setup.call('org', 'POST', restore, undefined, '"1"')).status, 412);
  assert.equal((await setup.call('org', 'DELETE', path, undefined, '"2"')).status, 204);
  assert.equal((await setup.call('org', 'GET', path)).body['version'], 3);
});

test('a device gets the values of active services, and a new version after each change of values', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const deliveredVersions = new Set([(await setup.delivered(merchant, serviceId)).version]);
  for (const [level, id] of setup.levelsOf(merchant)) {
    const path = setup.path(level, id, serviceId);
    await setup.done('org', 'POST', path, { values: { footer: level } });
    const now = await setup.delivered(merchant, serviceId);
    assert.equal(now.values?.['footer'], level);
    deliveredVersions.add(now.version);
    await setup.done('org', 'POST', path, { values: { footer: level } });
    assert.equal((await setup.delivered(merchant, serviceId)).version, now.version);
  }
  assert.equal(deliveredVersions.size, 5);
  const { configuration } = setup.catalog;
  const { organizationId } = setup;
  assert.deepEqual(await configuration.readDeviceConfiguration(organizationId, randomUUID()), []);
  assert.deepEqual(
    await configuration.readDeviceConfiguration(randomUUID(), merchant.deviceId),
    [],
  );
  const level = { serviceId, level: 'LogicalDevice', entityId: merchant.deviceId };
  await setup.done('org', 'POST', '/deactivations', level);
  const configurations = await configuration.readDeviceConfiguration(
    organizationId,
    merchant.deviceId,
  );
  assert.equal(
    configurations.some((each) => each.serviceId === serviceId),
    false,
  );
});

// Spec: PROV-43
test('an organisation inherits from those above it', async () => {
  const top = await setup.createMerchant();
  const serviceId = await setup.configured();
  const above = setup.path('organizations', setup.organizationId, serviceId);
  await setup.done('org', 'POST', above, {
    values: { footer: 'From above', account: { apiKey: 'key-of-all' } },
  });
  const below = await setup.catalog.configuration.readDeviceConfiguration(
    setup.organizationId,
    top.deviceId,
  );
  assert.ok(below.length > 0);
  await setup.database.query(
    'UPDATE organizations SET parent_organization_id = $1 WHERE organization_id = $2',
    [setup.organizationId, setup.otherId],
  );
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const { packageId } = await setup.done('other', 'POST', '/packages', offer);
  await setup.done('other', 'POST', '/subscriptions', { packageId });
  const otherPath = setup.path('organizations', setup.otherId, serviceId);
  const { body } = await setup.call('other', 'GET', otherPath);
  const [source] = body['effective'].sources.filter((each: Source) => each.pointer === '/footer');
  assert.deepEqual(source, {
    pointer: '/footer',
    level: 'Organization',
    entityId: setup.organizationId,
  });
  assert.deepEqual(body['effective'].secrets, [
    { pointer: '/account/apiKey', level: 'Organization', entityId: setup.organizationId },
  ]);
  const set = await setup.submit('other', otherPath, { footer: 'Own' });
  assert.equal(set.body['effective'].values.footer, 'Own');
  assert.deepEqual(
    set.body['levels'].map(({ entityId }: { entityId: string }) => entityId),
    [setup.organizationId, setup.otherId],
  );
  assert.equal((await setup.call('other', 'GET', above)).status, 404);
});
