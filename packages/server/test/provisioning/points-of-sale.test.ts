// Points of sale: their credentials can sell in one store only, and exist as long as the point of
// sale.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { systemClock, systemIdGenerator } from '../../src/platform/index.ts';
import { createProvisioning } from '../../src/provisioning/index.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { testAudit } from '../support/test-audit.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';

const base = '/provisioning/v2/points-of-sale';
const sales = '/payment/v1/transactions/process';

type Made = { pointOfSaleId: string; clientId: string; clientSecret: string };

describe('points of sale', () => {
  let setup: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
  });

  const call = (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse> =>
    setup.client.call(method, path, { token: setup.acquirerToken, ...options });

  function assertRefused(
    answer: HttpResponse,
    status: number,
    code: string,
    pointer?: string,
  ): void {
    assert.deepEqual([answer.status, answer.body?.code], [status, code], answer.text);
    if (pointer !== undefined) assert.equal(answer.body.errors[0].pointer, pointer);
  }

  async function made(members: Record<string, unknown> = {}, token = setup.acquirerToken) {
    const body = { storeId: setup.merchant.storeId, name: 'Till', ...members };
    const answer = await call('POST', base, { body, token });
    assert.equal(answer.status, 201, answer.text);
    return { ...(answer.body as Made), answer };
  }

  const tokenOf = ({ clientId, clientSecret }: Pick<Made, 'clientId' | 'clientSecret'>) =>
    setup.client.token(setup.realm, clientId, clientSecret);

  const sell = (token: string, members: Record<string, unknown>) =>
    setup.client.call('POST', sales, { token, body: keyedSale(members) });

  /** A token of a caller that provisions for one merchant, as a merchant manager does. */
  const managerOf = ({ merchantId }: TestMerchant, more: { storeId?: string } = {}) =>
    setup.tokenFor({
      name: 'manager',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['Onboarding'],
      ...more,
    });

  async function otherStoreOf({ merchantId }: TestMerchant) {
    const scope = { organizationId: setup.organizationId };
    const { stores, logicalDevices } = setup.platform.provisioning;
    const { view } = await stores.create(scope, { merchantId, name: 'Other' });
    const till = { storeId: view.storeId, name: 'Till' };
    const { view: device } = await logicalDevices.create(scope, till);
    return { storeId: view.storeId, deviceId: device.logicalDeviceId };
  }

  test('return their credentials once, and can be read, listed, replaced and deleted', async () => {
    const { merchant } = setup;
    const { pointOfSaleId, clientId, clientSecret, answer } = await made({ externalId: 'till-1' });
    assert.equal(answer.headers['etag'], '"1"');
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['location'], `${base}/${pointOfSaleId}`);
    assert.ok(clientSecret.length >= 32);
    const read = await call('GET', `${base}/${pointOfSaleId}`);
    const { clientSecret: _secret, ...created } = answer.body;
    assert.deepEqual(read.body, created);
    assert.equal(read.body.merchantId, merchant.merchantId);

    await made({ name: 'Another', storeId: setup.otherMerchant.storeId });
    for (const query of [
      `storeId=${merchant.storeId}&name=TIL`,
      `merchantId=${merchant.merchantId}&externalId=till-1`,
      'status=Enabled&name=till&externalId=till-1',
    ]) {
      const { body, status, text } = await call('GET', `${base}?${query}`);
      assert.equal(status, 200, text);
      assert.deepEqual(
        body.items.map((one: Made) => one.clientId),
        [clientId],
        query,
      );
    }

    const path = `${base}/${pointOfSaleId}`;
    const renamed = { ...read.body, name: 'Till 1', labels: { side: 'left' } };
    const ifMatch = (version: number) => ({ headers: { 'if-match': `"${version}"` } });
    const replaced = await call('PUT', path, { body: renamed, ...ifMatch(1) });
    assert.equal(replaced.status, 200, replaced.text);
    assert.equal(replaced.headers['etag'], '"2"');
    const again = { name: 'Till 2' };
    const stale = await call('PUT', path, { body: again, ...ifMatch(1) });
    assertRefused(stale, 412, 'precondition_failed');
    for (const [member, value] of [
      ['storeId', setup.otherMerchant.storeId],
      ['merchantId', setup.otherMerchant.merchantId],
      ['clientId', `pos-${systemIdGenerator.uuid()}`],
    ]) {
      const body = { ...again, [String(member)]: value };
      assertRefused(await call('PUT', path, { body }), 422, 'field_read_only', `/${member}`);
    }
    const secret = { ...again, clientSecret: 'a secret chosen by the client' };
    assertRefused(await call('PUT', path, { body: secret }), 422, 'field_unknown', '/clientSecret');
    assertRefused(await call('DELETE', path, ifMatch(1)), 412, 'precondition_failed');
    assert.equal((await call('DELETE', path, ifMatch(2))).status, 204);
    for (const method of ['GET', 'DELETE']) {
      assertRefused(await call(method, path), 404, 'resource_not_found');
    }
    const late = await call('POST', `${path}/secret`);
    assertRefused(late, 404, 'resource_not_found');
  });

  // Spec: CC-19 PROV-14
  test('sell at the devices of their own store, and at no others', async () => {
    const { merchant, otherMerchant } = setup;
    const elsewhere = await otherStoreOf(merchant);
    const token = await tokenOf(await made());
    const [deviceId] = merchant.deviceIds;
    const sold = await sell(token, { deviceId });
    assert.deepEqual([sold.status, sold.body.approved], [200, true], sold.text);
    assert.equal(sold.body.storeId ?? merchant.storeId, merchant.storeId);
    const saleWithoutDevice = await sell(token, {});
    assert.equal(saleWithoutDevice.body.approved, true, 'the store is the token’s');

    const beside = await sell(token, { deviceId: elsewhere.deviceId });
    assertRefused(beside, 422, 'entity_mismatch', '/deviceId');
    const foreign = await sell(token, { deviceId: otherMerchant.deviceIds[0] });
    assertRefused(foreign, 404, 'device_not_found');
    for (const { storeId } of [elsewhere, otherMerchant]) {
      assertRefused(await sell(token, { storeId }), 403, 'entity_out_of_scope');
    }
    const otherSale = await sell(merchant.token, { deviceId: elsewhere.deviceId });
    assert.equal(otherSale.body.approved, true, otherSale.text);
    const path = `/payment/v1/transactions/${otherSale.body.transactionId}`;
    const refusedResponse = await setup.client.call('GET', path, { token });
    assertRefused(refusedResponse, 404, 'transaction_not_found');
    const refund = await setup.client.call('POST', `${path}/refund`, { token, body: {} });
    assertRefused(refund, 404, 'transaction_not_found');
    const refusedList = await call('GET', base, { token });
    assertRefused(refusedList, 403, 'permission_denied');
  });

  // Spec: PROV-16
  test('disabled, and deleted, they are out: their tokens too', async () => {
    const till = await made();
    const path = `${base}/${till.pointOfSaleId}`;
    const token = await tokenOf(till);
    const put = (status: string) => call('PUT', path, { body: { name: 'Till', status } });
    assert.equal((await put('Disabled')).status, 200);
    assertRefused(await sell(token, {}), 401, 'token_invalid');
    await assert.rejects(tokenOf(till), /invalid_client/);
    assert.equal((await put('Enabled')).status, 200);
    const again = await tokenOf(till);
    assert.equal((await sell(again, {})).body.approved, true);
    assert.equal((await call('DELETE', path)).status, 204);
    assertRefused(await sell(again, {}), 401, 'token_invalid');
    await assert.rejects(tokenOf(till), /invalid_client/);

    const disabledPointOfSale = await made({ status: 'Disabled' });
    await assert.rejects(tokenOf(disabledPointOfSale), /invalid_client/, 'made disabled');
  });

  test('get a new secret: the old one is dead at once, and issued tokens live on', async () => {
    const till = await made();
    const path = `${base}/${till.pointOfSaleId}/secret`;
    const token = await tokenOf(till);
    const stale = await call('POST', path, { headers: { 'if-match': '"7"' } });
    assertRefused(stale, 412, 'precondition_failed');
    const renewed = await call('POST', path, { headers: { 'if-match': '"1"' } });
    assert.equal(renewed.status, 200, renewed.text);
    assert.equal(renewed.headers['etag'], '"2"');
    assert.equal(renewed.headers['cache-control'], 'no-store');
    assert.deepEqual(Object.keys(renewed.body).sort(), ['clientId', 'clientSecret']);
    await assert.rejects(tokenOf(till), /invalid_client/);
    assert.notEqual(await tokenOf({ ...till, ...renewed.body }), token);
    assert.equal((await sell(token, {})).body.approved, true);
  });

  // Spec: CC-19 PROV-14
  test('are made by a merchant for its own stores, and by a store for itself', async () => {
    const { merchant, otherMerchant } = setup;
    const manager = await managerOf(merchant);
    const ownPointOfSale = await made({ name: 'Made by the merchant' }, manager);
    const otherPointOfSale = await made({ storeId: otherMerchant.storeId, name: 'Theirs' });
    const body = { storeId: otherMerchant.storeId, name: 'Intruder' };
    assertRefused(await call('POST', base, { body, token: manager }), 404, 'store_not_found');
    const otherPath = `${base}/${otherPointOfSale.pointOfSaleId}`;
    for (const [method, path, sent] of [
      ['GET', otherPath, undefined],
      ['PUT', otherPath, { name: 'Mine now' }],
      ['DELETE', otherPath, undefined],
      ['POST', `${otherPath}/secret`, {}],
    ] as const) {
      const answer = await call(method, path, {
        token: manager,
        ...defined({ body: sent }),
      });
      assertRefused(answer, 404, 'resource_not_found');
    }
    const { body: listed } = await call('GET', base, { token: manager });
    assert.ok(listed.items.some((one: Made) => one.clientId === ownPointOfSale.clientId));
    assert.ok(!listed.items.some((one: Made) => one.clientId === otherPointOfSale.clientId));

    const elsewhere = await otherStoreOf(merchant);
    const ofStore = await managerOf(merchant, { storeId: elsewhere.storeId });
    const beside = { storeId: merchant.storeId, name: 'Beside' };
    const refused = await call('POST', base, { body: beside, token: ofStore });
    assertRefused(refused, 404, 'store_not_found');
    const refusedResponse = await call('GET', `${base}/${ownPointOfSale.pointOfSaleId}`, {
      token: ofStore,
    });
    assertRefused(refusedResponse, 404, 'resource_not_found');
    await made({ storeId: elsewhere.storeId }, ofStore);
    const { body: few } = await call('GET', base, { token: ofStore });
    assert.equal(few.items.length, 1);
    for (const storeId of [systemIdGenerator.uuid(), merchant.merchantId]) {
      const unknown = await call('POST', base, { body: { storeId, name: 'Nowhere' } });
      assertRefused(unknown, 404, 'store_not_found');
    }
  });

  test('prevent the deletion of their store and merchant, and the error names the point of sale', async () => {
    const merchant = await setup.createMerchant();
    const { storeId } = await otherStoreOf(merchant);
    const { pointOfSaleId } = await made({ storeId, name: 'Still there' });
    for (const path of [`/stores/${storeId}`, `/merchants/${merchant.merchantId}`]) {
      const answer = await call('DELETE', `/provisioning/v2${path}`);
      assertRefused(answer, 409, 'has_dependants');
      assert.ok(
        answer.body.dependants.some(
          (one: { type: string; id: string }) =>
            one.type === 'PointOfSale' && one.id === pointOfSaleId,
        ),
        answer.text,
      );
    }
  });

  test('one that is made while its store is deleted is never left alone', async () => {
    const { organizationId, merchant, platform } = setup;
    const { merchantId } = merchant;
    for (let round = 0; round < 5; round += 1) {
      const storeInput = { merchantId, name: `Race ${round}` };
      const { view } = await platform.provisioning.stores.create({ organizationId }, storeInput);
      const { storeId } = view;
      const [created, deleted] = await Promise.all([
        call('POST', base, { body: { storeId, name: 'Late' } }),
        call('DELETE', `/provisioning/v2/stores/${storeId}`),
      ]);
      const statuses = [created.status, deleted.status].join(' ');
      assert.ok(['201 409', '404 204'].includes(statuses), statuses);
    }
  });

  test('are applications that application management shows, and does not change', async () => {
    const till = await made();
    const applications = `/application-management/v1/user-domains/${setup.realm}/applications`;
    const path = `${applications}/${till.clientId}`;
    const readResponse = await call('GET', path);
    assert.equal(readResponse.status, 200, readResponse.text);
    assert.deepEqual(readResponse.body.roles, ['PointOfSaleTerminal']);
    assert.equal(readResponse.body.storeId, setup.merchant.storeId);
    const {
      createdAt: _at,
      updatedAt: _last,
      secretChangedAt: _changed,
      ...body
    } = readResponse.body;
    for (const [method, at, sent] of [
      ['PUT', path, { ...body, roles: ['Merchant'] }],
      ['DELETE', path, undefined],
      ['POST', `${path}/secret`, {}],
    ] as const) {
      const answer = await call(method, at, defined({ body: sent }));
      assertRefused(answer, 403, 'permission_denied');
    }
    const chosen = { name: 'Squatter', clientId: `pos-${systemIdGenerator.uuid()}` };
    const squatter = await call('POST', applications, { body: chosen });
    assertRefused(squatter, 422, 'field_invalid', '/clientId');
    assert.equal((await sell(await tokenOf(till), {})).body.approved, true);
  });

  test('are in the audit with their author, and without their secret', async () => {
    const till = await made({ name: 'Audited' });
    await call('POST', `${base}/${till.pointOfSaleId}/secret`);
    const { body, text } = await call('GET', `/audit/v1/records?entityId=${till.pointOfSaleId}`);
    const actions = body.items.map((one: { action: string }) => one.action).sort();
    assert.deepEqual(actions, ['pointOfSale.created', 'pointOfSale.secretRenewed'], text);
    assert.ok(!text.includes(till.clientSecret));
  });

  // Spec: PROV-15
  test('a fault leaves neither a till without its application nor the other way round', async () => {
    const database = await testDatabase();
    const { organizationId, merchant, platform } = setup;
    const scope = { organizationId };
    const parts = { database, clock: systemClock, ids: systemIdGenerator };
    const planted = new Error('planted');
    const fail = async () => Promise.reject(planted);
    const { posClients: tills } = platform.identity;
    const faulty = {
      'the last statement of the transaction': createProvisioning({
        ...parts,
        posClients: () => tills,
        audit: { record: fail, recordAll: fail },
      }),
      'the statement after the application': createProvisioning({
        ...parts,
        audit: testAudit(database, systemClock),
        posClients: () => ({
          ...tills,
          create: async (...given) => tills.create(...given).then(fail),
          change: async (...given) => tills.change(...given).then(fail),
          rotateSecret: async (...given) => tills.rotateSecret(...given).then(fail),
          remove: async (...given) => tills.remove(...given).then(fail),
        }),
      }),
    };
    const { storeId } = await otherStoreOf(merchant);
    const till = await made({ storeId });
    const token = await tokenOf(till);
    const rows = () =>
      database.query(
        `SELECT p.point_of_sale_id, p.name, p.status, p.removed_at, p.version,
           a.client_id, a.name AS client_name, a.status AS client_status, a.version AS client_version
         FROM (SELECT * FROM points_of_sale WHERE organization_id = $1 AND store_id = $2) p
         FULL JOIN (SELECT * FROM applications WHERE organization_id = $1 AND store_id = $2) a
           ON a.client_id = 'pos-' || p.point_of_sale_id`,
        [organizationId, storeId],
      );
    const rowsBefore = await rows();
    assert.equal(rowsBefore.length, 1);
    const disabledInput = { name: 'Off', status: 'Disabled' };
    for (const [where, { pointsOfSale }] of Object.entries(faulty)) {
      const id = till.pointOfSaleId;
      for (const attempt of [
        () => pointsOfSale.create(scope, { storeId, name: 'Never' }),
        () => pointsOfSale.replace(scope, id, disabledInput),
        () => pointsOfSale.rotateSecret(scope, id),
        () => pointsOfSale.remove(scope, id),
      ]) {
        await assert.rejects(attempt, planted);
        assert.deepEqual(await rows(), rowsBefore, where);
      }
    }
    assert.equal((await sell(token, {})).body.approved, true);
    assert.notEqual(await tokenOf(till), undefined);
  });
});
