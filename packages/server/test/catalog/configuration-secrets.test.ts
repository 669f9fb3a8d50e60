import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type ConfigurationScene,
  openConfigurationScene,
} from '../support/provisioning/test-service-configuration.ts';

let scene: ConfigurationScene;
before(async () => {
  scene = await openConfigurationScene();
});
after(() => scene.close());

const secret = 'sk-live-7f3a9c';

// Spec: PROV-48
test('a secret is stored encrypted, is never shown, and is delivered to the device', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const path = scene.path('merchants', shop.merchantId, serviceId);
  const device = scene.path('logical-devices', shop.deviceId, serviceId);
  const values = { account: { number: '7', apiKey: secret }, hosts: { a: { token: secret } } };
  const texts = [
    JSON.stringify(await scene.submit('org', path, values)),
    JSON.stringify(await scene.call('org', 'GET', path)),
    JSON.stringify(await scene.call(shop.token, 'GET', device)),
    JSON.stringify(await scene.call('org', 'GET', `${path}/versions/1`)),
    JSON.stringify(await scene.call('org', 'GET', '/audit/v1/records?limit=200')),
    JSON.stringify(await scene.database.query('SELECT * FROM service_configurations')),
    JSON.stringify(await scene.database.query('SELECT * FROM service_configuration_versions')),
  ];
  for (const text of texts) assert.doesNotMatch(text, new RegExp(secret));
  const { body } = await scene.call('org', 'GET', path);
  assert.deepEqual(body['values'], { account: { number: '7' }, hosts: { a: {} } });
  assert.deepEqual(body['secrets'], ['/account/apiKey', '/hosts/a/token']);
  const below = (await scene.call('org', 'GET', device)).body['effective'];
  assert.deepEqual(
    below.secrets.map(({ pointer, level }: { pointer: string; level: string }) => [pointer, level]),
    [
      ['/account/apiKey', 'Merchant'],
      ['/hosts/a/token', 'Merchant'],
    ],
  );
  const got = await scene.delivered(shop, serviceId);
  assert.deepEqual(got.values?.['account'], values.account);
});

test('a secret that is left out stays, is replaced alone, and goes with null or its object', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const path = scene.path('stores', shop.storeId, serviceId);
  const send = (values: object) => scene.done('org', 'POST', path, { values });
  const accountOf = async () => (await scene.delivered(shop, serviceId)).values?.['account'];
  await send({ account: { number: '1', apiKey: secret } });
  // The values as the API returned them, with one change.
  const { values } = await scene.done('org', 'GET', path);
  const updatedConfiguration = await send({
    ...values,
    account: { ...values.account, number: '2' },
  });
  assert.deepEqual(
    [updatedConfiguration['version'], updatedConfiguration['secrets']],
    [2, ['/account/apiKey']],
  );
  assert.deepEqual(await accountOf(), { number: '2', apiKey: secret });
  // A new secret makes a new version, although the visible values stay the same.
  const before = await scene.delivered(shop, serviceId);
  const renewed = await send({ account: { number: '2', apiKey: 'another' } });
  assert.equal(renewed['version'], 3);
  assert.notEqual((await scene.delivered(shop, serviceId)).version, before.version);
  assert.deepEqual(await accountOf(), { number: '2', apiKey: 'another' });
  const cleared = await send({ account: { number: '2', apiKey: null } });
  assert.deepEqual([cleared['version'], cleared['secrets']], [4, []]);
  assert.deepEqual(await accountOf(), { number: '2' });
  const restored = await scene.done('org', 'POST', `${path}/versions/2/restore`);
  assert.deepEqual(restored['secrets'], ['/account/apiKey']);
  assert.deepEqual(await accountOf(), { number: '2', apiKey: secret });
  const clearedConfiguration = await send({ footer: 'x' });
  assert.deepEqual(clearedConfiguration['secrets'], []);
  assert.equal(await accountOf(), undefined);
});

test('the audit records the author and values of each change, and names a changed secret without its value', async () => {
  const shop = await scene.newShop();
  const serviceId = await scene.configured();
  const path = scene.path('stores', shop.storeId, serviceId);
  await scene.done(shop.token, 'POST', path, { values: { footer: 'one' } });
  await scene.done('org', 'POST', path, {
    values: { footer: 'two', account: { apiKey: secret } },
  });
  await scene.done('org', 'POST', `${path}/versions/1/restore`);
  await scene.done('org', 'DELETE', path);
  const { items } = await scene.done('org', 'GET', '/audit/v1/records?limit=200');
  type ListedRecord = {
    entity: { id: string; merchantId: string };
    action: string;
    after?: object;
  };
  type Record = ListedRecord & { before?: object; actor: { clientId: string } };
  const records: Record[] = items.filter(
    ({ entity, action }: ListedRecord) =>
      entity.id === shop.storeId && action.startsWith('configuration.'),
  );
  assert.equal(records.length, 4);
  const actions = records.map(({ action }) => action).sort();
  assert.deepEqual(actions, [
    'configuration.removed',
    'configuration.restored',
    'configuration.updated',
    'configuration.updated',
  ]);
  const made = records.find(({ before }) => before === undefined);
  assert.deepEqual(made?.actor.clientId, shop.token);
  assert.equal(made?.entity.merchantId, shop.merchantId);
  assert.deepEqual(made?.after, {
    serviceId,
    level: 'Store',
    version: 1,
    values: { footer: 'one' },
  });
  const sealing = records.find(({ after }) => after !== undefined && 'sealedAnew' in after);
  assert.deepEqual(sealing?.after, {
    serviceId,
    level: 'Store',
    version: 2,
    sealed: ['/account/apiKey'],
    sealedAnew: ['/account/apiKey'],
    values: { footer: 'two', account: {} },
  });
});
