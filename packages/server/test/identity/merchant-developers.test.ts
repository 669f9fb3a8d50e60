// Developers of a merchant: they see webhooks, events, request log and applications of their own
// merchant only.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type CreatedWebhookEndpoint, defined, type GroupName } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { createTestUser, passwordForm } from '../support/test-users.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { accept, type Receiver, receiver } from '../webhooks/webhook-receiver.ts';

const unknown = '0198ffff-ffff-7fff-bfff-ffffffffffff';

describe('the developers of a merchant', () => {
  let on: TestOrganization;
  let own: string;
  let others: string;
  const opened: Receiver[] = [];
  before(async () => {
    on = await createTestOrganization();
    own = await developerOf(on.merchant);
    others = await developerOf(on.otherMerchant);
  });
  after(async () => {
    for (const each of opened) await each.stop();
  });

  const developerOf = ({ merchantId }: TestMerchant): Promise<string> =>
    on.tokenFor({
      name: 'Shop server',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['MerchantDeveloper'],
    });

  async function userToken(group: GroupName, merchantId: string): Promise<string> {
    const { platform, organizationId, realm, client } = on;
    const where = { identity: platform.identity, organizationId, userDomainId: realm };
    const person = await createTestUser(where, { merchantId, group });
    const { clientId } = await platform.identity.createPublicApplication({
      organizationId,
      userDomainId: realm,
      name: 'Sign-in',
      roles: [],
      entityType: 'tenant',
      entityId: organizationId,
      securityFlows: ['Password'],
    });
    const { body, text } = await client.call('POST', `/oauth2/v1/${realm}/token`, {
      raw: new URLSearchParams(passwordForm(person, clientId)).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.ok(body.access_token, text);
    return body.access_token;
  }

  async function open(): Promise<Receiver> {
    const one = await receiver(accept);
    opened.push(one);
    return one;
  }

  const ask = (method: string, path: string, token: string, body?: unknown) =>
    on.client.call(method, path, { token, ...defined({ body }) });
  const endpoints = '/webhooks/v1/endpoints';

  async function create(token: string, input: object = {}): Promise<CreatedWebhookEndpoint> {
    const wanted = { url: (await open()).url, eventTypes: ['*'], ...input };
    const { status, body, text } = await ask('POST', endpoints, token, wanted);
    assert.equal(status, 201, text);
    return body;
  }

  async function sale({ token }: TestMerchant): Promise<string> {
    const path = '/payment/v1/transactions/process';
    const { body, text } = await ask('POST', path, token, keyedSale());
    assert.equal(body?.state, 'Captured', text);
    return body.transactionId;
  }

  const receivedTransactionIds = (to: Receiver) =>
    to.received.map(({ body }) => JSON.parse(body).data.transactionId as unknown);

  test('an endpoint of a merchant gets the events of the merchant and no others', async () => {
    const [to, all] = [await open(), await open()];
    const made = await create(own, { url: to.url });
    assert.equal(made.merchantId, on.merchant.merchantId);
    assert.equal(made.owner, 'Merchant');
    await create(on.acquirerToken, { url: all.url });
    const [theirs, ours] = [await sale(on.otherMerchant), await sale(on.merchant)];
    await eventually('both sales are sent', async () =>
      [theirs, ours].every((id) => receivedTransactionIds(all).includes(id)),
    );
    await eventually('the merchant gets its sale', async () =>
      receivedTransactionIds(to).includes(ours),
    );
    assert.ok(!receivedTransactionIds(to).includes(theirs));
    const list = await ask('GET', `/webhooks/v1/deliveries?limit=200`, own);
    assert.equal(list.status, 200, list.text);
    assert.ok(list.body.items.length > 0);
    const ids = new Set(list.body.items.map((each: { endpointId: string }) => each.endpointId));
    assert.deepEqual([...ids], [made.endpointId]);
  });

  test('a merchant manages its own endpoints, and finds no others', async () => {
    const mine = await create(own);
    const byOrganization = await create(on.acquirerToken, { merchantId: on.merchant.merchantId });
    assert.equal(byOrganization.owner, 'Organization');
    const ofNeighbour = await create(others);
    const listed = await ask('GET', `${endpoints}?limit=200`, own);
    const ids = listed.body.items.map((each: { endpointId: string }) => each.endpointId);
    assert.ok(ids.includes(mine.endpointId));
    assert.ok(!ids.includes(byOrganization.endpointId));
    assert.ok(!ids.includes(ofNeighbour.endpointId));
    const changed = { url: mine.url, eventTypes: ['transaction.*'] };
    for (const { endpointId } of [byOrganization, ofNeighbour, { endpointId: unknown }]) {
      const path = `${endpoints}/${endpointId}`;
      const refused = [
        await ask('GET', path, own),
        await ask('PUT', path, own, changed),
        await ask('DELETE', path, own),
        await ask('POST', `${path}/secret`, own),
        await ask('POST', `${path}/verify`, own),
        await ask('POST', `${path}/test`, own),
        await ask('POST', `${path}/replay`, own),
      ];
      for (const answer of refused) assertProblem(answer, { code: 'endpoint_not_found' });
    }
    const path = `${endpoints}/${mine.endpointId}`;
    const replaced = await ask('PUT', path, own, changed);
    assert.deepEqual(
      [replaced.status, replaced.body.merchantId, replaced.body.owner],
      [200, on.merchant.merchantId, 'Merchant'],
    );
    const seen = await ask('GET', path, on.acquirerToken);
    assert.equal(seen.status, 200, 'the organisation sees the endpoints of its merchants');
    const tested = await ask('POST', `${path}/test`, own);
    assert.equal(tested.status, 202, tested.text);
    const delivery = `/webhooks/v1/deliveries/${tested.body.deliveryId}`;
    assert.equal((await ask('GET', delivery, own)).status, 200);
    assertProblem(await ask('GET', delivery, others), { code: 'delivery_not_found' });
    assertProblem(await ask('POST', `${delivery}/resend`, others), { code: 'delivery_not_found' });
    const byEndpoint = `/webhooks/v1/deliveries?endpointId=${mine.endpointId}`;
    assert.deepEqual((await ask('GET', byEndpoint, others)).body.items, []);
    assert.equal((await ask('DELETE', path, own)).status, 204);
  });

  test('an endpoint of a merchant cannot be pointed at another merchant', async () => {
    const { merchantId } = on.otherMerchant;
    const input = { url: (await open()).url, eventTypes: ['*'], merchantId };
    const code = 'merchant_not_found';
    assertProblem(await ask('POST', endpoints, own, input), { code });
    const mine = await create(own);
    const path = `${endpoints}/${mine.endpointId}`;
    assertProblem(await ask('PUT', path, own, input), { code });
    assertProblem(await ask('PUT', path, on.acquirerToken, input), {
      code: 'field_invalid',
      pointer: '/merchantId',
    });
    const kept = await ask('PUT', path, on.acquirerToken, { ...input, merchantId: undefined });
    assert.equal(kept.body.merchantId, on.merchant.merchantId);
    assert.equal((await ask('DELETE', path, on.acquirerToken)).status, 204);
  });

  test('the endpoints of a merchant have a limit of their own', async () => {
    const shop = await on.createMerchant();
    const token = await developerOf(shop);
    const { url } = await open();
    for (let made = 0; made < 10; made += 1) await create(token, { url, status: 'Disabled' });
    const eleventh = await ask('POST', endpoints, token, { url, eventTypes: ['*'] });
    assertProblem(eleventh, { code: 'endpoint_limit_reached' });
    await create(on.acquirerToken, { url, status: 'Disabled' });
    await create(others, { url, status: 'Disabled' });
  });

  test('the feed and the request log show what is of the merchant', async () => {
    const id = await sale(on.merchant);
    await sale(on.otherMerchant);
    await eventually('the sale is in the feed', async () => {
      const { body } = await ask('GET', '/events/v1?before=0&limit=200', own);
      return body.items.some(
        (item: { data: { transactionId?: string } }) => item.data.transactionId === id,
      );
    });
    const { body: feed } = await ask('GET', '/events/v1?limit=200', own);
    type Of = { readonly merchantId?: string };
    assert.ok(
      feed.items.every(({ data }: { data: Of }) => data.merchantId === on.merchant.merchantId),
    );
    const payment = await ask('GET', `/payment/v1/transactions/${id}`, own);
    assert.equal(payment.status, 200, payment.text);
    await eventually('the request is in the log', async () => {
      const { body } = await ask('GET', '/logs/v1/requests?limit=200', own);
      const lines: Of[] = body.items;
      assert.ok(lines.every(({ merchantId }) => merchantId === on.merchant.merchantId));
      return lines.length > 0;
    });
  });

  test('a developer and a manager of a merchant sign in with these rights', async () => {
    const { merchantId } = on.merchant;
    for (const group of ['merchant_dev', 'merchant_manager'] as const) {
      const token = await userToken(group, merchantId);
      const made = await create(token);
      assert.equal(made.merchantId, merchantId, group);
      assert.equal((await ask('GET', `${endpoints}/${made.endpointId}`, own)).status, 200, group);
      assert.equal((await ask('GET', '/events/v1?limit=1', token)).status, 200, group);
      assert.equal((await ask('GET', '/logs/v1/requests?limit=1', token)).status, 200, group);
    }
    const operator = await userToken('org_operator', merchantId);
    assertProblem(await ask('GET', endpoints, operator), { code: 'permission_denied' });
  });

  test('the role belongs to an application of one whole merchant', async () => {
    const path = `/application-management/v1/user-domains/${on.realm}/applications`;
    const input = { name: 'Shop server', roles: ['MerchantDeveloper'] };
    const { merchantId, storeId } = on.merchant;
    const ofTenant = await ask('POST', path, on.acquirerToken, input);
    assertProblem(ofTenant, { code: 'field_invalid', pointer: '/roles/0' });
    const ofStore = { ...input, entityId: merchantId, storeId };
    assertProblem(await ask('POST', path, on.acquirerToken, ofStore), {
      code: 'field_invalid',
      pointer: '/roles/0',
    });
    const made = await ask('POST', path, on.acquirerToken, { ...input, entityId: merchantId });
    assert.equal(made.status, 201, made.text);
    const listed = await ask('GET', `${path}?limit=200`, own);
    const entities = listed.body.items.map((each: { entityId: string }) => each.entityId);
    assert.deepEqual([...new Set(entities)], [merchantId]);
    assertProblem(await ask('POST', path, own, { name: 'x', entityId: randomUUID() }), {
      code: 'merchant_not_found',
    });
  });
});
