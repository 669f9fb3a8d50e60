import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  type CatalogueScene,
  openCatalogue,
  openProvider,
} from '../support/provisioning/test-catalog.ts';

let scene: CatalogueScene;
before(async () => {
  scene = await openCatalogue();
});
after(() => scene.close());

const activation = (serviceId: string) => ({
  serviceId,
  level: 'Organization',
  entityId: scene.organizationId,
});

test('only one of eight concurrent activations succeeds', async () => {
  const { serviceId } = await scene.subscribed();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () =>
      scene.call('org', 'POST', '/activations', activation(serviceId)),
    ),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [201, ...Array(7).fill(409)]);
  const { items } = await scene.done('org', 'GET', `/activations?serviceId=${serviceId}`);
  assert.equal(items.length, 1);
});

test('an activation and the end of its subscription never both succeed', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { serviceId } = await scene.service();
    const offer = { name: 'Offer', serviceIds: [serviceId] };
    const { packageId } = await scene.done('org', 'POST', '/packages', offer);
    const { subscriptionId } = await scene.done('org', 'POST', '/subscriptions', { packageId });
    const [activated, ended] = await Promise.all([
      scene.call('org', 'POST', '/activations', activation(serviceId)),
      scene.call('org', 'DELETE', `/subscriptions/${subscriptionId}`),
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
  const { serviceId } = await scene.subscribed();
  const shop = await scene.createShop('device-token');
  const { activationId } = await scene.done('org', 'POST', '/activations', activation(serviceId));
  const token = scene.deviceToken(shop);
  const ownServicesPath = `/logical-devices/${shop.deviceId}/services`;
  assert.ok((await scene.done(token, 'GET', ownServicesPath))['items'].length > 0);
  const other = `/logical-devices/${await scene.device(shop.storeId)}/services`;
  assert.equal((await scene.call(token, 'GET', other)).status, 404);
  for (const path of ['/activations', `/activations/${activationId}`]) {
    assert.equal((await scene.call(token, 'GET', path)).status, 403);
  }
});

test('after renewals calls carry the signatures of all, and there are so many and no more', async () => {
  const provider = await openProvider();
  try {
    const { serviceId, signingSecret } = await scene.subscribed({ spiUrl: provider.url });
    const path = `/services/${serviceId}/secret`;
    const renewals = [];
    for (let count = 0; count < 3; count += 1) {
      renewals.unshift(await scene.done('provider', 'POST', path));
    }
    const often = await scene.call('provider', 'POST', path);
    assert.deepEqual([often.status, often.body['code']], [409, 'keys_renewed_often']);
    assert.ok(Number(often.headers['retry-after']) > 86_000, 'once the first one has ended');
    await scene.done('org', 'POST', '/activations', activation(serviceId));
    await scene.work();
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
