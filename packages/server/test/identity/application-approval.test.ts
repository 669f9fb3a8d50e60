// Applications with payment permissions: a caller without um.write registers them, a user manager
// approves them.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { defined, type GroupName } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { createTestUser, passwordForm } from '../support/identity/test-users.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';

const base = '/application-management/v1/user-domains';

describe('approval of applications', () => {
  let setup: TestOrganization;
  let signInClient: string;
  let developer: string;
  let administrator: string;
  let manager: string;
  before(async () => {
    setup = await createTestOrganization();
    const { clientId } = await setup.platform.identity.createPublicApplication({
      organizationId: setup.organizationId,
      userDomainId: setup.realm,
      name: 'Sign-in',
      roles: [],
      entityType: 'tenant',
      entityId: setup.organizationId,
      securityFlows: ['Password'],
    });
    signInClient = clientId;
    developer = await userToken('org_dev');
    administrator = await userToken('org_admin');
    manager = await userToken('merchant_manager', setup.merchant.merchantId);
  });

  const form = (fields: Record<string, string>) =>
    setup.client.call('POST', `/oauth2/v1/${setup.realm}/token`, {
      raw: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });

  async function userToken(group: GroupName, merchantId?: string): Promise<string> {
    const { platform, organizationId, realm } = setup;
    const where = { identity: platform.identity, organizationId, userDomainId: realm };
    const person = await createTestUser(where, { group, ...defined({ merchantId }) });
    const { body, text } = await form(passwordForm(person, signInClient));
    assert.ok(body.access_token, text);
    return body.access_token;
  }

  const call = (method: string, path: string, token: string, options: RequestOptions = {}) =>
    setup.client.call(method, `${base}/${setup.realm}/applications${path}`, { token, ...options });

  const register = (token: string, members: object = {}) =>
    call('POST', '', token, {
      body: {
        name: 'Shop server',
        roles: ['Merchant'],
        entityId: setup.merchant.merchantId,
        ...members,
      },
    });

  async function registered(token: string, members: object = {}) {
    const { status, body, text } = await register(token, members);
    assert.equal(status, 201, text);
    return body as { clientId: string; clientSecret: string; status: string };
  }

  const askToken = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
    form({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    });

  function assertWaits(answer: HttpResponse): void {
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.body.error, 'unauthorized_client');
    assert.match(answer.body.error_description, /waits for the approval/);
  }

  const approve = (token: string, clientId: string, headers = {}) =>
    call('POST', `/${clientId}/approve`, token, { headers });

  const subjectOf = (token: string): string =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sub;

  const payingRoles = [
    'Merchant',
    'MerchantReadOnly',
    'MerchantDeveloper',
    'PointOfSaleTerminal',
    'Device',
  ];

  // Spec: ONB-21
  test('an application with payment permissions gets no token before an administrator approves it', async () => {
    for (const role of payingRoles) {
      const made = await registered(developer, { roles: [role] });
      assert.equal(made.status, 'PendingApproval', role);
      assertWaits(await askToken(made));
    }
    const made = await registered(developer);
    const listed = await call('GET', '?status=PendingApproval&limit=200', administrator);
    const clientIds = listed.body.items.map(({ clientId }: { clientId: string }) => clientId);
    assert.ok(clientIds.includes(made.clientId));
    const approved = await approve(administrator, made.clientId);
    assert.deepEqual([approved.status, approved.body.status], [200, 'Enabled'], approved.text);
    const token = (await askToken(made)).body.access_token;
    const sale = await setup.client.call('POST', '/payment/v1/transactions/process', {
      token,
      body: keyedSale(),
    });
    assert.equal(sale.body.state, 'Captured', sale.text);
    const again = await approve(administrator, made.clientId);
    assertProblem(again, { code: 'application_state' });
  });

  test('an application without payment permissions, or of a user manager, needs no approval', async () => {
    assert.equal((await registered(developer, { roles: [] })).status, 'Enabled');
    assert.equal((await registered(developer, { roles: ['ServiceProvider'] })).status, 'Enabled');
    assert.equal((await registered(administrator)).status, 'Enabled');
    assert.equal((await registered(setup.acquirerToken)).status, 'Enabled');
  });

  // Spec: ONB-21
  test('a manager approves applications of the merchant and finds no others', async () => {
    const ownApplication = await registered(developer);
    const readApplication = await call('GET', `/${ownApplication.clientId}`, manager);
    assert.equal(readApplication.body.status, 'PendingApproval', readApplication.text);
    const neighbour = await registered(developer, { entityId: setup.otherMerchant.merchantId });
    const ofTenant = await registered(developer, { entityId: setup.organizationId });
    for (const { clientId } of [neighbour, ofTenant]) {
      assertProblem(await approve(manager, clientId), { code: 'resource_not_found' });
      assertProblem(await call('GET', `/${clientId}`, manager), { code: 'resource_not_found' });
    }
    const { body: pending } = await call('GET', '?status=PendingApproval&limit=200', manager);
    const clientIds = pending.items.map(({ clientId }: { clientId: string }) => clientId);
    assert.ok(clientIds.includes(ownApplication.clientId));
    assert.ok(!clientIds.includes(neighbour.clientId) && !clientIds.includes(ofTenant.clientId));
    assert.equal((await approve(manager, ownApplication.clientId)).body.status, 'Enabled');
    assert.equal((await askToken(ownApplication)).status, 200);
    const byMerchant = await registered(developer, { roles: ['MerchantDeveloper'] });
    const merchantToken = async () => (await askToken(byMerchant)).body.access_token;
    assert.equal((await approve(manager, byMerchant.clientId)).status, 200);
    const second = await register(await merchantToken());
    assert.equal(second.body.status, 'PendingApproval', second.text);
  });

  test('a developer cannot approve an application, also not by an edit', async () => {
    const made = await registered(developer);
    const { clientId } = made;
    assertProblem(await approve(developer, clientId), { code: 'permission_denied' });
    const replace = (token: string, members: object) =>
      call('PUT', `/${clientId}`, token, {
        body: { name: 'Other', roles: ['Merchant'], ...members },
      });
    for (const status of [undefined, 'Enabled', 'PendingApproval']) {
      const changed = await replace(developer, defined({ status }));
      assert.equal(changed.body.status, 'PendingApproval', changed.text);
    }
    assert.equal((await replace(developer, { status: 'Disabled' })).body.status, 'Disabled');
    assert.equal((await replace(developer, {})).body.status, 'PendingApproval');
    assertWaits(await askToken(made));
    const byAdministrator = await replace(administrator, { description: 'Edited.' });
    assert.equal(byAdministrator.body.status, 'PendingApproval', 'an edit is no approval');
  });

  test('permissions that a developer adds to an application need approval', async () => {
    const made = await registered(developer, { roles: [] });
    assert.equal((await askToken(made)).status, 200);
    const path = `/${made.clientId}`;
    const put = (body: object) =>
      call('PUT', path, developer, { body: { name: 'Server', ...body } });
    assert.equal((await put({ roles: ['Device'] })).body.status, 'PendingApproval');
    assertWaits(await askToken(made));
    assert.equal((await approve(administrator, made.clientId)).status, 200);
    assert.equal((await put({ roles: ['Device'], description: 'x' })).body.status, 'Enabled');
    assert.equal((await put({ roles: ['Device', 'Merchant'] })).body.status, 'PendingApproval');
    const page = await registered(administrator, {
      securityFlows: ['AuthorizationCode'],
      redirectUris: ['https://shop.example/back'],
      webOrigins: ['https://shop.example'],
    });
    const forItself = await call('PUT', `/${page.clientId}`, developer, {
      body: {
        name: 'Page',
        roles: ['Merchant'],
        securityFlows: ['AuthorizationCode', 'ClientCredentials'],
        redirectUris: ['https://shop.example/back'],
        webOrigins: ['https://shop.example'],
      },
    });
    assert.equal(forItself.body.status, 'PendingApproval', forItself.text);
  });

  // Spec: ONB-21
  test('a developer cannot rotate the secret of an application with payment permissions', async () => {
    const ofOthers = await registered(administrator);
    const renewed = await call('POST', `/${ofOthers.clientId}/secret`, developer);
    assertProblem(renewed, { code: 'permission_denied' });
    assert.equal((await askToken(ofOthers)).status, 200, 'the secret is still the old one');
    const pending = await registered(developer);
    const { body } = await call('POST', `/${pending.clientId}/secret`, developer);
    assertWaits(await askToken({ ...pending, clientSecret: body.clientSecret }));
    const byManager = await call('POST', `/${ofOthers.clientId}/secret`, manager);
    assert.equal(byManager.status, 200, byManager.text);
  });

  test('an application that changed after it was read is not approved', async () => {
    const made = await registered(developer);
    const read = await call('GET', `/${made.clientId}`, administrator);
    await call('PUT', `/${made.clientId}`, developer, {
      body: { name: 'Shop server', roles: ['Merchant', 'Device'] },
    });
    const headers = { 'if-match': String(read.headers['etag']) };
    assertProblem(await approve(administrator, made.clientId, headers), {
      code: 'precondition_failed',
    });
    assertWaits(await askToken(made));
  });

  test('only the platform sets the status PendingApproval', async () => {
    assertProblem(await register(administrator, { status: 'PendingApproval' }), {
      code: 'field_invalid',
      pointer: '/status',
    });
    const made = await registered(administrator);
    const changed = await call('PUT', `/${made.clientId}`, administrator, {
      body: { name: 'x', status: 'PendingApproval' },
    });
    assertProblem(changed, { code: 'field_invalid', pointer: '/status' });
  });

  test('the audit names the developer who registered and the administrator who approved', async () => {
    const made = await registered(developer);
    await approve(administrator, made.clientId);
    const { body } = await setup.client.call(
      'GET',
      `/audit/v1/records?entityType=application&entityId=${made.clientId}`,
      { token: setup.acquirerToken },
    );
    type Entry = { action: string; actor: { subject: string }; after: { status: string } };
    const entries = (body.items as Entry[])
      .map(({ action, after, actor }) => [action, after.status, actor.subject])
      .sort();
    assert.deepEqual(entries, [
      ['application.approved', 'Enabled', subjectOf(administrator)],
      ['application.created', 'PendingApproval', subjectOf(developer)],
    ]);
  });
});
