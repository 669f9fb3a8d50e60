import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  openConfiguration,
  type TestConfiguration,
} from '../support/provisioning/test-service-configuration.ts';

let setup: TestConfiguration;
before(async () => {
  setup = await openConfiguration();
});
after(() => setup.close());

const secret = 'sk-live-7f3a9c';

// Spec: PROV-48
test('a secret is stored encrypted, is never shown, and is delivered to the device', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('merchants', merchant.merchantId, serviceId);
  const device = setup.path('logical-devices', merchant.deviceId, serviceId);
  const values = { account: { number: '7', apiKey: secret }, hosts: { a: { token: secret } } };
  const texts = [
    JSON.stringify(await setup.submit('org', path, values)),
    JSON.stringify(await setup.call('org', 'GET', path)),
    JSON.stringify(await setup.call(merchant.token, 'GET', device)),
    JSON.stringify(await setup.call('org', 'GET', `${path}/versions/1`)),
    JSON.stringify(await setup.call('org', 'GET', '/audit/v1/records?limit=200')),
    JSON.stringify(await setup.database.query('SELECT * FROM service_configurations')),
    JSON.stringify(await setup.database.query('SELECT * FROM service_configuration_versions')),
  ];
  for (const text of texts) assert.doesNotMatch(text, new RegExp(secret));
  const { body } = await setup.call('org', 'GET', path);
  assert.deepEqual(body['values'], { account: { number: '7' }, hosts: { a: {} } });
  assert.deepEqual(body['secrets'], ['/account/apiKey', '/hosts/a/token']);
  const below = (await setup.call('org', 'GET', device)).body['effective'];
  assert.deepEqual(
    below.secrets.map(({ pointer, level }: { pointer: string; level: string }) => [pointer, level]),
    [
      ['/account/apiKey', 'Merchant'],
      ['/hosts/a/token', 'Merchant'],
    ],
  );
  const got = await setup.delivered(merchant, serviceId);
  assert.deepEqual(got.values?.['account'], values.account);
});

test('a secret that is left out stays, is replaced alone, and goes with null or its object', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('stores', merchant.storeId, serviceId);
  const send = (values: object) => setup.done('org', 'POST', path, { values });
  const accountOf = async () => (await setup.delivered(merchant, serviceId)).values?.['account'];
  await send({ account: { number: '1', apiKey: secret } });
  // The values as the API returned them, with one change.
  const { values } = await setup.done('org', 'GET', path);
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
  const before = await setup.delivered(merchant, serviceId);
  const renewed = await send({ account: { number: '2', apiKey: 'another' } });
  assert.equal(renewed['version'], 3);
  assert.notEqual((await setup.delivered(merchant, serviceId)).version, before.version);
  assert.deepEqual(await accountOf(), { number: '2', apiKey: 'another' });
  const cleared = await send({ account: { number: '2', apiKey: null } });
  assert.deepEqual([cleared['version'], cleared['secrets']], [4, []]);
  assert.deepEqual(await accountOf(), { number: '2' });
  const restored = await setup.done('org', 'POST', `${path}/versions/2/restore`);
  assert.deepEqual(restored['secrets'], ['/account/apiKey']);
  assert.deepEqual(await accountOf(), { number: '2', apiKey: secret });
  const clearedConfiguration = await send({ footer: 'x' });
  assert.deepEqual(clearedConfiguration['secrets'], []);
  assert.equal(await accountOf(), undefined);
});

test('the audit records the author and values of each change, and names a changed secret without its value', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('stores', merchant.storeId, serviceId);
  await setup.done(merchant.token, 'POST', path, { values: { footer: 'one' } });
  await setup.done('org', 'POST', path, {
    values: { footer: 'two', account: { apiKey: secret } },
  });
  await setup.done('org', 'POST', `${path}/versions/1/restore`);
  await setup.done('org', 'DELETE', path);
  const { items } = await setup.done('org', 'GET', '/audit/v1/records?limit=200');
  type ListedRecord = {
    entity: { id: string; merchantId: string };
    action: string;
    after?: object;
  };
  type Record = ListedRecord & { before?: object; actor: { clientId: string } };
  const records: Record[] = items.filter(
    ({ entity, action }: ListedRecord) =>
      entity.id === merchant.storeId && action.startsWith('configuration.'),
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
  assert.deepEqual(made?.actor.clientId, merchant.token);
  assert.equal(made?.entity.merchantId, merchant.merchantId);
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
