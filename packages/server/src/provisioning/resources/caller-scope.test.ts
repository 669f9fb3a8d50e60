import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  assertRefused,
  merchantBody,
  openProvisioning,
  type TestProvisioning,
} from '../../../test/support/provisioning/test-provisioning.ts';

describe('scopes of callers', () => {
  let setup: TestProvisioning;
  before(async () => {
    setup = await openProvisioning();
  });
  after(() => setup.close());

  test('permissions: reading needs prov.read, changing prov.write', async () => {
    const { call, createMerchant } = setup;
    const { storeId, merchantId } = await createMerchant('permissions');
    const body = { merchantId, name: 'Not allowed' };
    assert.equal((await call('reader', 'GET', `/stores/${storeId}`)).status, 200);
    assertRefused(await call('reader', 'POST', '/stores', { body }), 403, 'permission_denied');
    assertRefused(await call('nobody', 'GET', '/stores'), 403, 'permission_denied');
    const unknown = await call('stranger', 'GET', '/stores');
    assertRefused(unknown, 401, 'token_invalid');
  });

  test('another organisation sees and changes nothing', async () => {
    const { call, createMerchant, organizationId } = setup;
    const { merchantId, storeId } = await createMerchant('private');
    const { body: logical } = await call('org', 'POST', '/logical-devices', {
      body: { storeId, name: 'Till' },
    });
    const paths = [
      [`/merchants/${merchantId}`, 'merchant_not_found'],
      [`/stores/${storeId}`, 'store_not_found'],
      [`/logical-devices/${logical['logicalDeviceId']}`, 'device_not_found'],
      [`/organizations/${organizationId}`, 'organization_not_found'],
      [`/merchants/${merchantId}/acquirer-contracts`, 'merchant_not_found'],
    ] as const;
    for (const [path, code] of paths) {
      assertRefused(await call('other', 'GET', path), 404, code);
    }
    assertRefused(await call('other', 'DELETE', `/stores/${storeId}`), 404, 'store_not_found');
    const body = { merchantId, name: 'Intruder' };
    assertRefused(await call('other', 'POST', '/stores', { body }), 404, 'merchant_not_found');
    assert.deepEqual((await call('other', 'GET', '/merchants')).body['items'], []);
    const ownOrganizations = await call('other', 'GET', '/organizations');
    assert.equal((ownOrganizations.body['items'] as { organizationId: string }[]).length, 1);
  });

  test('a merchant sees and changes its own things alone', async () => {
    const { call, made, createMerchant } = setup;
    const [one, two] = [await createMerchant('merchant-one'), await createMerchant('merchant-two')];
    const list = (await call(one.token, 'GET', '/stores')).body['items'] as { storeId: string }[];
    assert.deepEqual(
      list.map(({ storeId }) => storeId),
      [one.storeId],
    );
    assertRefused(await call(one.token, 'GET', `/stores/${two.storeId}`), 404, 'store_not_found');
    const merchant = await call(one.token, 'GET', `/merchants/${two.merchantId}`);
    assertRefused(merchant, 404, 'merchant_not_found');
    const made1 = await made(one.token, '/stores', { name: 'Our second' });
    assert.equal(made1['merchantId'], one.merchantId);
    const body = { merchantId: two.merchantId, name: 'Theirs' };
    assertRefused(await call(one.token, 'POST', '/stores', { body }), 404, 'merchant_not_found');
    const till = { storeId: two.storeId, name: 'Theirs' };
    const foreign = await call(one.token, 'POST', '/logical-devices', { body: till });
    assertRefused(foreign, 404, 'store_not_found');
    assertRefused(
      await call(one.token, 'POST', '/merchants', { body: merchantBody('Sister') }),
      403,
      'permission_denied',
    );
    assertRefused(await call(one.token, 'GET', '/acquirer-links'), 403, 'permission_denied');
    const ownMerchant = await call(one.token, 'GET', `/merchants/${one.merchantId}`);
    const renamed = { ...ownMerchant.body, name: 'New name' };
    const path = `/merchants/${one.merchantId}`;
    assert.equal((await call(one.token, 'PUT', path, { body: renamed })).status, 200);
    const { updatedAt: _updatedAt, ...rest } = renamed as Record<string, unknown>;
    const cheaper = await call(one.token, 'PUT', path, { body: { ...rest, mcc: '8398' } });
    assertRefused(cheaper, 422, 'field_read_only', '/mcc');
  });

  test('a caller of one store sees and changes only that store', async () => {
    const { call, made, createMerchant, organizationId } = setup;
    const { token, merchantId, storeId } = await createMerchant('two-stores');
    const { storeId: other = '' } = await made(token, '/stores', { name: 'The other' });
    const otherTill = { storeId: other, name: 'Till' };
    const { logicalDeviceId = '' } = await made(token, '/logical-devices', otherTill);
    const storeScope = { organizationId, merchantId, storeId };
    setup.addCaller('one-store', { ...storeScope, entityType: 'merchant', entityId: merchantId });
    for (const [path, code] of [
      [`/stores/${other}`, 'store_not_found'],
      [`/logical-devices/${logicalDeviceId}`, 'device_not_found'],
    ] as const) {
      assertRefused(await call('one-store', 'GET', path), 404, code);
      assertRefused(await call('one-store', 'DELETE', path), 404, code);
    }
    const elsewhere = await call('one-store', 'POST', '/logical-devices', { body: otherTill });
    assertRefused(elsewhere, 404, 'store_not_found');
    const ownTill = { storeId, name: 'Till' };
    assert.equal(
      (await call('one-store', 'POST', '/logical-devices', { body: ownTill })).status,
      201,
    );
    const list = (await call('one-store', 'GET', '/stores')).body['items'] as unknown[];
    assert.equal(list.length, 1);
  });
});
