// Developers of a merchant: they see webhooks, events, request log and applications of their own
// merchant only.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { type CreatedWebhookEndpoint, defined, type GroupName } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { createTestUser, passwordForm } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { accept, type Receiver, receiver } from '../webhooks/webhook-receiver.ts';

const unknown = '0198ffff-ffff-7fff-bfff-ffffffffffff';

describe('developers of a merchant', () => {
  let setup: TestOrganization;
  let ownToken: string;
  let others: string;
  const opened: Receiver[] = [];
  before(async () => {
    setup = await createTestOrganization();
    ownToken = await developerOf(setup.merchant);
    others = await developerOf(setup.otherMerchant);
  });
  after(async () => {
    for (const each of opened) await each.stop();
  });

  const developerOf = ({ merchantId }: TestMerchant): Promise<string> =>
    setup.tokenFor({
      name: 'Shop server',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['MerchantDeveloper'],
    });

  async function userToken(group: GroupName, merchantId: string): Promise<string> {
    const { platform, organizationId, realm, client } = setup;
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

  const sendRequest = (method: string, path: string, token: string, body?: unknown) =>
    setup.client.call(method, path, { token, ...defined({ body }) });
  const endpoints = '/webhooks/v1/endpoints';

  async function create(token: string, input: object = {}): Promise<CreatedWebhookEndpoint> {
    const endpointBody = { url: (await open()).url, eventTypes: ['*'], ...input };
    const { status, body, text } = await sendRequest('POST', endpoints, token, endpointBody);
    assert.equal(status, 201, text);
    return body;
  }

  async function sale({ token }: TestMerchant): Promise<string> {
    const path = '/payment/v1/transactions/process';
    const { body, text } = await sendRequest('POST', path, token, keyedSale());
    assert.equal(body?.state, 'Captured', text);
    return body.transactionId;
  }

  const receivedTransactionIds = (to: Receiver) =>
    to.received.map(({ body }) => JSON.parse(body).data.transactionId as unknown);

  test('an endpoint of a merchant gets only the events of that merchant', async () => {
    const [to, all] = [await open(), await open()];
    const made = await create(ownToken, { url: to.url });
    assert.equal(made.merchantId, setup.merchant.merchantId);
    assert.equal(made.owner, 'Merchant');
    await create(setup.acquirerToken, { url: all.url });
    const [otherEvents, ownEvents] = [await sale(setup.otherMerchant), await sale(setup.merchant)];
    await eventually('both sales are sent', async () =>
      [otherEvents, ownEvents].every((id) => receivedTransactionIds(all).includes(id)),
    );
    await eventually('the merchant gets its sale', async () =>
      receivedTransactionIds(to).includes(ownEvents),
    );
    assert.ok(!receivedTransactionIds(to).includes(otherEvents));
    const list = await sendRequest('GET', `/webhooks/v1/deliveries?limit=200`, ownToken);
    assert.equal(list.status, 200, list.text);
    assert.ok(list.body.items.length > 0);
    const ids = new Set(list.body.items.map((each: { endpointId: string }) => each.endpointId));
    assert.deepEqual([...ids], [made.endpointId]);
  });

  // Spec: ONB-22
  test('a merchant manages its own endpoints, and finds no others', async () => {
    const ownEndpoint = await create(ownToken);
    const byOrganization = await create(setup.acquirerToken, {
      merchantId: setup.merchant.merchantId,
    });
    assert.equal(byOrganization.owner, 'Organization');
    const ofNeighbour = await create(others);
    const listed = await sendRequest('GET', `${endpoints}?limit=200`, ownToken);
    const ids = listed.body.items.map((each: { endpointId: string }) => each.endpointId);
    assert.ok(ids.includes(ownEndpoint.endpointId));
    assert.ok(!ids.includes(byOrganization.endpointId));
    assert.ok(!ids.includes(ofNeighbour.endpointId));
    const changed = { url: ownEndpoint.url, eventTypes: ['transaction.*'] };
    for (const { endpointId } of [byOrganization, ofNeighbour, { endpointId: unknown }]) {
      const path = `${endpoints}/${endpointId}`;
      const refused = [
        await sendRequest('GET', path, ownToken),
        await sendRequest('PUT', path, ownToken, changed),
        await sendRequest('DELETE', path, ownToken),
        await sendRequest('POST', `${path}/secret`, ownToken),
        await sendRequest('POST', `${path}/verify`, ownToken),
        await sendRequest('POST', `${path}/test`, ownToken),
        await sendRequest('POST', `${path}/replay`, ownToken),
      ];
      for (const answer of refused) assertProblem(answer, { code: 'endpoint_not_found' });
    }
    const path = `${endpoints}/${ownEndpoint.endpointId}`;
    const replaced = await sendRequest('PUT', path, ownToken, changed);
    assert.deepEqual(
      [replaced.status, replaced.body.merchantId, replaced.body.owner],
      [200, setup.merchant.merchantId, 'Merchant'],
    );
    const seen = await sendRequest('GET', path, setup.acquirerToken);
    assert.equal(seen.status, 200, 'the organisation sees the endpoints of its merchants');
    const tested = await sendRequest('POST', `${path}/test`, ownToken);
    assert.equal(tested.status, 202, tested.text);
    const delivery = `/webhooks/v1/deliveries/${tested.body.deliveryId}`;
    assert.equal((await sendRequest('GET', delivery, ownToken)).status, 200);
    assertProblem(await sendRequest('GET', delivery, others), { code: 'delivery_not_found' });
    assertProblem(await sendRequest('POST', `${delivery}/resend`, others), {
      code: 'delivery_not_found',
    });
    const byEndpoint = `/webhooks/v1/deliveries?endpointId=${ownEndpoint.endpointId}`;
    assert.deepEqual((await sendRequest('GET', byEndpoint, others)).body.items, []);
    assert.equal((await sendRequest('DELETE', path, ownToken)).status, 204);
  });

  test('an endpoint of a merchant cannot be moved to another merchant', async () => {
    const { merchantId } = setup.otherMerchant;
    const input = { url: (await open()).url, eventTypes: ['*'], merchantId };
    const code = 'merchant_not_found';
    assertProblem(await sendRequest('POST', endpoints, ownToken, input), { code });
    const ownEndpoint = await create(ownToken);
    const path = `${endpoints}/${ownEndpoint.endpointId}`;
    assertProblem(await sendRequest('PUT', path, ownToken, input), { code });
    assertProblem(await sendRequest('PUT', path, setup.acquirerToken, input), {
      code: 'field_invalid',
      pointer: '/merchantId',
    });
    const replaced = await sendRequest('PUT', path, setup.acquirerToken, {
      ...input,
      merchantId: undefined,
    });
    assert.equal(replaced.body.merchantId, setup.merchant.merchantId);
    assert.equal((await sendRequest('DELETE', path, setup.acquirerToken)).status, 204);
  });

  test('the endpoints of a merchant have their own limit', async () => {
    const merchant = await setup.createMerchant();
    const token = await developerOf(merchant);
    const { url } = await open();
    for (let made = 0; made < 10; made += 1) await create(token, { url, status: 'Disabled' });
    const eleventh = await sendRequest('POST', endpoints, token, { url, eventTypes: ['*'] });
    assertProblem(eleventh, { code: 'endpoint_limit_reached' });
    await create(setup.acquirerToken, { url, status: 'Disabled' });
    await create(others, { url, status: 'Disabled' });
  });

  // Spec: ONB-22
  test('the feed and the request log show only entries of the merchant', async () => {
    const id = await sale(setup.merchant);
    await sale(setup.otherMerchant);
    await eventually('the sale is in the feed', async () => {
      const { body } = await sendRequest('GET', '/events/v1?before=0&limit=200', ownToken);
      return body.items.some(
        (item: { data: { transactionId?: string } }) => item.data.transactionId === id,
      );
    });
    const { body: feed } = await sendRequest('GET', '/events/v1?limit=200', ownToken);
    type EventMerchant = { readonly merchantId?: string };
    assert.ok(
      feed.items.every(
        ({ data }: { data: EventMerchant }) => data.merchantId === setup.merchant.merchantId,
      ),
    );
    const payment = await sendRequest('GET', `/payment/v1/transactions/${id}`, ownToken);
    assert.equal(payment.status, 200, payment.text);
    await eventually('the request is in the log', async () => {
      const { body } = await sendRequest('GET', '/logs/v1/requests?limit=200', ownToken);
      const lines: EventMerchant[] = body.items;
      assert.ok(lines.every(({ merchantId }) => merchantId === setup.merchant.merchantId));
      return lines.length > 0;
    });
  });

  test('a developer and a manager of a merchant sign in with these permissions', async () => {
    const { merchantId } = setup.merchant;
    for (const group of ['merchant_dev', 'merchant_manager'] as const) {
      const token = await userToken(group, merchantId);
      const made = await create(token);
      assert.equal(made.merchantId, merchantId, group);
      assert.equal(
        (await sendRequest('GET', `${endpoints}/${made.endpointId}`, ownToken)).status,
        200,
        group,
      );
      assert.equal((await sendRequest('GET', '/events/v1?limit=1', token)).status, 200, group);
      assert.equal(
        (await sendRequest('GET', '/logs/v1/requests?limit=1', token)).status,
        200,
        group,
      );
    }
    const operator = await userToken('org_operator', merchantId);
    assertProblem(await sendRequest('GET', endpoints, operator), { code: 'permission_denied' });
  });

  test('the role is only possible for an application of one whole merchant', async () => {
    const path = `/application-management/v1/user-domains/${setup.realm}/applications`;
    const input = { name: 'Shop server', roles: ['MerchantDeveloper'] };
    const { merchantId, storeId } = setup.merchant;
    const ofTenant = await sendRequest('POST', path, setup.acquirerToken, input);
    assertProblem(ofTenant, { code: 'field_invalid', pointer: '/roles/0' });
    const ofStore = { ...input, entityId: merchantId, storeId };
    assertProblem(await sendRequest('POST', path, setup.acquirerToken, ofStore), {
      code: 'field_invalid',
      pointer: '/roles/0',
    });
    const made = await sendRequest('POST', path, setup.acquirerToken, {
      ...input,
      entityId: merchantId,
    });
    assert.equal(made.status, 201, made.text);
    const listed = await sendRequest('GET', `${path}?limit=200`, ownToken);
    const entities = listed.body.items.map((each: { entityId: string }) => each.entityId);
    assert.deepEqual([...new Set(entities)], [merchantId]);
    assertProblem(
      await sendRequest('POST', path, ownToken, { name: 'x', entityId: randomUUID() }),
      {
        code: 'merchant_not_found',
      },
    );
  });
});
