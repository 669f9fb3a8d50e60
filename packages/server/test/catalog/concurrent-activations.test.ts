import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  openCatalog,
  openProvider,
  type TestCatalog,
} from '../support/provisioning/test-catalog.ts';

let setup: TestCatalog;
before(async () => {
  setup = await openCatalog();
});
after(() => setup.close());

const activation = (serviceId: string) => ({
  serviceId,
  level: 'Organization',
  entityId: setup.organizationId,
});

test('only one of eight concurrent activations succeeds', async () => {
  const { serviceId } = await setup.subscribed();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      setup.call('org', 'POST', '/activations', activation(serviceId)),
    ),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [201, ...Array(7).fill(409)]);
  const { items } = await setup.done('org', 'GET', `/activations?serviceId=${serviceId}`);
  assert.equal(items.length, 1);
});

test('an activation and the end of its subscription never both succeed', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { serviceId } = await setup.service();
    const offer = { name: 'Offer', serviceIds: [serviceId] };
    const { packageId } = await setup.done('org', 'POST', '/packages', offer);
    const { subscriptionId } = await setup.done('org', 'POST', '/subscriptions', { packageId });
    const [activated, ended] = await Promise.all([
      setup.call('org', 'POST', '/activations', activation(serviceId)),
      setup.call('org', 'DELETE', `/subscriptions/${subscriptionId}`),
    ]);
    const outcome = [activated?.body['code'] ?? 'done', ended?.body['code'] ?? 'done'];
    const isOne = [
      ['done', 'has_dependants'],
      ['service_not_subscribed', 'done'],
    ].some((each) => each.join() === outcome.join());
    assert.ok(isOne, outcome.join());
  }
});

test('a device reads its own services, and nothing that others agreed on', async () => {
  const { serviceId } = await setup.subscribed();
  const merchant = await setup.createMerchant('device-token');
  const { activationId } = await setup.done('org', 'POST', '/activations', activation(serviceId));
  const token = setup.deviceToken(merchant);
  const ownServicesPath = `/logical-devices/${merchant.deviceId}/services`;
  assert.ok((await setup.done(token, 'GET', ownServicesPath))['items'].length > 0);
  const other = `/logical-devices/${await setup.device(merchant.storeId)}/services`;
  assert.equal((await setup.call(token, 'GET', other)).status, 404);
  for (const path of ['/activations', `/activations/${activationId}`]) {
    assert.equal((await setup.call(token, 'GET', path)).status, 403);
  }
});

test('after renewals calls carry the signatures of all, and there are so many and no more', async () => {
  const provider = await openProvider();
  try {
    const { serviceId, signingSecret } = await setup.subscribed({ spiUrl: provider.url });
    const path = `/services/${serviceId}/secret`;
    const renewals = [];
    for (let count = 0; count < 3; count += 1) {
      renewals.unshift(await setup.done('provider', 'POST', path));
    }
    const often = await setup.call('provider', 'POST', path);
    assert.deepEqual([often.status, often.body['code']], [409, 'keys_renewed_often']);
    assert.ok(Number(often.headers['retry-after']) > 86_000, 'once the first one has ended');
    await setup.done('org', 'POST', '/activations', activation(serviceId));
    await setup.work();
    const [call] = provider.calls;
    const {
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': all,
    } = call?.headers ?? {};
    const secrets = [...renewals.map((each) => String(each['signingSecret'])), signingSecret];
    const signed = secrets.map((secret: string) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${at}.${call?.body}`).digest('base64')}`;
    });
    const signatures = String(all).split(' ');
    assert.deepEqual(signatures.slice(0, 4), signed);
    const pairs = signatures.slice(4);
    assert.deepEqual(
      pairs.map((each) => each.slice(0, 4)),
      ['v1a,', 'v1a,', 'v1a,', 'v1a,'],
    );
    assert.notEqual(renewals[0]?.['verificationKey'], undefined);
  } finally {
    await provider.close();
  }
});
