import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answering, openProvider, type Provider } from '../support/provisioning/test-catalog.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

let setup: TestOrganization;
let provider: Provider;
before(async () => {
  setup = await createTestOrganization();
  provider = await openProvider();
});
after(() => provider.close());

const base = '/service-catalog/v1';

async function made(token: string, path: string, body?: unknown) {
  const answer = await setup.client.call('POST', `${base}${path}`, { token, body: body ?? {} });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
}

test('from a declaration to a device, with roles as they are given and jobs as they run', async () => {
  const { organizationId, acquirerToken, merchant, platform, client } = setup;
  const application = { entityType: 'tenant', entityId: organizationId } as const;
  const providerApplication = { ...application, name: 'provider', roles: ['ServiceProvider'] };
  const providerToken = await setup.tokenFor(providerApplication);
  const declaration = { name: 'QR', domain: 'Payments', spiUrl: provider.url };
  const { serviceId } = await made(providerToken, '/services', declaration);
  await made(providerToken, `/services/${serviceId}/publish`);
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const { packageId } = await made(acquirerToken, '/packages', offer);
  await made(acquirerToken, '/subscriptions', { packageId });

  provider.script = answering(202);
  const entity = { serviceId, level: 'Organization', entityId: organizationId };
  const { activationId } = await made(acquirerToken, '/activations', entity);
  const path = `${base}/activations/${activationId}`;
  const statusNow = async () =>
    (await client.call('GET', path, { token: acquirerToken })).body.status;
  await until(async () => (await statusNow()) === 'Pending' || undefined, 'the provider’s 202');
  const [deviceId = ''] = merchant.deviceIds;
  const isActive = () => platform.catalog.isActive(organizationId, deviceId, serviceId);
  assert.equal(await isActive(), false);

  const { handshakeId, answerUrl } = JSON.parse(provider.calls[0]?.body ?? '{}').data;
  const body = { handshakeId, status: 'Accepted' };
  const call = { token: providerToken, body };
  const answered = await client.call('POST', new URL(answerUrl).pathname, call);
  assert.deepEqual([answered.status, answered.body.status], [200, 'Active']);
  assert.equal(await isActive(), true);

  const till = await client.call('POST', `${base}/activations`, {
    token: merchant.token,
    body: entity,
  });
  assert.equal(till.status, 403);
  const merchantResponse = await client.call('GET', `${base}/services/${serviceId}`, {
    token: merchant.token,
  });
  assert.equal(merchantResponse.status, 403);
});
