// Whole run: much is made, or waited for, before it shows.
// The dashboard of a provider for its services, and the places where an organisation uses a
// service.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openQr, type TestQr } from '../qr/test-qr-merchant.ts';
import { type Json, nameOf } from '../qr/test-qr-provider.ts';
import {
  answering,
  openCatalog,
  openProvider,
  type TestCatalog,
} from '../support/provisioning/test-catalog.ts';
import { eventually } from '../support/wait-for-condition.ts';

type ListedUse = {
  name?: string;
  entityId: string;
  active: boolean;
  usable: boolean;
  status?: string;
};

describe('the provider of a service', () => {
  let setup: TestCatalog;
  let provider: Awaited<ReturnType<typeof openProvider>>;
  before(async () => {
    setup = await openCatalog();
    provider = await openProvider();
  });
  after(async () => {
    await provider.close();
    await setup.close();
  });

  const activate = (serviceId: string, level: string, entityId: string, more: object = {}) =>
    setup.done('org', 'POST', '/activations', { serviceId, level, entityId, ...more });

  // Spec: PROV-39
  test('sees the activations of its service by level, and other callers do not', async () => {
    const { serviceId } = await setup.subscribed();
    const merchant = await setup.createMerchant();
    const path = `/services/${serviceId}/activations`;
    assert.deepEqual((await setup.done('provider', 'GET', path))['items'], []);
    const { activationId } = await activate(serviceId, 'Organization', setup.organizationId);
    await activate(serviceId, 'Merchant', merchant.merchantId);
    const { items } = await setup.done('provider', 'GET', path);
    assert.equal(items.length, 1);
    assert.equal(items[0].activationId, activationId);
    assert.equal(items[0].organizationId, setup.organizationId);
    assert.equal(items[0].organizationName, 'Acquirer');
    assert.equal(items[0].status, 'Active');
    const merchants = await setup.done('provider', 'GET', `${path}?level=Merchant`);
    assert.deepEqual(
      merchants['items'].map(({ entityId, merchantId }: Json) => [entityId, merchantId]),
      [[merchant.merchantId, merchant.merchantId]],
    );
    const refused = await setup.done('provider', 'GET', `${path}?status=Refused`);
    assert.deepEqual(refused['items'], []);
    for (const otherToken of ['org', 'other']) {
      for (const resource of ['activations', 'calls']) {
        const answer = await setup.call(otherToken, 'GET', `/services/${serviceId}/${resource}`);
        assert.equal(answer.body['code'], 'service_not_found', `${otherToken} ${resource}`);
      }
    }
    const asMerchant = await setup.call(merchant.token, 'GET', path);
    assert.equal(asMerchant.body['code'], 'permission_denied');
    assert.equal((await setup.call('provider', 'GET', '/services/x/calls')).status, 404);
  });

  test('sees page after page, each use once', async () => {
    const { serviceId } = await setup.subscribed();
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { merchantId } = await setup.createMerchant();
      await activate(serviceId, 'Merchant', merchantId);
      made.unshift(merchantId);
    }
    const listedIds: string[] = [];
    let cursor = '';
    do {
      const path = `/services/${serviceId}/activations?level=Merchant&limit=2${cursor}`;
      const { items, nextCursor } = await setup.done('provider', 'GET', path);
      listedIds.push(...items.map(({ entityId }: Json) => entityId));
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
    assert.deepEqual(listedIds, made, 'the newest first');
  });

  test('answers a pending activation through the API, and cannot change that answer', async () => {
    const { serviceId } = await setup.subscribed({ spiUrl: provider.url });
    provider.script = answering(202);
    await activate(serviceId, 'Organization', setup.organizationId);
    await setup.work();
    const path = `/services/${serviceId}/activations?status=Pending`;
    const { items } = await setup.done('provider', 'GET', path);
    const [{ organizationId, activationId, handshakeId }] = items;
    const answer = `/organizations/${organizationId}/activations/${activationId}/answer`;
    const body = { handshakeId, status: 'Accepted' };
    assert.equal((await setup.done('provider', 'POST', answer, body))['status'], 'Active');
    assert.equal((await setup.done('provider', 'POST', answer, body))['status'], 'Active');
    const other = await setup.call('provider', 'POST', answer, { handshakeId, status: 'Refused' });
    assert.equal(other.body['code'], 'activation_state');
    provider.script = answering(200, { status: 'Accepted' });
  });

  // Spec: PROV-39
  test('sees how many calls its server answered, how many failed, and the last fault', async () => {
    const { serviceId } = await setup.subscribed({ spiUrl: provider.url });
    const path = `/services/${serviceId}/calls`;
    const quiet = await setup.done('provider', 'GET', path);
    assert.deepEqual([quiet['status'], quiet['calls'], quiet['hours']], ['Quiet', [], []]);
    provider.script = answering(500);
    await activate(serviceId, 'Organization', setup.organizationId);
    await setup.work();
    provider.script = answering(200, { status: 'Accepted' });
    await setup.work();
    await setup.catalog.providerCallCounter.stop();
    const { status, calls, hours } = await setup.done('provider', 'GET', path);
    assert.equal(status, 'Degraded');
    const [{ lastFault, ...asked }] = calls;
    assert.deepEqual([asked.call, asked.answered, asked.failed], ['activation', 1, 1]);
    assert.equal(lastFault.reason, 'status 500');
    const sums = hours.map(({ answered, failed }: Json) => answered + failed);
    assert.equal(
      sums.reduce((sum: number, each: number) => sum + each, 0),
      2,
    );
    const target = { serviceId, level: 'Organization', entityId: setup.organizationId };
    provider.script = answering(200, {});
    await setup.done('org', 'POST', '/deactivations', target);
    await setup.work();
    await setup.catalog.providerCallCounter.stop();
    const { calls: later } = await setup.done('provider', 'GET', path);
    assert.deepEqual(
      later.map(({ call, answered, failed }: Json) => [call, answered, failed]),
      [
        ['activation', 1, 1],
        ['deactivation', 1, 0],
      ],
      'a notice needs no word of consent',
    );
    provider.script = answering(200, { status: 'Accepted' });
    const bad = await setup.call('provider', 'GET', `${path}?hours=0`);
    assert.equal(bad.body['code'], 'field_invalid');
  });

  // Spec: PROV-39
  test('of two processes that count, no call is lost', async () => {
    const { serviceId } = await setup.subscribed({ spiUrl: provider.url });
    const other = await openCatalog();
    const note = { serviceId, call: 'create', isAnswered: true, ms: 5 };
    for (let count = 0; count < 20; count += 1) {
      setup.catalog.providerCallCounter.record(note);
      other.catalog.providerCallCounter.record({
        ...note,
        call: count % 2 === 0 ? 'create' : 'status',
      });
    }
    await Promise.all([
      setup.catalog.providerCallCounter.stop(),
      other.catalog.providerCallCounter.stop(),
    ]);
    const { calls } = await setup.done('provider', 'GET', `/services/${serviceId}/calls`);
    assert.deepEqual(
      calls.map(({ call, answered }: Json) => [call, answered]),
      [
        ['create', 30],
        ['status', 10],
      ],
    );
    await other.close();
  });
});

describe('where a service is in use', () => {
  let setup: TestCatalog;
  before(async () => {
    setup = await openCatalog();
  });
  after(() => setup.close());

  const listUses = async (serviceId: string, query = '', token = 'org') => {
    const { above, items } = await setup.done(
      token,
      'GET',
      `/services/${serviceId}/states${query}`,
    );
    return {
      above: above.map(({ level, active }: Json) => [level, active]),
      items: new Map<string, ListedUse>(items.map((item: ListedUse) => [item.entityId, item])),
    };
  };

  // Spec: PROV-40
  test('is shown from the organisation down to the devices, and agrees with the state of each device', async () => {
    const { serviceId } = await setup.subscribed();
    const merchant = await setup.createMerchant();
    const before = await listUses(serviceId);
    assert.deepEqual(before.above, [['Organization', false]]);
    assert.deepEqual(
      [
        before.items.get(merchant.merchantId)?.active,
        before.items.get(merchant.merchantId)?.usable,
      ],
      [false, false],
    );
    const target = { serviceId, level: 'Organization', entityId: setup.organizationId };
    await setup.done('org', 'POST', '/activations', target);
    const late = await setup.device(merchant.storeId);
    const deviceTarget = { serviceId, level: 'LogicalDevice', entityId: merchant.deviceId };
    const devices = `?storeId=${merchant.storeId}`;
    const merchantUse = (await listUses(serviceId)).items.get(merchant.merchantId);
    assert.deepEqual(
      [merchantUse?.active, merchantUse?.usable, merchantUse?.name],
      [true, true, merchant.token],
    );
    assert.equal((await listUses(serviceId, devices)).items.get(late)?.usable, false, 'made later');
    assert.equal((await listUses(serviceId, devices)).items.get(merchant.deviceId)?.usable, true);
    await setup.done('org', 'POST', '/deactivations', deviceTarget);
    const after = await listUses(serviceId, devices);
    assert.deepEqual(after.above, [
      ['Organization', true],
      ['Merchant', true],
      ['Store', true],
    ]);
    const device = after.items.get(merchant.deviceId);
    assert.deepEqual([device?.active, device?.usable, device?.status], [false, false, 'Inactive']);
    await setup.done('org', 'POST', '/activations', deviceTarget);
    await setup.done('org', 'POST', '/deactivations', {
      ...target,
      level: 'Merchant',
      entityId: merchant.merchantId,
    });
    const blocked = (await listUses(serviceId, devices)).items.get(merchant.deviceId);
    assert.deepEqual([blocked?.active, blocked?.usable], [true, false], 'on, but off above');
    for (const id of [merchant.deviceId, late]) {
      const isUsable = await setup.catalog.isActive(setup.organizationId, id, serviceId);
      assert.equal((await listUses(serviceId, devices)).items.get(id)?.usable, isUsable);
    }
  });

  test('is shown to a merchant for its own stores only, and not to another organisation', async () => {
    const { serviceId } = await setup.subscribed();
    const [merchant, other] = [await setup.createMerchant(), await setup.createMerchant()];
    const ownUses = await listUses(serviceId, '', merchant.token);
    assert.deepEqual([...ownUses.items.keys()], [merchant.merchantId]);
    const stores = await listUses(serviceId, `?merchantId=${merchant.merchantId}`, merchant.token);
    assert.deepEqual([...stores.items.keys()], [merchant.storeId]);
    for (const [token, query, code] of [
      [merchant.token, `?merchantId=${other.merchantId}`, 'merchant_not_found'],
      [merchant.token, `?storeId=${other.storeId}`, 'store_not_found'],
      ['other', `?merchantId=${merchant.merchantId}`, 'merchant_not_found'],
      ['org', '?cursor=x', 'cursor_invalid'],
    ] as const) {
      const answer = await setup.call(token, 'GET', `/services/${serviceId}/states${query}`);
      assert.equal(answer.body['code'], code, `${token} ${query}`);
    }
    const { serviceId: draft } = await setup.done('provider', 'POST', '/services', {
      name: 'Draft',
      domain: 'Payments',
    });
    const hidden = await setup.call('org', 'GET', `/services/${draft}/states`);
    assert.equal(hidden.body['code'], 'service_not_found');
    const device = await setup.call(
      setup.deviceToken(merchant),
      'GET',
      `/services/${serviceId}/states`,
    );
    assert.equal(device.body['code'], 'permission_denied');
  });

  test('page after page, each place once', async () => {
    const { serviceId } = await setup.subscribed();
    const merchant = await setup.createMerchant();
    const made = [merchant.deviceId];
    for (let count = 0; count < 4; count += 1) made.push(await setup.device(merchant.storeId));
    const listedIds: string[] = [];
    let cursor = '';
    do {
      const path = `/services/${serviceId}/states?storeId=${merchant.storeId}&limit=2${cursor}`;
      const { items, nextCursor } = await setup.done('org', 'GET', path);
      listedIds.push(...items.map(({ entityId }: Json) => entityId));
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
    assert.deepEqual(listedIds, made);
  });
});

describe('the provider of QR payments', () => {
  let qr: TestQr;
  before(async () => {
    qr = await openQr();
  });
  after(() => qr.close());

  const path = '/qrcode-payment/v1/provider-transactions';

  // Spec: PROV-39
  test('sees the payments of its services, and no others', async () => {
    const id = await qr.begun();
    const amount = { amount: 1050, currency: 'EUR' };
    await qr.tell(id, { type: 'payment.completed', sequence: 1, amount });
    const { body } = await qr.organization.client.call('GET', path, { token: qr.providerToken });
    const [payment] = body.items;
    assert.deepEqual(
      [payment.transactionId, payment.providerTransactionId, payment.status, payment.paidAmount],
      [id, nameOf(id), 'Completed', 1050],
    );
    assert.equal(payment.serviceId, qr.serviceId);
    assert.equal(payment.paymentType, qr.paymentType);
    assert.equal('merchantId' in payment, false, 'the payment does not name the merchant');
    const { body: none } = await qr.organization.client.call('GET', path, {
      token: qr.organization.acquirerToken,
    });
    assert.deepEqual(none.items, []);
    const denied = await qr.organization.client.call('GET', path, { token: qr.merchant.token });
    assert.equal(denied.status, 403);
    const first = await qr.organization.client.call('GET', `${path}?limit=1`, {
      token: qr.providerToken,
    });
    assert.equal(first.body.items.length, 1);
  });

  test('sees that its server was called', async () => {
    await qr.begun();
    const calls = `/service-catalog/v1/services/${qr.serviceId}/calls`;
    await eventually('the calls are counted', async () => {
      const { body } = await qr.organization.client.call('GET', calls, { token: qr.providerToken });
      return body.calls.some(({ call, answered }: Json) => call === 'create' && answered > 0);
    });
  });
});
