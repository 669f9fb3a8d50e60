// Whole run: many refused requests; other files test the accepted ones.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Answer } from '../support/provisioning/test-catalog.ts';
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

const codeOf = ({ status, body }: Answer) => [status, body['code']];
const firstOf = ({ body }: Answer) => {
  const [error] = body['errors'] ?? [];
  return [body['code'], error?.pointer];
};

// Spec: PROV-44
test('values that do not fit the schema are refused at their pointer', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('stores', merchant.storeId, serviceId);
  const cases: [object, string, string][] = [
    [{ fotter: 'x' }, 'field_unknown', '/values/fotter'],
    [{ receipt: { copes: 1 } }, 'field_unknown', '/values/receipt/copes'],
    [{ receipt: { copies: 4 } }, 'field_invalid', '/values/receipt/copies'],
    [{ receipt: [] }, 'field_invalid', '/values/receipt'],
    [{ receipt: null }, 'field_invalid', '/values/receipt'],
    [{ footer: { text: 'x' } }, 'field_invalid', '/values/footer'],
    [{ languages: ['en', 2] }, 'field_invalid', '/values/languages/1'],
    [{ languages: { 0: 'en' } }, 'field_invalid', '/values/languages'],
    [{ languages: Array(6).fill('en') }, 'field_invalid', '/values/languages'],
    [{ floorLimit: 100 }, 'field_invalid', '/values/floorLimit'],
    [{ account: { apiKey: 7 } }, 'field_invalid', '/values/account/apiKey'],
    [{ constructor: {} }, 'field_unknown', '/values/constructor'],
    [{ toString: 'x' }, 'field_unknown', '/values/toString'],
    [{ hosts: { NO: {} } }, 'field_invalid', '/values/hosts'],
    [{ hosts: { a: { prot: 1 } } }, 'field_unknown', '/values/hosts/a/prot'],
    [{ hosts: { a: {}, b: {}, c: {}, d: {}, e: {}, f: {} } }, 'field_invalid', '/values/hosts'],
    [{ '4111111111111111': 1 }, 'field_unknown', '/values'],
    [{ open: { big: 'x'.repeat(70_000) } }, 'field_invalid', '/values'],
  ];
  for (const [values, code, pointer] of cases) {
    const answer = await setup.submit('org', path, values);
    assert.equal(answer.status, 422, JSON.stringify(answer.body));
    assert.deepEqual(firstOf(answer), [code, pointer], JSON.stringify(values).slice(0, 80));
    assert.doesNotMatch(JSON.stringify(answer.body), /4111111111111111/);
  }
  const near = await setup.submit('org', path, { fotter: 'x' });
  assert.match(near.body['detail'], /perhaps you mean footer/);
  const several = await setup.submit('org', path, { footer: 1, receipt: { copies: 9 }, no: 1 });
  assert.equal(several.body['errors'].length, 3);
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`m${at}`, 1]));
  assert.equal((await setup.submit('org', path, many)).body['errors'].length, 20);
  assert.equal((await setup.call('org', 'GET', path)).body['version'], 0);
});

test('the server refuses values that are not strict JSON, are too deep, or are not an object', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const path = setup.path('stores', merchant.storeId, serviceId);
  const proto = JSON.parse('{"values":{"open":{"__proto__":{"polluted":true}}}}');
  assert.deepEqual(codeOf(await setup.call('org', 'POST', path, proto)), [400, 'malformed_json']);
  let deep: object = { leaf: 1 };
  for (let depth = 0; depth < 33; depth += 1) deep = { next: deep };
  const answer = await setup.submit('org', path, { open: deep });
  assert.deepEqual(codeOf(answer), [400, 'malformed_json']);
  for (const values of [[], 'text', 7, null, undefined]) {
    assert.equal((await setup.submit('org', path, values)).status, 422, String(values));
  }
  const more = { values: {}, other: 1 };
  assert.equal((await setup.call('org', 'POST', path, more)).body['code'], 'field_unknown');
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

// Spec: PROV-44
test('a member that belongs further up is set there alone', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  for (const [level, id] of setup.levelsOf(merchant)) {
    const path = setup.path(level, id, serviceId);
    const answer = await setup.submit('org', path, { floorLimit: 100 });
    const isAbove = level === 'organizations' || level === 'merchants';
    assert.equal(answer.status, isAbove ? 200 : 422, level);
    if (!isAbove)
      assert.match(answer.body['detail'], /can be set only at the level Merchant or above/);
  }
});

test('a missing required member is reported at the store level and refused at the device level', async () => {
  const merchant = await setup.createMerchant();
  const { parameterSchema } = declaration;
  const serviceId = await setup.configured({ parameterSchema });
  const store = setup.path('stores', merchant.storeId, serviceId);
  const set = await setup.submit('org', store, { receipt: { copies: 1 } });
  assert.deepEqual([set.status, set.body['missing']], [200, ['/footer']]);
  const device = setup.path('logical-devices', merchant.deviceId, serviceId);
  const refused = await setup.submit('org', device, { receipt: { copies: 2 } });
  assert.deepEqual(firstOf(refused), ['field_required', '/values/footer']);
  const before = await setup.delivered(merchant, serviceId);
  assert.equal(before.values, undefined);
  assert.deepEqual(
    before.faults.map(({ pointer }) => pointer),
    ['/footer'],
  );
  await setup.done('org', 'POST', device, { values: { footer: 'Bye' } });
  const after = await setup.delivered(merchant, serviceId);
  assert.deepEqual(after.values, { footer: 'Bye', receipt: { copies: 1 } });
});

// Spec: PROV-47
test('a release that stored values do not fit is not delivered in silence', async () => {
  const merchant = await setup.createMerchant();
  const serviceId = await setup.configured();
  const merchantPath = setup.path('merchants', merchant.merchantId, serviceId);
  await setup.done('org', 'POST', merchantPath, { values: { floorLimit: 4000, footer: 'Old' } });
  const before = await setup.delivered(merchant, serviceId);
  assert.equal(before.values?.['floorLimit'], 4000);
  const service = await setup.done('provider', 'GET', `/services/${serviceId}`);
  const { properties } = declaration.parameterSchema;
  const { footer: _footer, ...left } = properties;
  const changed = {
    ...service,
    parameterSchema: {
      type: 'object',
      properties: { ...left, floorLimit: { ...properties.floorLimit, maximum: 1000 } },
    },
    defaults: { receipt: { copies: 1 } },
  };
  await setup.done('provider', 'PUT', `/services/${serviceId}`, changed);
  assert.equal((await setup.delivered(merchant, serviceId)).version, before.version);
  await setup.done('provider', 'POST', `/services/${serviceId}/publish`);
  const store = setup.path('stores', merchant.storeId, serviceId);
  const { body } = await setup.call('org', 'GET', store);
  const invalidValues = body['invalid'].map((each: { pointer: string; level: string }) => [
    each.pointer,
    each.level,
  ]);
  assert.deepEqual(invalidValues, [
    ['/footer', 'Merchant'],
    ['/floorLimit', 'Merchant'],
  ]);
  const after = await setup.delivered(merchant, serviceId);
  assert.equal(after.values, undefined);
  assert.notEqual(after.version, before.version);
  assert.equal(after.faults.length, 2);
  // The invalid values come from the merchant level, so they do not block the store and do not hide
  // its own errors.
  assert.equal((await setup.submit('org', store, { receipt: { copies: 9 } })).status, 422);
  assert.equal((await setup.submit('org', store, { receipt: { copies: 2 } })).status, 200);
  const old = await setup.call('org', 'POST', `${merchantPath}/versions/1/restore`);
  assert.equal(old.body['version'], 1);
  assert.equal((await setup.submit('org', merchantPath, { floorLimit: 4000 })).status, 422);
  await setup.done('org', 'POST', merchantPath, { values: { floorLimit: 900 } });
  assert.deepEqual((await setup.delivered(merchant, serviceId)).values, {
    floorLimit: 900,
    receipt: { copies: 2 },
  });
  const refused = await setup.call('org', 'POST', `${merchantPath}/versions/1/restore`);
  assert.equal(refused.status, 422);
});

test('many invalid values at a higher level do not hide an invalid value at the written level', async () => {
  const merchant = await setup.createMerchant();
  const names = Array.from({ length: 30 }, (_, at) => `m${at}`);
  const numbers = (maximum: number) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'integer', maximum }])),
  });
  const serviceId = await setup.configured({ domain: 'constructor', parameterSchema: numbers(9) });
  const organization = setup.path('organizations', setup.organizationId, serviceId);
  const values = Object.fromEntries(names.map((name) => [name, 9]));
  await setup.done('org', 'POST', organization, { values });
  const service = await setup.done('provider', 'GET', `/services/${serviceId}`);
  await setup.done('provider', 'PUT', `/services/${serviceId}`, {
    ...service,
    parameterSchema: numbers(5),
  });
  await setup.done('provider', 'POST', `/services/${serviceId}/publish`);
  const store = setup.path('stores', merchant.storeId, serviceId);
  assert.equal((await setup.call('org', 'GET', store)).body['invalid'].length, 20);
  assert.equal((await setup.submit('org', store, { m29: 6 })).status, 422);
  assert.equal((await setup.submit('org', store, { m29: 5 })).status, 200);
});

// Spec: PROV-49
test('each caller reaches its own entities and no others', async () => {
  const merchant = await setup.createMerchant();
  const foreign = await setup.createMerchant();
  const serviceId = await setup.configured();
  const device = setup.deviceToken(merchant);
  const unknown: Record<string, string> = {
    organizations: 'organization_not_found',
    merchants: 'merchant_not_found',
    stores: 'store_not_found',
    'logical-devices': 'device_not_found',
  };
  for (const [level, id] of setup.levelsOf(merchant)) {
    const configurationPath = setup.path(level, id, serviceId);
    const isOrganization = level === 'organizations';
    const expectedStatuses: [string, number][] = [
      ['org', 200],
      [merchant.token, isOrganization ? 403 : 200],
      [foreign.token, isOrganization ? 403 : 404],
      ['other', 404],
      ['nobody', 403],
      [device, 403],
    ];
    for (const [token, status] of expectedStatuses) {
      const read = await setup.call(token, 'GET', configurationPath);
      assert.equal(read.status, status, `${token} reads ${level}`);
      if (status === 404) assert.equal(read.body['code'], unknown[level]);
      const written = await setup.submit(token, configurationPath, { footer: 'x' });
      assert.equal(written.status, status, `${token} writes ${level}`);
      const list = `/configuration/v1/${level}/${id}/services`;
      assert.equal((await setup.call(token, 'GET', list)).status, status, `${token} ${list}`);
      const versions = await setup.call(token, 'GET', `${configurationPath}/versions`);
      assert.equal(versions.status, status, `${token} versions of ${level}`);
      const deleteResponse = await setup.call(token, 'DELETE', configurationPath);
      assert.equal(
        deleteResponse.status,
        status === 200 ? 204 : status,
        `${token} removes ${level}`,
      );
    }
    for (const unknownId of [randomUUID(), 'not-an-identifier', foreign.storeId.slice(1)]) {
      const answer = await setup.call('org', 'GET', setup.path(level, unknownId, serviceId));
      assert.deepEqual(codeOf(answer), [404, unknown[level]]);
    }
  }
  // The identifier belongs to another level.
  const wrong = setup.path('merchants', merchant.storeId, serviceId);
  assert.deepEqual(codeOf(await setup.call('org', 'GET', wrong)), [404, 'merchant_not_found']);
  const nowhere = `/configuration/v1/tills/${merchant.deviceId}/services/${serviceId}`;
  assert.deepEqual(codeOf(await setup.call('org', 'GET', nowhere)), [422, 'field_invalid']);
});

test('only a published service of a subscription can be configured', async () => {
  const merchant = await setup.createMerchant();
  const draft = await setup.done('provider', 'POST', '/services', {
    name: 'Draft',
    domain: 'Receipts',
    ...declaration,
  });
  const at = (serviceId: string) => setup.path('stores', merchant.storeId, serviceId);
  const unseen = await setup.call('org', 'GET', at(draft['serviceId']));
  assert.deepEqual(codeOf(unseen), [404, 'service_not_found']);
  const unknownService = await setup.call('org', 'GET', at(randomUUID()));
  assert.deepEqual(codeOf(unknownService), [404, 'service_not_found']);
  const provider = setup.path('organizations', setup.providerId, draft['serviceId']);
  const providerResponse = await setup.call('provider', 'GET', provider);
  assert.deepEqual(codeOf(providerResponse), [409, 'service_state']);
  const { serviceId } = await setup.service(declaration);
  const unsubscribed = await setup.submit('org', at(serviceId), {});
  assert.deepEqual(codeOf(unsubscribed), [422, 'service_not_subscribed']);

  const emptyServiceId = await setup.configured({});
  const usedServiceId = await setup.configured();
  const list = `/configuration/v1/stores/${merchant.storeId}/services`;
  await setup.done('org', 'POST', at(usedServiceId), { values: { footer: 'x' } });
  let cursor = '';
  const itemsByService: Record<string, { version: number; isSet: boolean }> = {};
  do {
    const page = await setup.done('org', 'GET', `${list}?limit=2${cursor}`);
    for (const item of page['items']) itemsByService[item.serviceId] = item;
    cursor = page['nextCursor'] === null ? '' : `&cursor=${page['nextCursor']}`;
  } while (cursor !== '');
  assert.deepEqual(
    [itemsByService[usedServiceId]?.version, itemsByService[usedServiceId]?.isSet],
    [1, true],
  );
  assert.equal(itemsByService[emptyServiceId], undefined);
  const nothing = await setup.submit('org', at(emptyServiceId), { footer: 'x' });
  assert.deepEqual(firstOf(nothing), ['field_unknown', '/values/footer']);
  // A retired service continues where it is in use.
  await setup.done('provider', 'POST', `/services/${usedServiceId}/retire`);
  assert.equal((await setup.submit('org', at(usedServiceId), { footer: 'y' })).status, 200);
});

test('the server refuses defaults that do not fit the schema, are too large, or contain secrets', async () => {
  const declare = (more: object) =>
    setup.call('provider', 'POST', '/services', {
      name: 'Receipts',
      domain: 'Receipts',
      ...declaration,
      ...more,
    });
  const cases: [object, string][] = [
    [{ fotter: 'x' }, '/defaults/fotter'],
    [{ receipt: { copies: 9 } }, '/defaults/receipt/copies'],
    [{ account: { apiKey: 'secret' } }, '/defaults/account/apiKey'],
    [{ open: { big: 'x'.repeat(70_000) } }, '/defaults'],
  ];
  for (const [defaults, pointer] of cases) {
    const answer = await declare({ defaults });
    assert.deepEqual([answer.status, firstOf(answer)[1]], [422, pointer]);
  }
  const secret = { type: 'string', maxLength: 9, writeOnly: true };
  const inList = { type: 'object', properties: { keys: { type: 'array', items: secret } } };
  const listed = await declare({ parameterSchema: inList, defaults: {} });
  assert.equal(firstOf(listed)[1], '/parameterSchema/properties/keys/items/writeOnly');
  // The footer is required, but a lower level may set it.
  const { serviceId } = await setup.service({ ...declaration, defaults: {} });
  const { items } = await setup.done('org', 'GET', '/services?domain=Payments&limit=200');
  const listedService = items.find((item: { serviceId: string }) => item.serviceId === serviceId);
  assert.ok(listedService !== undefined && !('defaults' in listedService));
  assert.deepEqual((await setup.done('org', 'GET', `/services/${serviceId}`))['defaults'], {});
});
