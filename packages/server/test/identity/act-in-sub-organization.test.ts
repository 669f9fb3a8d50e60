// An organisation acts in a sub-organisation by ?organizationId=, only in the modules that support
// it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { AuditRecord } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { createTestUser } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { contractBody, merchantBody } from '../support/provisioning/test-provisioning.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';

const organizations = '/provisioning/v2/organizations';
type Below = { organizationId: string; userDomainId: string; at: string };
type Items = Record<string, string>[];

describe('acting in a sub-organisation', () => {
  let setup: TestOrganization;
  let other: TestOrganization;
  let below: Below;
  let ownToken: string;
  before(async () => {
    setup = await createTestOrganization();
    other = await createTestOrganization();
    below = await makeBelow();
    ownToken = await tokenIn(below);
  });

  const call = (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse> =>
    setup.client.call(method, path, { token: setup.acquirerToken, ...options });

  async function made(
    path: string,
    body: object,
    options: RequestOptions = {},
  ): Promise<HttpResponse['body']> {
    const answer = await call('POST', path, { body, ...options });
    assert.equal(answer.status, 201, answer.text);
    return answer.body;
  }

  async function makeBelow(members: object = {}): Promise<Below> {
    const userDomainId = `s${randomUUID().slice(0, 13)}`;
    const body = { name: 'Below', userDomainId, ...members };
    const { organizationId } = await made(organizations, body);
    return { organizationId, userDomainId, at: `?organizationId=${organizationId}` };
  }

  /** A token of an application that belongs to the organisation itself. */
  async function tokenIn({ organizationId, userDomainId }: Below): Promise<string> {
    const { clientId, clientSecret } = await setup.platform.identity.createApplication({
      organizationId,
      userDomainId,
      name: 'own',
      entityType: 'tenant',
      entityId: organizationId,
      roles: ['AcquirerAdministrator'],
      securityFlows: ['ClientCredentials'],
    });
    return setup.client.token(userDomainId, clientId, clientSecret);
  }

  const usersOf = (domain: string) => `/user-management/v2/user-domains/${domain}/users`;
  const appsOf = (domain: string) =>
    `/application-management/v1/user-domains/${domain}/applications`;

  test('a sub-organisation is created with its user domain, in which its users sign in', async () => {
    const { organizationId, userDomainId } = below;
    const read = await call('GET', `${organizations}/${organizationId}`);
    assert.equal(read.body.userDomainId, userDomainId);
    const ownResponse = await call('GET', organizations, { token: ownToken });
    assert.deepEqual(
      (ownResponse.body.items as Items).map((item) => [
        item['organizationId'],
        item['userDomainId'],
      ]),
      [[organizationId, userDomainId]],
    );
    const { headers } = read;
    const same = await call('PUT', `${organizations}/${organizationId}`, {
      body: { name: 'Below', userDomainId },
      headers: { 'if-match': String(headers['etag']) },
    });
    assert.deepEqual([same.status, same.body.userDomainId], [200, userDomainId]);
    const changed = await call('PUT', `${organizations}/${organizationId}`, {
      body: { name: 'Below', userDomainId: `x${randomUUID().slice(0, 8)}` },
    });
    assertProblem(changed, { code: 'field_read_only', pointer: '/userDomainId' });
  });

  test('a used name of a user domain creates neither domain nor organisation', async () => {
    for (const userDomainId of [setup.realm, other.realm, 'admin', 'demo']) {
      const name = `Taken ${randomUUID()}`;
      const refused = await call('POST', organizations, { body: { name, userDomainId } });
      assertProblem(refused, { code: 'already_exists', pointer: '/userDomainId' });
      const { body } = await call('GET', `${organizations}?name=${encodeURIComponent(name)}`);
      assert.deepEqual(body.items, []);
    }
  });

  test('concurrent creations are serialised, and one of them gets the name', async () => {
    const userDomainId = `s${randomUUID().slice(0, 13)}`;
    const organizationBodies = Array.from({ length: 24 }, (_, index) => ({
      name: `At once ${index}`,
      ...(index % 2 === 0 ? { userDomainId } : {}),
    }));
    const answers = await Promise.all(
      organizationBodies.map((body) => call('POST', organizations, { body })),
    );
    const counted = Map.groupBy(answers, ({ status }) => status);
    assert.deepEqual([counted.get(201)?.length, counted.get(409)?.length], [13, 11]);
  });

  test('a sub-organisation without a user domain has no users and no applications', async () => {
    const { organizationId } = await made(organizations, { name: 'Without' });
    const at = `?organizationId=${organizationId}`;
    for (const domain of [setup.realm, below.userDomainId, 'undefined', '%20']) {
      for (const path of [usersOf(domain), appsOf(domain)]) {
        assertProblem(await call('GET', `${path}${at}`), { code: 'resource_not_found' }, path);
      }
    }
    for (const path of [usersOf(''), appsOf('')]) {
      const answer = await call('GET', `${path}${at}`);
      assert.ok([404, 422].includes(answer.status), answer.text);
    }
    assert.equal((await call('GET', `/provisioning/v2/merchants${at}`)).status, 200);
  });

  test('provisioning: created entities belong to the sub-organisation, and its own users see them', async () => {
    const merchant = await made(`/provisioning/v2/merchants${below.at}`, merchantBody('Of below'));
    assert.equal(merchant.organizationId, below.organizationId);
    const path = `/provisioning/v2/merchants/${merchant.merchantId}`;
    assertProblem(await call('GET', path), { code: 'merchant_not_found' });
    assert.equal((await call('GET', `${path}${below.at}`)).status, 200);
    assert.equal((await call('GET', path, { token: ownToken })).status, 200);
    const store = await made(`/provisioning/v2/stores${below.at}`, {
      merchantId: merchant.merchantId,
      name: 'Store',
    });
    assert.equal(store.organizationId, below.organizationId);
    const ownMerchant = { merchantId: setup.merchant.merchantId, name: 'Mixed' };
    const mixed = await call('POST', `/provisioning/v2/stores${below.at}`, { body: ownMerchant });
    assertProblem(mixed, { code: 'merchant_not_found' });
  });

  test('users and groups: they belong to the domain of the sub-organisation only', async () => {
    const { organizationId, userDomainId, at } = below;
    const body = {
      username: `ann-${randomUUID()}`,
      entityId: organizationId,
      scope: organizationId,
      email: 'ann@below.example',
      groups: [`${organizationId}_org_admin`],
    };
    const user = await made(`${usersOf(userDomainId)}${at}`, body);
    assert.deepEqual([user.organizationId, user.userDomainId], [organizationId, userDomainId]);
    const one = `${usersOf(userDomainId)}/${user.userId}`;
    assert.equal((await call('GET', `${one}${at}`)).status, 200);
    assert.equal((await call('GET', one, { token: ownToken })).status, 200);
    const status = { body: { status: 'deactivated' } };
    assert.equal((await call('PUT', `${one}/status${at}`, status)).body.status, 'deactivated');
    for (const path of [
      one,
      `${usersOf(setup.realm)}/${user.userId}`,
      `${usersOf(setup.realm)}${at}`,
    ]) {
      assertProblem(await call('GET', path), { code: 'resource_not_found' });
    }
    const ownResponse = {
      ...body,
      entityId: setup.organizationId,
      scope: setup.organizationId,
      groups: [],
    };
    const above = await call('POST', `${usersOf(userDomainId)}${at}`, { body: ownResponse });
    assertProblem(above, { code: 'merchant_not_found' });
    const groups = await call(
      'GET',
      `/user-management/v2/user-domains/${userDomainId}/groups${at}`,
    );
    assert.equal(groups.body.items[0].entityId, organizationId);
  });

  test('applications: their secret is valid only in the domain of the sub-organisation', async () => {
    const { organizationId, userDomainId, at } = below;
    const body = {
      name: 'From above',
      securityFlows: ['ClientCredentials'],
      roles: ['Onboarding'],
    };
    const { clientId, clientSecret } = await made(`${appsOf(userDomainId)}${at}`, body);
    const token = await setup.client.token(userDomainId, clientId, clientSecret);
    const list = await call('GET', organizations, { token });
    assert.deepEqual(
      (list.body.items as Items).map((item) => item['organizationId']),
      [organizationId],
    );
    const path = `${appsOf(userDomainId)}/${clientId}`;
    assertProblem(await call('GET', path), { code: 'resource_not_found' });
    assert.equal((await call('GET', `${path}${at}`)).body.entityId, organizationId);
  });

  test('the catalogue: subscriptions and activations belong to the sub-organisation', async () => {
    const { organizationId, at } = below;
    const services = '/service-catalog/v1';
    const declared = { name: 'Tips', domain: 'Payments' };
    const { serviceId } = await made(`${services}/services${at}`, declared);
    await call('POST', `${services}/services/${serviceId}/publish${at}`, { body: {} });
    const offer = { name: 'Offer', serviceIds: [serviceId] };
    const { packageId } = await made(`${services}/packages${at}`, offer);
    await made(`${services}/subscriptions${at}`, { packageId });
    const ownResponse = await call('GET', `${services}/subscriptions`, { token: ownToken });
    assert.equal(ownResponse.body.items.length, 1);
    const above = await call('GET', `${services}/subscriptions`);
    assert.deepEqual(above.body.items, []);
    const entity = { serviceId, level: 'Organization', entityId: organizationId };
    const active = await call('POST', `${services}/activations${at}`, { body: entity });
    assert.ok(active.status < 300, active.text);
    const wrong = await call('POST', `${services}/activations`, { body: entity });
    assert.equal(wrong.status, 404);
  });

  test('the audit of the sub-organisation names the organisation of the caller', async () => {
    const sub = await makeBelow();
    await made(`/provisioning/v2/merchants${sub.at}`, merchantBody('Audited'));
    const records = async (query: string): Promise<AuditRecord[]> =>
      (await call('GET', `/audit/v1/records${query}`)).body.items;
    const [newest] = await records(`${sub.at}&action=merchant.created`);
    assert.equal(newest?.organizationId, sub.organizationId);
    assert.equal(newest?.actor.organizationId, setup.organizationId);
    const ownRecords = await records(`?action=merchant.created&entityId=${newest?.entity.id}`);
    assert.deepEqual(ownRecords, []);
    const [domain] = await records(`${sub.at}&action=userDomain.created`);
    assert.equal(domain?.entity.id, sub.userDomainId);
    const [making] = await records(`?action=organization.created&entityId=${sub.organizationId}`);
    assert.equal(making?.actor.organizationId, undefined);
    assert.equal(making?.entity.id, sub.organizationId);
  });

  // Spec: PROV-3
  test('parent, sibling and unknown organisations are refused', async () => {
    const sibling = await makeBelow();
    const child = await makeBelow({ parentOrganizationId: below.organizationId });
    const unseen = [
      setup.organizationId,
      sibling.organizationId,
      other.organizationId,
      randomUUID(),
    ];
    const paths = [
      '/provisioning/v2/merchants',
      usersOf(below.userDomainId),
      appsOf(below.userDomainId),
      '/service-catalog/v1/subscriptions',
      '/audit/v1/records',
    ];
    for (const path of paths) {
      for (const id of unseen) {
        const answer = await call('GET', `${path}?organizationId=${id}`, { token: ownToken });
        assertProblem(answer, { code: 'organization_not_found' }, `${path} of ${id}`);
      }
      const ownResponse = await call('GET', `${path}${below.at}`, { token: ownToken });
      assert.equal(ownResponse.status, 200, ownResponse.text);
    }
    for (const token of [setup.acquirerToken, ownToken]) {
      const deep = await call('GET', `/provisioning/v2/merchants${child.at}`, { token });
      assert.equal(deep.status, 200, deep.text);
    }
    const otherCaller = { token: other.acquirerToken };
    const foreign = await call('GET', `/provisioning/v2/merchants${below.at}`, otherCaller);
    assertProblem(foreign, { code: 'organization_not_found' });
  });

  test('a moved sub-organisation is out of reach at once', async () => {
    const child = await makeBelow({ parentOrganizationId: below.organizationId });
    const path = `/provisioning/v2/merchants${child.at}`;
    assert.equal((await call('GET', path, { token: ownToken })).status, 200);
    const body = { name: 'Moved', parentOrganizationId: setup.organizationId };
    const moved = await call('PUT', `${organizations}/${child.organizationId}`, { body });
    assert.equal(moved.status, 200, moved.text);
    const afterMove = await call('GET', path, { token: ownToken });
    assertProblem(afterMove, { code: 'organization_not_found' });
    assert.equal((await call('GET', path)).status, 200);
  });

  test('a merchant cannot act in a sub-organisation', async () => {
    const { token } = setup.merchant;
    const path = '/provisioning/v2/stores';
    const refused = await call('GET', `${path}${below.at}`, { token });
    assertProblem(refused, { code: 'organization_not_found' });
    const ownResponse = await call('GET', `${path}?organizationId=${setup.organizationId}`, {
      token,
    });
    assert.deepEqual(
      (ownResponse.body.items as Items).map((item) => item['merchantId']),
      [setup.merchant.merchantId],
    );
  });

  test('no payment is possible from the parent organisation', async () => {
    const body = { ...keyedSale(), merchantId: setup.merchant.merchantId };
    const path = `/payment/v1/transactions/process${below.at}`;
    const sale = await call('POST', path, { body, token: setup.merchant.token });
    assert.equal(sale.status, 200, sale.text);
    const transaction = await call('GET', `/payment/v1/transactions/${sale.body.transactionId}`, {
      token: setup.merchant.token,
    });
    assert.equal(transaction.status, 200, transaction.text);
  });

  test('an invalid or repeated organizationId is refused as an invalid member', async () => {
    for (const query of [
      '?organizationId=',
      '?organizationId=north',
      `${below.at}&organizationId=x`,
    ]) {
      const answer = await call('GET', `/provisioning/v2/merchants${query}`);
      assertProblem(answer, { code: 'field_invalid', pointer: '?organizationId' }, query);
    }
    const upper = `?organizationId=${below.organizationId.toUpperCase()}`;
    assert.equal((await call('GET', `/provisioning/v2/merchants${upper}`)).status, 200);
  });

  test('a cursor of one organisation is invalid in another', async () => {
    for (const name of ['One', 'Two']) {
      await made(`/provisioning/v2/merchants${below.at}`, merchantBody(name));
    }
    const page = await call('GET', `/provisioning/v2/merchants${below.at}&limit=1`);
    const cursor = page.body.nextCursor;
    const ownResponse = await call('GET', `/provisioning/v2/merchants?limit=1&cursor=${cursor}`);
    assertProblem(ownResponse, { code: 'cursor_invalid' });
  });

  test('the rate limits of a caller are the same in every organisation', async () => {
    const remainingLimit = async (path: string) => {
      const { headers } = await call('GET', path);
      return Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    };
    const merchants = '/provisioning/v2/merchants';
    // Retries, because a new rate limit window may begin between two calls. With separate counters
    // the value would never go down.
    await eventually('the second call finds less than the first', async () => {
      const first = await remainingLimit(merchants);
      return (await remainingLimit(`${merchants}${below.at}`)) < first;
    });
  });

  test('a disabled sub-organisation accepts no sale and can still be managed by its parent', async () => {
    const sub = await makeBelow();
    const token = await tokenIn(sub);
    const path = `${organizations}/${sub.organizationId}`;
    const disabled = await call('PUT', path, { body: { name: 'Below', status: 'Disabled' } });
    assert.deepEqual([disabled.status, disabled.body.status], [200, 'Disabled']);
    const merchant = await made(`/provisioning/v2/merchants${sub.at}`, merchantBody('Of disabled'));
    const names = { merchantId: merchant.merchantId };
    await assert.rejects(
      setup.platform.provisioning.resolveSaleEntities(sub.organizationId, names),
      /organisation is disabled/,
    );
    const enabled = await call('PUT', path, { token, body: { name: 'Back', status: 'Enabled' } });
    assertProblem(enabled, { code: 'field_read_only', pointer: '/status' });
  });

  test('organisations below a disabled one accept no sale until it is enabled', async () => {
    const sub = await makeBelow();
    const child = await makeBelow({ parentOrganizationId: sub.organizationId });
    const { merchantId } = await made(`/provisioning/v2/merchants${child.at}`, merchantBody('Low'));
    await made(`/provisioning/v2/acquirer-links${child.at}`, {
      name: 'host',
      host: '127.0.0.1',
      port: setup.host.port,
      tls: false,
      institutionId: '123456',
    }).then(({ acquirerLinkId }) =>
      made(
        `/provisioning/v2/merchants/${merchantId}/acquirer-contracts${child.at}`,
        contractBody(acquirerLinkId, 'SUB0'),
      ),
    );
    const resolved = () =>
      setup.platform.provisioning.resolveSaleEntities(child.organizationId, { merchantId });
    const set = (status: string) =>
      call('PUT', `${organizations}/${sub.organizationId}`, { body: { name: 'Below', status } });
    assert.equal((await resolved()).merchant.merchantId, merchantId);
    assert.equal((await set('Disabled')).status, 200);
    await assert.rejects(resolved(), /parent organisation of the merchant is disabled/);
    assert.equal((await set('Enabled')).status, 200);
    assert.equal((await resolved()).merchant.merchantId, merchantId);
  });

  test('a removed sub-organisation accepts no sign-in, and its name stays used', async () => {
    const sub = await makeBelow();
    const token = await tokenIn(sub);
    const person = await createTestUser({ identity: setup.platform.identity, ...sub });
    assert.ok(person.user.userId);
    assert.equal((await call('GET', organizations, { token })).status, 200);
    const afterMove = await call('DELETE', `${organizations}/${sub.organizationId}`);
    assert.equal(afterMove.status, 204, afterMove.text);
    assertProblem(await call('GET', organizations, { token }), { code: 'token_invalid' });
    const users = await call('GET', `${usersOf(sub.userDomainId)}${sub.at}`);
    assertProblem(users, { code: 'organization_not_found' });
    const body = { name: 'Again', userDomainId: sub.userDomainId };
    assertProblem(await call('POST', organizations, { body }), { code: 'already_exists' });
  });
});
