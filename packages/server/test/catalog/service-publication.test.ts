import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { openCatalog, type TestCatalog } from '../support/provisioning/test-catalog.ts';

let setup: TestCatalog;
before(async () => {
  setup = await openCatalog();
});
after(() => setup.close());

const assertRefused = (answer: { status: number; body: Record<string, unknown> }, code: string) =>
  assert.equal(answer.body['code'], code, JSON.stringify(answer.body));

const declaration = {
  name: 'QR',
  domain: 'Payments',
  methods: ['consumerscan', 'merchantscan'],
  paymentTypes: ['demopay'],
  spiUrl: 'https://provider.example/spi',
  events: ['payment.completed'],
  activationParameters: {
    type: 'object',
    properties: { account: { type: 'string', maxLength: 20 } },
    additionalProperties: false,
  },
  parameterSchema: { type: 'object', properties: {}, additionalProperties: false },
  logo: { mediaType: 'image/png', data: 'iVBORw0KGgo=' },
};

// Spec: SVC-6
test('a draft is its provider’s alone; published, every organisation sees it, but for the address', async () => {
  const made = await setup.call('provider', 'POST', '/services', declaration);
  assert.equal(made.status, 201);
  const { serviceId, signingSecret, ...view } = made.body;
  assert.match(signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(
    [view['status'], view['release'], view['unpublishedChanges'], view['spiUrl']],
    ['Draft', 0, true, declaration.spiUrl],
  );
  assertRefused(await setup.call('org', 'GET', `/services/${serviceId}`), 'service_not_found');
  const { serviceId: same } = await setup.done(
    'provider',
    'POST',
    `/services/${serviceId}/publish`,
  );
  assert.equal(same, serviceId);
  const { spiUrl: _spiUrl, ...shown } = declaration;
  for (const token of ['org', 'other']) {
    const readService = await setup.done(token, 'GET', `/services/${serviceId}`);
    const { createdAt, updatedAt, ...facts } = readService;
    assert.ok(createdAt <= updatedAt);
    const expected = { serviceId, organizationId: setup.providerId, status: 'Published' };
    assert.deepEqual(facts, { ...shown, ...expected, providerName: 'Acquirer', release: 1 });
  }
  const list = await setup.done('other', 'GET', `/services?providerId=${setup.providerId}`);
  const listed = list['items'].find((item: { serviceId: string }) => item.serviceId === serviceId);
  assert.deepEqual([listed.name, listed.logo, listed.spiUrl], ['QR', undefined, undefined]);
});

// Spec: PROV-34
test('other organisations see a change after its publication, and earlier releases remain readable', async () => {
  const { serviceId } = await setup.service({ methods: ['one'] });
  const path = `/services/${serviceId}`;
  const currentService = await setup.call('provider', 'GET', path);
  const change = { ...currentService.body, methods: ['two'], name: 'QR 2' };
  const replaced = await setup.call(
    'provider',
    'PUT',
    path,
    change,
    String(currentService.headers['etag']),
  );
  assert.deepEqual([replaced.status, replaced.body['unpublishedChanges']], [200, true]);
  const stale = await setup.call(
    'provider',
    'PUT',
    path,
    change,
    String(currentService.headers['etag']),
  );
  assertRefused(stale, 'precondition_failed');
  assert.deepEqual((await setup.done('org', 'GET', path))['methods'], ['one']);
  const published = await setup.done('provider', 'POST', `${path}/publish`);
  assert.deepEqual([published['release'], published['unpublishedChanges']], [2, false]);
  const again = await setup.done('provider', 'POST', `${path}/publish`);
  assert.equal(again['release'], 2);
  assert.deepEqual((await setup.done('org', 'GET', path))['methods'], ['two']);
  const first = await setup.done('org', 'GET', `${path}/releases?limit=1`);
  assert.deepEqual([first['items'][0].release, first['items'][0].methods], [2, ['two']]);
  const cursor = encodeURIComponent(first['nextCursor']);
  const second = await setup.done('org', 'GET', `${path}/releases?limit=1&cursor=${cursor}`);
  assert.deepEqual([second['items'][0].release, second['nextCursor']], [1, null]);
});

test('the server stores and updates a schema that is as deep as a request body may be', async () => {
  /**
   * The body, the schema, its properties, the property and the list of examples are five levels.
   */
  const levels = 32 - 5;
  const example = JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`);
  const list = { type: 'array', items: { type: 'integer' }, examples: [example] };
  const parameterSchema = { ...declaration.parameterSchema, properties: { list } };
  const made = await setup.call('provider', 'POST', '/services', {
    ...declaration,
    parameterSchema,
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const path = `/services/${made.body['serviceId']}`;
  const changed = { ...declaration, name: 'QR 2', parameterSchema };
  const etag = String(made.headers['etag']);
  assert.equal((await setup.call('provider', 'PUT', path, changed, etag)).status, 200);
  assert.deepEqual((await setup.done('provider', 'GET', path))['parameterSchema'], parameterSchema);
});

test('only the provider can change, publish, retire or delete its service', async () => {
  const { serviceId } = await setup.service();
  const path = `/services/${serviceId}`;
  const ownView = await setup.done('provider', 'GET', path);
  for (const token of ['org', 'other']) {
    assertRefused(await setup.call(token, 'PUT', path, ownView), 'service_not_found');
    for (const step of ['publish', 'retire', 'secret']) {
      assertRefused(await setup.call(token, 'POST', `${path}/${step}`), 'service_not_found');
    }
    assertRefused(await setup.call(token, 'DELETE', path), 'service_not_found');
  }
  assertRefused(await setup.call('nobody', 'POST', '/services', declaration), 'permission_denied');
  const { token } = await setup.createMerchant(`declaring-${randomUUID()}`);
  assertRefused(await setup.call(token, 'POST', '/services', declaration), 'permission_denied');
  for (const unknown of [randomUUID(), 'x']) {
    assertRefused(await setup.call('org', 'GET', `/services/${unknown}`), 'service_not_found');
  }
});

test('only a draft can be deleted, and a retired service cannot be published again', async () => {
  const draft = await setup.done('provider', 'POST', '/services', { name: 'A', domain: 'B' });
  const path = `/services/${draft['serviceId']}`;
  assertRefused(await setup.call('provider', 'POST', `${path}/retire`), 'service_state');
  assert.equal((await setup.call('provider', 'DELETE', path)).status, 204);
  assertRefused(await setup.call('provider', 'GET', path), 'service_not_found');
  const { serviceId } = await setup.service();
  const published = `/services/${serviceId}`;
  assertRefused(await setup.call('provider', 'DELETE', published), 'service_state');
  assert.equal((await setup.done('provider', 'POST', `${published}/retire`))['status'], 'Retired');
  assertRefused(await setup.call('provider', 'POST', `${published}/publish`), 'service_state');
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  assertRefused(await setup.call('org', 'POST', '/packages', offer), 'service_not_found');
});

test('a logo of each accepted type is declared', async () => {
  for (const [mediaType, data] of [
    ['image/png', 'iVBORw0KGgo='],
    ['image/jpeg', '/9j/4AAQSkZJRg=='],
    ['image/webp', 'UklGRiQAAABXRUJQVlA4IA=='],
  ] as const) {
    const body = { ...declaration, logo: { mediaType, data } };
    const answer = await setup.call('provider', 'POST', '/services', body);
    assert.equal(answer.status, 201, mediaType);
  }
});

// Spec: PROV-25
test('a declaration with a bad member is refused at its pointer', async () => {
  const remote = { type: 'object', properties: { a: { $ref: 'https://elsewhere.example/s' } } };
  for (const [member, value, pointer] of [
    ['parameterSchema', remote, '/parameterSchema/properties/a'],
    ['activationParameters', { type: 'string' }, '/activationParameters/type'],
    ['spiUrl', 'http://provider.example/', '/spiUrl'],
    ['spiUrl', 'https://192.168.0.1/', '/spiUrl'],
    ['paymentTypes', ['has space'], '/paymentTypes/0'],
    ['methods', Array.from({ length: 51 }, (_, at) => `m${at}`), '/methods'],
    ['logo', { mediaType: 'image/svg+xml', data: 'AAAA' }, '/logo/mediaType'],
    // SVG data, data of another image type, and data that is no image.
    [
      'logo',
      { mediaType: 'image/png', data: 'PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=' },
      '/logo/data',
    ],
    ['logo', { mediaType: 'image/jpeg', data: 'iVBORw0KGgo=' }, '/logo/data'],
    ['logo', { mediaType: 'image/webp', data: 'UklGRgAAAABXQVZF' }, '/logo/data'],
    ['release', 7, '/release'],
  ] as const) {
    const answer = await setup.call('provider', 'POST', '/services', {
      ...declaration,
      [member]: value,
    });
    assert.deepEqual([answer.status, answer.body['errors']?.[0]?.pointer], [422, pointer]);
  }
  const { serviceId } = await setup.service();
  const changed = { ...declaration, status: 'Retired' };
  const answer = await setup.call('provider', 'PUT', `/services/${serviceId}`, changed);
  assertRefused(answer, 'field_read_only');
});

test('packages contain only published services, and only their organisation can access them', async () => {
  const { serviceId } = await setup.service();
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const made = await setup.call('org', 'POST', '/packages', offer);
  assert.equal(made.status, 201);
  const path = `/packages/${made.body['packageId']}`;
  const draft = await setup.done('org', 'POST', '/services', { name: 'A', domain: 'B' });
  for (const other of [draft['serviceId'], randomUUID()]) {
    const answer = await setup.call('org', 'PUT', path, { ...offer, serviceIds: [other] });
    assertRefused(answer, 'service_not_found');
  }
  for (const [token, method, body] of [
    ['other', 'GET'],
    ['other', 'PUT', offer],
    ['other', 'DELETE'],
  ] as const) {
    assertRefused(await setup.call(token, method, path, body), 'resource_not_found');
  }
  const tag = String(made.headers['etag']);
  const renamed = await setup.call('org', 'PUT', path, { ...made.body, name: 'New' }, tag);
  assert.deepEqual([renamed.status, renamed.body['name']], [200, 'New']);
  assertRefused(await setup.call('org', 'DELETE', path, undefined, tag), 'precondition_failed');
  const { packageId } = made.body;
  await setup.done('org', 'POST', '/subscriptions', { packageId });
  assertRefused(await setup.call('org', 'DELETE', path), 'has_dependants');
});

// Spec: SVC-2 PROV-36
test('an organisation subscribes once, and nothing below it does', async () => {
  const { serviceId } = await setup.service();
  const offer = { name: 'Offer', serviceIds: [serviceId] };
  const { packageId } = await setup.done('org', 'POST', '/packages', offer);
  const merchant = await setup.createMerchant(`subscribing-${randomUUID()}`);
  const lower = await setup.call(merchant.token, 'POST', '/subscriptions', { packageId });
  assertRefused(lower, 'permission_denied');
  const subscriptionInput = { packageId, merchantId: merchant.merchantId };
  assertRefused(
    await setup.call('org', 'POST', '/subscriptions', subscriptionInput),
    'field_unknown',
  );
  assertRefused(
    await setup.call('other', 'POST', '/subscriptions', { packageId }),
    'resource_not_found',
  );
  const responses = await Promise.all(
    Array.from({ length: 5 }, () => setup.call('org', 'POST', '/subscriptions', { packageId })),
  );
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, 409, 409, 409, 409]);
  const { subscriptionId } = responses.find(({ status }) => status === 201)?.body ?? {};
  const path = `/subscriptions/${subscriptionId}`;
  assert.equal((await setup.done('org', 'GET', path))['packageId'], packageId);
  assertRefused(await setup.call('other', 'GET', path), 'resource_not_found');
  assertRefused(await setup.call('other', 'DELETE', path), 'resource_not_found');
  assert.equal((await setup.call('org', 'DELETE', path)).status, 204);
});

test('the audit records every change of a service without its secrets', async () => {
  const { serviceId, signingSecret } = await setup.service();
  await setup.done('provider', 'POST', `/services/${serviceId}/secret`);
  const { items } = await setup.done('provider', 'GET', '/audit/v1/records?limit=200');
  const serviceRecords = items.filter(
    (item: { entity: { id: string } }) => item.entity.id === serviceId,
  );
  const actions = serviceRecords.map((item: { action: string }) => item.action).sort();
  assert.deepEqual(actions, ['service.declared', 'service.published', 'service.secret_renewed']);
  assert.ok(!JSON.stringify(items).includes(signingSecret));
  assert.ok(!JSON.stringify(items).includes('whsec_'));
});
