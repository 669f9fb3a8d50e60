import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import {
  type ConfigurationScene,
  declaration,
  openConfigurationScene,
} from '../support/provisioning/test-service-configuration.ts';

let scene: ConfigurationScene;
before(async () => {
  scene = await openConfigurationScene();
});
after(() => scene.close());

type Source = { pointer: string; level: string };
const levelAt = (sources: Source[], pointer: string) =>
  sources.find((source) => source.pointer === pointer)?.level;

// Spec: SVC-3
test('each level sets its own values, and inherits the others from above', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const [organization, merchant, store, device] = scene
    .levelsOf(shop)
    .map(([level, id]) => scene.path(level, id, serviceId));
  const untouched = await scene.call('org', 'GET', String(device));
  assert.equal(untouched.headers['etag'], '"0"');
  assert.deepEqual(untouched.body['effective'].values, declaration.defaults);
  assert.deepEqual(untouched.body['values'], {});
  assert.equal(untouched.body['isSet'], false);

  const levelInputs: [string | undefined, object][] = [
    [organization, { floorLimit: 2500, receipt: { header: 'Bank' } }],
    [merchant, { receipt: { copies: 2 }, languages: ['fr', 'en'] }],
    [store, { footer: 'À bientôt' }],
    [device, { receipt: { header: 'Till' } }],
  ];
  for (const [path, values] of levelInputs) {
    const answer = await scene.submit('org', String(path), values);
    assert.deepEqual([answer.status, answer.headers['etag']], [200, '"1"']);
    assert.deepEqual(answer.body['values'], values);
  }
  const { body } = await scene.call('org', 'GET', String(device));
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
  assert.deepEqual((await scene.delivered(shop, serviceId)).values, values);

  // A level inherits a value that it no longer sets.
  await scene.submit('org', String(merchant), { languages: [] });
  assert.equal((await scene.call('org', 'DELETE', String(store))).status, 204);
  const later = (await scene.call('org', 'GET', String(device))).body['effective'];
  assert.deepEqual(later.values, {
    floorLimit: 2500,
    receipt: { header: 'Till', copies: 1 },
    languages: [],
    footer: 'Thank you',
  });
  assert.equal(levelAt(later.sources, '/receipt/copies'), 'Service');
  assert.deepEqual((await scene.delivered(shop, serviceId)).values, later.values);
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
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const paths = scene.levelsOf(shop).map(([level, id]) => scene.path(level, id, serviceId));
  await fc.assert(
    fc.asyncProperty(fc.tuple(open, open, open, open), async (levels) => {
      for (const [at, values] of levels.entries()) {
        const answer = await scene.submit('org', String(paths[at]), { open: values });
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
      }
      const expectedValues = levels.reduce((upper, lower) => merged(upper, lower) as object, {});
      const { body } = await scene.call('org', 'GET', String(paths.at(-1)));
      assert.deepEqual(body['effective'].values.open, expectedValues);
      assert.deepEqual((await scene.delivered(shop, serviceId)).values?.['open'], expectedValues);
    }),
    { numRuns: 12 },
  );
});

// Spec: PROV-45
test('every change is a version, which can be read and brought back', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const path = scene.path('stores', shop.storeId, serviceId);
  for (const footer of ['one', 'two', 'two', 'three']) {
    await scene.done('org', 'POST', path, { values: { footer } });
  }
  await scene.done('org', 'DELETE', path);
  await scene.done('org', 'DELETE', path);
  const { items, nextCursor } = await scene.done('org', 'GET', `${path}/versions?limit=3`);
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
  const rest = await scene.done('org', 'GET', `${path}/versions?limit=3&cursor=${nextCursor}`);
  assert.deepEqual([rest['items'].length, rest['nextCursor']], [1, null]);
  assert.equal(rest['items'][0].author.clientId, 'org');
  const first = await scene.done('org', 'GET', `${path}/versions/1`);
  assert.deepEqual(first['values'], { footer: 'one' });
  for (const unknown of ['5', '999999999']) {
    assert.equal((await scene.call('org', 'GET', `${path}/versions/${unknown}`)).status, 404);
    const restored = await scene.call('org', 'POST', `${path}/versions/${unknown}/restore`);
    assert.equal(restored.status, 404);
  }
  assert.equal((await scene.call('org', 'GET', `${path}/versions/0`)).status, 422);
  const restored = await scene.done('org', 'POST', `${path}/versions/2/restore`);
  assert.deepEqual([restored['version'], restored['values']], [5, { footer: 'two' }]);
  const newest = await scene.done('org', 'GET', `${path}/versions/5`);
  assert.deepEqual([newest['restoredFrom'], newest['isCurrent']], [2, true]);
  // A second restore of the same version changes nothing.
  const again = await scene.done('org', 'POST', `${path}/versions/2/restore`);
  assert.equal(again['version'], 5);
  const other = scene.path('logical-devices', shop.deviceId, serviceId);
  assert.equal((await scene.call('org', 'POST', `${other}/versions/2/restore`)).status, 404);
});

// Spec: PROV-45
test('of several parallel changes of one version, one succeeds and the others get status 412', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const path = scene.path('merchants', shop.merchantId, serviceId);
  for (const tag of ['"0"', '"1"']) {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) =>
        scene.submit('org', path, { footer: `${tag} ${at}` }, tag),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array(5).fill(412)], tag);
  }
  const { body, headers } = await scene.call('org', 'GET', path);
  assert.deepEqual([body['version'], headers['etag']], [2, '"2"']);
  assert.equal((await scene.call('org', 'DELETE', path, undefined, '"1"')).status, 412);
  const restore = `${path}/versions/1/restore`;
  assert.equal((await scene.call('org', 'POST', restore, undefined, '"1"')).status, 412);
  assert.equal((await scene.call('org', 'DELETE', path, undefined, '"2"')).status, 204);
  assert.equal((await scene.call('org', 'GET', path)).body['version'], 3);
});

test('a device gets the values of active services, and a new version after each change of values', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const deliveredVersions = new Set([(await scene.delivered(shop, serviceId)).version]);
  for (const [level, id] of scene.levelsOf(shop)) {
    const path = scene.path(level, id, serviceId);
    await scene.done('org', 'POST', path, { values: { footer: level } });
    const now = await scene.delivered(shop, serviceId);
    assert.equal(now.values?.['footer'], level);
    deliveredVersions.add(now.version);
    await scene.done('org', 'POST', path, { values: { footer: level } });
    assert.equal((await scene.delivered(shop, serviceId)).version, now.version);
  }
  assert.equal(deliveredVersions.size, 5);
  const { configuration } = scene.catalog;
  const { organizationId } = scene;
  assert.deepEqual(await configuration.readDeviceConfiguration(organizationId, randomUUID()), []);
  assert.deepEqual(await configuration.readDeviceConfiguration(randomUUID(), shop.deviceId), []);
  const level = { serviceId, level: 'LogicalDevice', entityId: shop.deviceId };
  await scene.done('org', 'POST', '/deactivations', level);
  const configurations = await configuration.readDeviceConfiguration(organizationId, shop.deviceId);
  assert.equal(
    configurations.some((each) => each.serviceId === serviceId),
    false,
  );
});

// Spec: PROV-43
test('an organisation inherits from those above it', async () => {
  const top = await scene.newShop();
  const serviceId = await scene.configured();
  const above = scene.path('organizations', scene.organizationId, serviceId);
  await scene.done('org', 'POST', above, {
    values: { footer: 'From above', account: { apiKey: 'key-of-all' } },
  });
  const below = await scene.catalog.configuration.readDeviceConfiguration(
    scene.organizationId,
    top.deviceId,
  );
  assert.ok(below.length > 0);
  await scene.database.query(
    'UPDATE organizations SET parent_organization_id = $1 WHERE organization_id = $2',
    [scene.organizationId, scene.otherId],
  );
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const { packageId } = await scene.done('other', 'POST', '/packages', offer);
  await scene.done('other', 'POST', '/subscriptions', { packageId });
  const otherPath = scene.path('organizations', scene.otherId, serviceId);
  const { body } = await scene.call('other', 'GET', otherPath);
  const [source] = body['effective'].sources.filter((each: Source) => each.pointer === '/footer');
  assert.deepEqual(source, {
    pointer: '/footer',
    level: 'Organization',
    entityId: scene.organizationId,
  });
  assert.deepEqual(body['effective'].secrets, [
    { pointer: '/account/apiKey', level: 'Organization', entityId: scene.organizationId },
  ]);
  const set = await scene.submit('other', otherPath, { footer: 'Own' });
  assert.equal(set.body['effective'].values.footer, 'Own');
  assert.deepEqual(
    set.body['levels'].map(({ entityId }: { entityId: string }) => entityId),
    [scene.organizationId, scene.otherId],
  );
  assert.equal((await scene.call('other', 'GET', above)).status, 404);
});
