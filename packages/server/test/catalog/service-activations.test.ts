// Whole run: much is made, or waited for, before it shows.
import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  answering,
  type MerchantWithDevice,
  openCatalog,
  openProvider,
  type Provider,
  type ProviderScript,
  type TestCatalog,
} from '../support/provisioning/test-catalog.ts';

let setup: TestCatalog;
let provider: Provider;
before(async () => {
  setup = await openCatalog();
  provider = await openProvider();
});
after(async () => {
  await provider.close();
  await setup.close();
});

type Level = 'Organization' | 'Merchant' | 'Store' | 'LogicalDevice';

const assertRefused = (answer: { status: number; body: Record<string, unknown> }, code: string) =>
  assert.equal(answer.body['code'], code, JSON.stringify(answer.body));

const activation = (serviceId: string, level: Level, entityId: string, more: object = {}) => ({
  serviceId,
  level,
  entityId,
  ...more,
});

const activate = (serviceId: string, level: Level, entityId: string, more: object = {}) =>
  setup.done('org', 'POST', '/activations', activation(serviceId, level, entityId, more));

const activateAll = (serviceId: string, more: object = {}) =>
  activate(serviceId, 'Organization', setup.organizationId, more);
const deactivate = (serviceId: string, level: Level, entityId: string) =>
  setup.done('org', 'POST', '/deactivations', { serviceId, level, entityId });

const isActive = (serviceId: string, { deviceId }: Pick<MerchantWithDevice, 'deviceId'>) =>
  setup.catalog.isActive(setup.organizationId, deviceId, serviceId);
const open = { includesExisting: false };

// Spec: CC-16 PROV-37
test('a service is active at a device only if it is at every level above', async () => {
  const { serviceId } = await setup.subscribed();
  const merchant = await setup.createMerchant();
  const steps: [Level, string][] = [
    ['Organization', setup.organizationId],
    ['Merchant', merchant.merchantId],
    ['Store', merchant.storeId],
    ['LogicalDevice', merchant.deviceId],
  ];
  for (const [level, entityId] of steps) {
    assert.equal(await isActive(serviceId, merchant), false, level);
    assert.equal((await activate(serviceId, level, entityId, open))['status'], 'Active');
  }
  assert.equal(await isActive(serviceId, merchant), true);
  for (const [level, entityId] of steps) {
    await deactivate(serviceId, level, entityId);
    assert.equal(await isActive(serviceId, merchant), false, level);
    await activate(serviceId, level, entityId, open);
    assert.equal(await isActive(serviceId, merchant), true, level);
  }
});

// Spec: CC-17 PROV-38
test('an activation takes along the devices that exist, and later ones need their own', async () => {
  const { serviceId } = await setup.subscribed();
  const merchant = await setup.createMerchant();
  await activateAll(serviceId);
  assert.equal(await isActive(serviceId, merchant), true);
  const late = { deviceId: await setup.device(merchant.storeId) };
  assert.equal(await isActive(serviceId, late), false);
  await activate(serviceId, 'LogicalDevice', late.deviceId);
  assert.equal(await isActive(serviceId, late), true);
  const second = await setup.createMerchant();
  assert.equal(await isActive(serviceId, second), false);
  await activate(serviceId, 'Merchant', second.merchantId);
  assert.equal(await isActive(serviceId, second), true);
});

test('one device of many is switched off, and on again with the level above', async () => {
  const { serviceId } = await setup.subscribed();
  const merchant = await setup.createMerchant();
  const other = { deviceId: await setup.device(merchant.storeId) };
  await activateAll(serviceId);
  const deactivation = await deactivate(serviceId, 'LogicalDevice', merchant.deviceId);
  assert.equal(deactivation['status'], 'Inactive');
  assert.deepEqual(
    [await isActive(serviceId, merchant), await isActive(serviceId, other)],
    [false, true],
  );
  const path = `/logical-devices/${merchant.deviceId}/services`;
  const { items } = await setup.done('org', 'GET', path);
  const serviceItem = items.find((item: { serviceId: string }) => item.serviceId === serviceId);
  assert.equal(serviceItem.active, false);
  assert.deepEqual(
    serviceItem.levels.map(({ level, active }: { level: string; active: boolean }) => [
      level,
      active,
    ]),
    [
      ['Organization', true],
      ['Merchant', true],
      ['Store', true],
      ['LogicalDevice', false],
    ],
  );
  await deactivate(serviceId, 'Organization', setup.organizationId);
  await activateAll(serviceId);
  assert.equal(await isActive(serviceId, merchant), true);
});

test('the server lists the payment types of a device’s active services, and no services for an unknown device', async () => {
  const { serviceId } = await setup.subscribed({ paymentTypes: ['demopay'] });
  const merchant = await setup.createMerchant();
  await activateAll(serviceId);
  const { organizationId, catalog } = setup;
  const activeServices = await catalog.listActiveServices(organizationId, merchant.deviceId);
  const activeService = activeServices.find((service) => service.serviceId === serviceId);
  assert.deepEqual(
    [activeService?.paymentTypes, activeService?.providerId],
    [['demopay'], setup.providerId],
  );
  const foreign = randomUUID();
  assert.deepEqual(await catalog.listActiveServices(foreign, merchant.deviceId), []);
  assert.deepEqual(await catalog.listActiveServices(organizationId, randomUUID()), []);
});

test('the server refuses an activation without a subscription, and refuses to remove the subscription of an active service', async () => {
  const { serviceId } = await setup.service();
  const body = activation(serviceId, 'Organization', setup.organizationId);
  assertRefused(await setup.call('org', 'POST', '/activations', body), 'service_not_subscribed');
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const { packageId } = await setup.done('org', 'POST', '/packages', offer);
  const { subscriptionId } = await setup.done('org', 'POST', '/subscriptions', { packageId });
  await activateAll(serviceId);
  const path = `/subscriptions/${subscriptionId}`;
  assertRefused(await setup.call('org', 'DELETE', path), 'has_dependants');
  const { serviceId: another } = await setup.service();
  const without = { ...offer, serviceIds: [another] };
  assertRefused(
    await setup.call('org', 'PUT', `/packages/${packageId}`, without),
    'has_dependants',
  );
  await deactivate(serviceId, 'Organization', setup.organizationId);
  assert.equal((await setup.call('org', 'DELETE', path)).status, 204);
});

test('the server refuses wrong levels and foreign identifiers, and limits a merchant to its own entities', async () => {
  const { serviceId } = await setup.subscribed();
  const [merchant, other] = [await setup.createMerchant(), await setup.createMerchant()];
  const requestActivation = (token: string, level: Level, entityId: string) =>
    setup.call(token, 'POST', '/activations', activation(serviceId, level, entityId));
  assertRefused(await requestActivation('org', 'Merchant', merchant.storeId), 'merchant_not_found');
  assertRefused(await requestActivation('org', 'Store', merchant.merchantId), 'store_not_found');
  assertRefused(
    await requestActivation('org', 'LogicalDevice', merchant.storeId),
    'device_not_found',
  );
  assertRefused(
    await requestActivation('org', 'Organization', setup.providerId),
    'organization_not_found',
  );
  assertRefused(await requestActivation('org', 'Merchant', randomUUID()), 'merchant_not_found');
  assertRefused(
    await requestActivation('other', 'Merchant', merchant.merchantId),
    'merchant_not_found',
  );
  assertRefused(
    await requestActivation(merchant.token, 'Merchant', other.merchantId),
    'merchant_not_found',
  );
  assertRefused(
    await requestActivation(merchant.token, 'LogicalDevice', other.deviceId),
    'device_not_found',
  );
  assertRefused(
    await requestActivation(merchant.token, 'Organization', setup.organizationId),
    'permission_denied',
  );
  const ownResponse = await requestActivation(merchant.token, 'Store', merchant.storeId);
  assert.equal(ownResponse.status, 201);
  const path = `/activations/${ownResponse.body['activationId']}`;
  assertRefused(await setup.call(other.token, 'GET', path), 'resource_not_found');
  assertRefused(await setup.call('other', 'GET', path), 'resource_not_found');
  const otherList = await setup.done(other.token, 'GET', `/activations?serviceId=${serviceId}`);
  assert.deepEqual(otherList['items'], []);
  const devices = `/logical-devices/${merchant.deviceId}/services`;
  assertRefused(await setup.call(other.token, 'GET', devices), 'device_not_found');
  const twice = await requestActivation('org', 'Store', merchant.storeId);
  assertRefused(twice, 'activation_state');
});

const schema = {
  type: 'object',
  properties: { account: { type: 'string', minLength: 1, maxLength: 20 } },
  required: ['account'],
  additionalProperties: false,
};
const parameters = { account: 'NG-1' };

/**
 * A service with a secret parameter whose provider confirms activations, and a script for this
 * provider.
 */
async function activateWithScript(script: ProviderScript) {
  // Completes the jobs of earlier tests first.
  provider.script = answering(200, { status: 'Accepted' });
  while ((await setup.work()).length > 0);
  provider.script = script;
  provider.calls.length = 0;
  const service = await setup.subscribed({ spiUrl: provider.url, activationParameters: schema });
  const made = await activateAll(service['serviceId'], { parameters });
  return {
    serviceId: String(service['serviceId']),
    secret: String(service['signingSecret']),
    made,
  };
}

const read = async (made: Record<string, unknown>) =>
  setup.done('org', 'GET', `/activations/${made['activationId']}`);

// Spec: PROV-41
test('the server sends the provider a signed request with the parameters and stores the parameters of its answer', async () => {
  const accepted = answering(200, { status: 'Accepted', parameters: { shop: 7 }, extra: true });
  const { serviceId, secret, made } = await activateWithScript(accepted);
  const merchant = await setup.createMerchant();
  assert.equal(made['status'], 'Requested');
  assert.equal(await isActive(serviceId, merchant), false);
  assert.deepEqual(await setup.work(), []);
  const after = await read(made);
  assert.deepEqual([after['status'], after['providerParameters']], ['Active', { shop: 7 }]);
  assert.equal(await isActive(serviceId, merchant), true);
  const [call] = provider.calls;
  assert.ok(call !== undefined);
  const { type, data } = JSON.parse(call.body);
  assert.equal(type, 'service.activation_requested');
  assert.deepEqual(
    [data.parameters, data.level, data.serviceId],
    [parameters, 'Organization', serviceId],
  );
  const {
    'webhook-id': id,
    'webhook-timestamp': at,
    'webhook-signature': signature,
  } = call.headers;
  assert.equal(id, data.handshakeId);
  assert.ok(Math.abs(Number(at) - Date.now() / 1000) < 60);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${at}.${call.body}`).digest('base64');
  const signatures = String(signature);
  assert.match(signatures, /^v1,\S+ v1a,\S+$/);
  assert.equal(signatures.split(' ')[0], `v1,${expected}`);
  await setup.work();
  assert.equal(provider.calls.length, 1);
});

// Spec: PROV-48
test('the server sends a secret parameter to the provider and never shows it in responses, tables or audit records', async () => {
  const secret = 'pk-5e1d77';
  provider.script = answering(200, { status: 'Accepted' });
  while ((await setup.work()).length > 0);
  provider.calls.length = 0;
  const key = { type: 'string', maxLength: 20, writeOnly: true };
  const { serviceId } = await setup.subscribed({
    spiUrl: provider.url,
    activationParameters: {
      type: 'object',
      properties: { shop: { type: 'string', maxLength: 20 }, apiKey: key },
      required: ['apiKey'],
    },
  });
  const sent = { shop: '7', apiKey: secret };
  const made = await activateAll(String(serviceId), { parameters: sent });
  await setup.work();
  assert.deepEqual(JSON.parse(provider.calls[0]?.body ?? '').data.parameters, sent);
  const after = await read(made);
  assert.deepEqual([after['parameters'], after['secrets']], [{ shop: '7' }, ['/apiKey']]);
  const storedActivations = await setup.database.query(
    'SELECT * FROM service_activations WHERE organization_id = $1',
    [setup.organizationId],
  );
  const records = await setup.done('org', 'GET', '/audit/v1/records?limit=200');
  for (const output of [made, after, storedActivations, records]) {
    assert.doesNotMatch(JSON.stringify(output), new RegExp(secret));
  }
  // The provider gets the same bytes when the activation ends.
  await deactivate(String(serviceId), 'Organization', setup.organizationId);
  await setup.work();
  assert.deepEqual(JSON.parse(provider.calls.at(-1)?.body ?? '').data.parameters, sent);
});

test('parameters that do not fit never reach the provider', async () => {
  const { serviceId } = await activateWithScript(answering(200, { status: 'Accepted' }));
  const merchant = await setup.createMerchant();
  for (const [values, code] of [
    [{}, 'field_required'],
    [{ account: 'x'.repeat(21) }, 'field_invalid'],
    [{ account: 'x', more: 1 }, 'field_unknown'],
  ] as const) {
    const body = activation(serviceId, 'Merchant', merchant.merchantId, { parameters: values });
    assertRefused(await setup.call('org', 'POST', '/activations', body), code);
  }
});

test('the server shows the reason for a provider’s refusal and accepts a new activation request', async () => {
  const { made, serviceId } = await activateWithScript(
    answering(200, { status: 'Refused', reason: 'No contract\u0000 with you' }),
  );
  await setup.work();
  const refused = await read(made);
  assert.deepEqual([refused['status'], refused['reason']], ['Refused', 'No contract with you']);
  provider.script = answering(200, { status: 'Accepted' });
  const again = await activateAll(serviceId, { parameters });
  assert.equal(again['activationId'], made['activationId']);
  await setup.work();
  assert.equal((await read(made))['status'], 'Active');
});

const answer = (made: Record<string, unknown>, body: object, token = 'provider') =>
  setup.call(
    token,
    'POST',
    `/organizations/${setup.organizationId}/activations/${made['activationId']}/answer`,
    body,
  );

const lastHandshake = () => JSON.parse(provider.calls.at(-1)?.body ?? '{}').data.handshakeId;

// Spec: PROV-41
test('a provider may answer later, once; the same again changes nothing', async () => {
  const { made, serviceId } = await activateWithScript(answering(202));
  await setup.work();
  assert.equal((await read(made))['status'], 'Pending');
  const handshakeId = lastHandshake();
  const accepted = { handshakeId, status: 'Accepted', parameters: { shop: 8 } };
  for (const token of ['org', 'other']) {
    assertRefused(await answer(made, accepted, token), 'resource_not_found');
  }
  assertRefused(await answer(made, { ...accepted, handshakeId: randomUUID() }), 'activation_state');
  const two = await Promise.all([answer(made, accepted), answer(made, accepted)]);
  assert.deepEqual(
    two.map(({ status, body }) => [status, body['status']]),
    [
      [200, 'Active'],
      [200, 'Active'],
    ],
  );
  assertRefused(await answer(made, { handshakeId, status: 'Refused' }), 'activation_state');
  assert.deepEqual((await read(made))['providerParameters'], { shop: 8 });
  await deactivate(serviceId, 'Organization', setup.organizationId);
  assertRefused(await answer(made, accepted), 'activation_state');
});

test('an answer at the other door, while the call still runs, is the one that counts', async () => {
  const statuses: number[] = [];
  const { made } = await activateWithScript(async (call, reply) => {
    const { handshakeId } = JSON.parse(call.body).data;
    statuses.push((await answer(made, { handshakeId, status: 'Refused', reason: 'No' })).status);
    answering(200, { status: 'Accepted' })(call, reply);
  });
  await setup.work();
  assert.deepEqual(statuses, [200]);
  const after = await read(made);
  assert.deepEqual([after['status'], after['reason']], ['Refused', 'No']);
});

const silent: ProviderScript = () => {};

for (const [what, script] of Object.entries<ProviderScript>({
  hangs: silent,
  redirects: (_call, reply) => reply.writeHead(307, { location: provider.url }).end(),
  'answers ten megabytes': answering(200, 'x'.repeat(10_000_000)),
  'answers no JSON': answering(200, 'Accepted'),
  'answers another word': answering(200, { status: 'accepted' }),
  'answers parameters that are too long': answering(200, {
    status: 'Accepted',
    parameters: { long: 'x'.repeat(20_000) },
  }),
  'answers what cannot be stored': answering(200, {
    status: 'Accepted',
    parameters: { nul: '\u0000' },
  }),
  fails: answering(500),
  'hangs up': (_call, reply) => reply.socket?.destroy(),
})) {
  test(`the server retries a provider that ${what}, then treats the activation as refused`, async () => {
    const { made, serviceId } = await activateWithScript(script);
    const merchant = await setup.createMerchant();
    for (let tries = 1; tries <= 2; tries += 1) {
      assert.equal((await setup.work()).length, 1);
      assert.equal((await read(made))['status'], 'Requested');
    }
    assert.deepEqual(await setup.work(), []);
    const refused = await read(made);
    assert.deepEqual(
      [refused['status'], refused['reason']],
      ['Refused', 'The provider did not answer.'],
    );
    assert.equal(await isActive(serviceId, merchant), false);
    const ids = new Set(provider.calls.map((call) => call.headers['webhook-id']));
    const bodies = new Set(provider.calls.map((call) => call.body));
    assert.deepEqual([ids.size, bodies.size], [1, 1]);
    // If a reused connection turns out to be closed, an attempt makes one more call.
    const callsMost = what === 'hangs up' ? 6 : 3;
    const { length } = provider.calls;
    assert.ok(length >= 3 && length <= callsMost, `${length} calls`);
  });
}

test('the server makes at most two concurrent calls to a hanging provider and completes all activations once it answers', async () => {
  let openCalls = 0;
  let most = 0;
  const { serviceId } = await activateWithScript((_call, reply) => {
    openCalls += 1;
    most = Math.max(most, openCalls);
    reply.on('close', () => {
      openCalls -= 1;
    });
  });
  for (let count = 0; count < 4; count += 1) {
    const { merchantId } = await setup.createMerchant();
    await activate(serviceId, 'Merchant', merchantId, { parameters });
  }
  const laters = await setup.work();
  assert.deepEqual([laters.length, most], [5, 2]);
  assert.ok(laters.some((later) => later.countAttempt === false));
  provider.script = answering(200, { status: 'Accepted' });
  for (let round = 0; round < 5 && (await setup.work()).length > 0; round += 1);
  const { items } = await setup.done('org', 'GET', `/activations?serviceId=${serviceId}`);
  const statuses = items.map((item: { status: string }) => item.status);
  assert.deepEqual(statuses, Array(5).fill('Active'));
});

test('the server notifies the provider of a deactivation and refuses a late answer to the ended activation', async () => {
  const { made, serviceId } = await activateWithScript(answering(202));
  await setup.work();
  const handshakeId = lastHandshake();
  await deactivate(serviceId, 'Organization', setup.organizationId);
  provider.script = answering(204);
  assert.deepEqual(await setup.work(), []);
  const { type, data } = JSON.parse(provider.calls.at(-1)?.body ?? '{}');
  assert.deepEqual([type, data.activationId], ['service.deactivated', made['activationId']]);
  assertRefused(await answer(made, { handshakeId, status: 'Accepted' }), 'activation_state');
});

test('the audit log records each activation step without the parameter values', async () => {
  const { made } = await activateWithScript(
    answering(200, { status: 'Accepted', parameters: { key: 'k-9' } }),
  );
  await setup.work();
  const { items } = await setup.done('org', 'GET', '/audit/v1/records?limit=200');
  const activeService = items.filter(
    (item: { entity: { id: string } }) => item.entity.id === made['activationId'],
  );
  const steps = activeService.map((item: { action: string; actor: { kind: string } }) => [
    item.action,
    item.actor.kind,
  ]);
  assert.deepEqual(steps.sort(), [
    ['activation.accepted', 'Platform'],
    ['activation.requested', 'Application'],
  ]);
  assert.ok(!JSON.stringify(activeService).includes('k-9'));
});
