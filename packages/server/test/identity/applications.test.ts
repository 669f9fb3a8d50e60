// Chapter "Applications" over TLS: register, list, change, rotate secrets, remove.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { groupPermissions } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { signAccessToken } from '../support/identity/signed-access-tokens.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';

const base = '/application-management/v1/user-domains';

describe('applications', () => {
  let setup: TestOrganization;
  let other: TestOrganization;
  before(async () => {
    setup = await createTestOrganization();
    other = await createTestOrganization();
  });

  const call = (method: string, path: string, options: RequestOptions = {}, realm = setup.realm) =>
    setup.client.call(method, `${base}/${realm}/applications${path}`, {
      token: setup.acquirerToken,
      ...options,
    });

  async function register(
    members: object = {},
    options: RequestOptions = {},
  ): Promise<HttpResponse> {
    const answer = await call('POST', '', { body: { name: 'Till 7', ...members }, ...options });
    assert.equal(answer.status, 201, answer.text);
    return answer;
  }

  /** Whether the server accepts a token of this application. */
  async function isGood(token: string): Promise<boolean> {
    const { status } = await setup.client.call('GET', '/provisioning/v2/merchants', { token });
    return status !== 401;
  }

  async function tokenStatus(clientId: string, clientSecret: string): Promise<number> {
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    };
    const answer = await setup.client.call('POST', `/oauth2/v1/${setup.realm}/token`, {
      raw: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    return answer.status;
  }

  test('an application is registered with its name only, is read, and gets tokens with its secret', async () => {
    const { body, headers } = await register();
    const { clientId, clientSecret, createdAt, updatedAt, secretChangedAt, ...facts } = body;
    assert.deepEqual(facts, {
      userDomainId: setup.realm,
      organizationId: setup.organizationId,
      name: 'Till 7',
      type: 'Application',
      clientType: 'Confidential',
      securityFlows: ['ClientCredentials'],
      redirectUris: [],
      webOrigins: [],
      services: [],
      roles: [],
      entityId: setup.organizationId,
      callbackError: 'Rfc6749',
      accessTokenType: 'JWT',
      status: 'Enabled',
    });
    assert.match(clientSecret, /^[\w-]{43}$/);
    assert.deepEqual([updatedAt, secretChangedAt], [createdAt, createdAt]);
    assert.equal(headers['location'], `${base}/${setup.realm}/applications/${clientId}`);
    assert.equal(headers['etag'], '"1"');
    assert.equal(headers['cache-control'], 'no-store');
    const read = await call('GET', `/${clientId}`);
    const { clientSecret: _secret, ...visibleMembers } = body;
    assert.deepEqual(read.body, visibleMembers, 'the secret is shown once');
    assert.equal(await isGood(await setup.client.token(setup.realm, clientId, clientSecret)), true);
  });

  // Spec: APP-2 ONB-16
  test('every member is returned; roles and services are named by identifier or title', async () => {
    const members = {
      clientId: `back-office.${setup.realm}`,
      name: 'Back office',
      description: 'Signs clerks in.',
      type: 'CloudApiApplication',
      securityFlows: ['ClientCredentials', 'AuthorizationCode', 'Password'],
      redirectUris: ['https://shop.example/callback', 'http://localhost:3000/callback'],
      webOrigins: ['https://shop.example'],
      services: ['Retail API', 'Loyalty'],
      roles: ['Point-of-sale Terminal', 'MerchantReadOnly'],
      entityId: setup.merchant.merchantId,
      storeId: setup.merchant.storeId,
      callbackError: 'HttpCode',
      accessTokenSeconds: 900,
      accessTokenAlgorithm: 'RS256',
      accessTokenType: 'at+jwt',
      status: 'Disabled',
    };
    const { body } = await register(members);
    const expected = {
      ...members,
      services: ['RetailApi', 'Loyalty'],
      roles: ['PointOfSaleTerminal', 'MerchantReadOnly'],
    };
    for (const [member, value] of Object.entries(expected)) {
      assert.deepEqual(body[member], value, member);
    }
    assert.equal(await tokenStatus(body.clientId, body.clientSecret), 401, 'it is disabled');
    assertProblem(await call('POST', '', { body: members }), { code: 'already_exists' });
  });

  // Spec: ONB-18
  test('an application shows its last use, and a client may send that member back unchanged', async () => {
    const { body } = await register({ roles: ['MerchantReadOnly'] });
    const { clientId, clientSecret } = body;
    const used = async () => (await call('GET', `/${clientId}`)).body.lastUsedAt;
    assert.equal(await used(), undefined);
    const begun = Date.now();
    const token = await setup.client.token(setup.realm, clientId, clientSecret);
    const first = await used();
    assert.ok(Date.parse(first) >= begun, 'a token is a use');
    await eventually('the clock goes on', async () => Date.now() > Date.parse(first));
    assert.equal(await isGood(token), true);
    const second = await used();
    assert.ok(Date.parse(second) > Date.parse(first), 'so is what is done with it');
    const listed = await call('GET', `?name=Till 7&limit=200`);
    const items = listed.body.items as { clientId: string; lastUsedAt?: string }[];
    assert.equal(items.find((item) => item.clientId === clientId)?.lastUsedAt, second);
    const { body: current } = await call('GET', `/${clientId}`);
    const old = { ...current, lastUsedAt: first, description: 'Seen before.' };
    const replaced = await call('PUT', `/${clientId}`, { body: old });
    assert.equal(replaced.status, 200, replaced.text);
    assert.equal(replaced.body.lastUsedAt, second, 'nobody sets it');
    await call('DELETE', `/${clientId}`);
  });

  test('a public application has no secret, and a client cannot create one', async () => {
    const { body } = await register({ clientType: 'Public', securityFlows: ['Password'] });
    assert.equal(body.clientType, 'Public');
    assert.equal('clientSecret' in body || 'secretChangedAt' in body, false);
    const renewed = await call('POST', `/${body.clientId}/secret`);
    assertProblem(renewed, { code: 'resource_not_found' });
    const confidential = { name: 'x', clientType: 'Confidential' };
    const changed = await call('PUT', `/${body.clientId}`, { body: confidential });
    assertProblem(changed, { code: 'field_read_only', pointer: '/clientType' });
  });

  test('a replacement needs the current ETag, and omitted fields get their defaults', async () => {
    const { body } = await register({ description: 'First', roles: ['Merchant'] });
    const { clientSecret, ...read } = body;
    const path = `/${body.clientId}`;
    const first = { headers: { 'if-match': '"1"' } };
    const changed = await call('PUT', path, { body: { ...read, name: 'Till 8' }, ...first });
    assert.equal(changed.status, 200, changed.text);
    assert.deepEqual([changed.body.name, changed.body.description], ['Till 8', 'First']);
    assert.equal(changed.headers['etag'], '"2"');
    const stale = await call('PUT', path, { body: { name: 'Till 9' }, ...first });
    assertProblem(stale, { code: 'precondition_failed' });
    assertProblem(await call('DELETE', path, first), { code: 'precondition_failed' });
    const minimal = await call('PUT', path, { body: { name: 'Till 9' } });
    assert.deepEqual([minimal.body.description, minimal.body.roles], [undefined, []]);
    assert.equal(await tokenStatus(body.clientId, clientSecret), 200, 'the secret stays');
    for (const [member, value] of [
      ['clientId', 'another'],
      ['entityId', setup.merchant.merchantId],
      ['storeId', setup.merchant.storeId],
      ['userDomainId', 'another'],
      ['createdAt', '2020-01-01T00:00:00.000Z'],
    ]) {
      const answer = await call('PUT', path, { body: { name: 'x', [String(member)]: value } });
      assertProblem(answer, { code: 'field_read_only', pointer: `/${member}` });
    }
  });

  test('the next token has the changed permissions', async () => {
    const { body } = await register({ roles: ['MerchantReadOnly'] });
    const permissionsNow = async () => {
      const token = await setup.client.token(setup.realm, body.clientId, body.clientSecret);
      return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).permissions;
    };
    assert.deepEqual(await permissionsNow(), ['prov.read', 'pay.read', 'rep.read']);
    await call('PUT', `/${body.clientId}`, { body: { name: 'x', roles: ['ServiceProvider'] } });
    assert.ok((await permissionsNow()).includes('spi.events'));
  });

  // Spec: APP-4 ONB-24
  test('a rotated secret replaces the old one at once, and issued tokens stay valid', async () => {
    const { body } = await register({ roles: ['MerchantReadOnly'] });
    const { clientId, clientSecret } = body;
    const token = await setup.client.token(setup.realm, clientId, clientSecret);
    const renewed = await call('POST', `/${clientId}/secret`);
    assert.equal(renewed.status, 200, renewed.text);
    assert.deepEqual(Object.keys(renewed.body), ['clientId', 'clientSecret']);
    assert.equal(renewed.headers['cache-control'], 'no-store');
    assert.equal(await tokenStatus(clientId, clientSecret), 401);
    assert.equal(await tokenStatus(clientId, renewed.body.clientSecret), 200);
    assert.equal(await isGood(token), true);
    assert.equal((await call('GET', `/${clientId}`)).headers['etag'], '"2"');
  });

  // Spec: ONB-23
  test('a disabled or deleted application gets no token, and its issued tokens are invalid', async () => {
    const { body } = await register();
    const { clientId, clientSecret } = body;
    const token = await setup.client.token(setup.realm, clientId, clientSecret);
    await call('PUT', `/${clientId}`, { body: { name: 'x', status: 'Disabled' } });
    assert.equal(await isGood(token), false);
    assert.equal(await tokenStatus(clientId, clientSecret), 401);
    await call('PUT', `/${clientId}`, { body: { name: 'x' } });
    assert.equal(await isGood(token), true);
    assert.equal((await call('DELETE', `/${clientId}`)).status, 204);
    assert.equal(await isGood(token), false);
    assert.equal(await tokenStatus(clientId, clientSecret), 401);
    for (const [method, rest, options] of [
      ['GET', '', {}],
      ['PUT', '', { body: { name: 'x' } }],
      ['DELETE', '', {}],
      ['POST', '/secret', {}],
    ] as const) {
      const answer = await call(method, `/${clientId}${rest}`, options);
      assertProblem(answer, { code: 'resource_not_found' }, method);
    }
    const again = { name: 'Somebody else', clientId };
    assertProblem(await call('POST', '', { body: again }), { code: 'already_exists' });
    const [row] = await (await testDatabase()).query<{ secret_hash: Buffer | null }>(
      'SELECT secret_hash FROM applications WHERE organization_id = $1 AND client_id = $2',
      [setup.organizationId, clientId],
    );
    assert.equal(row?.secret_hash, null);
  });

  test('the list is paged, filtered, and stable while applications are added', async () => {
    const prefix = `Listed ${randomUUID()}`;
    const clients: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const { body } = await register({
        name: `${prefix} ${name}`,
        entityId: setup.merchant.merchantId,
      });
      clients.push(body.clientId);
    }
    const seenClientIds: string[] = [];
    const filter = `name=${encodeURIComponent(prefix.toUpperCase())}&entityId=${setup.merchant.merchantId}`;
    for (let cursor = ''; ; ) {
      const { status, body, text } = await call('GET', `?limit=2&${filter}${cursor}`);
      assert.equal(status, 200, text);
      seenClientIds.push(...body.items.map(({ clientId }: { clientId: string }) => clientId));
      assert.ok(body.items.every((item: object) => !('clientSecret' in item)));
      if (seenClientIds.length === 2)
        await register({ name: `${prefix} f`, clientId: `0-${randomUUID()}` });
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    assert.deepEqual(seenClientIds, clients);
    await register({ name: `${prefix} cloud`, type: 'CloudApiApplication' });
    const cloud = await call('GET', `?type=CloudApiApplication&name=${prefix}`);
    assert.equal(cloud.body.items.length, 1);
    const emptyPage = await call('GET', `?status=Disabled&name=${prefix}`);
    assert.deepEqual(emptyPage.body, { items: [], nextCursor: null });
    assertProblem(await call('GET', '?cursor=nonsense'), { code: 'cursor_invalid' });
    assertProblem(await call('GET', '?colour=red'), { code: 'field_unknown', pointer: '?colour' });
  });

  // Spec: APP-1
  test('all faults of a request are reported by member', async () => {
    const rows: [object, string, string][] = [
      [{ name: ' ' }, 'field_invalid', '/name'],
      [{ name: undefined }, 'field_required', '/name'],
      [{ clientId: 'a b' }, 'field_invalid', '/clientId'],
      [{ clientSecret: 'mine' }, 'field_unknown', '/clientSecret'],
      [{ securityFlows: [] }, 'field_invalid', '/securityFlows'],
      [{ securityFlows: ['Implicit'] }, 'field_invalid', '/securityFlows/0'],
      [{ roles: ['King'] }, 'field_invalid', '/roles/0'],
      [{ accessTokenSeconds: 59 }, 'field_invalid', '/accessTokenSeconds'],
      [{ accessTokenSeconds: 86_401 }, 'field_invalid', '/accessTokenSeconds'],
      [{ redirectUris: ['http://shop.example/cb'] }, 'field_invalid', '/redirectUris/0'],
      [{ webOrigins: ['https://shop.example/'] }, 'field_invalid', '/webOrigins/0'],
      [{ securityFlows: ['AuthorizationCode'] }, 'field_required', '/redirectUris'],
      [{ clientType: 'Public' }, 'field_invalid', '/securityFlows'],
    ];
    for (const [members, code, pointer] of rows) {
      const answer = await call('POST', '', { body: { name: 'Faulty', ...members } });
      assertProblem(answer, { code: code as 'field_invalid', pointer }, JSON.stringify(members));
    }
    const two = { name: 'x', redirectUris: ['x'], webOrigins: ['y'] };
    const { body } = await call('POST', '', { body: two });
    assert.equal(body.errors.length, 2);
  });

  // Spec: ONB-17
  test('the domain and the applications of another organisation are not found', async () => {
    const { body } = await register();
    const otherCaller = { token: other.acquirerToken };
    const path = `/${body.clientId}`;
    const rows: [string, string, RequestOptions, string][] = [
      ['GET', '', {}, setup.realm],
      ['GET', path, {}, setup.realm],
      ['GET', path, {}, other.realm],
      ['GET', '', {}, 'no-such-realm'],
      ['POST', '', { body: { name: 'x' } }, setup.realm],
      ['PUT', path, { body: { name: 'x' } }, other.realm],
      ['DELETE', path, {}, other.realm],
      ['POST', `${path}/secret`, {}, other.realm],
    ];
    for (const [method, rest, options, realm] of rows) {
      const answer = await call(method, rest, { ...options, ...otherCaller }, realm);
      assertProblem(answer, { code: 'resource_not_found' }, `${method} ${rest} ${realm}`);
    }
    const foreign = { name: 'x', entityId: other.merchant.merchantId };
    assertProblem(await call('POST', '', { body: foreign }), { code: 'merchant_not_found' });
    const elsewhere = {
      name: 'x',
      entityId: setup.merchant.merchantId,
      storeId: setup.otherMerchant.storeId,
    };
    assertProblem(await call('POST', '', { body: elsewhere }), {
      code: 'entity_mismatch',
      pointer: '/storeId',
    });
    assert.equal((await call('GET', path)).body.name, 'Till 7');
  });

  test('a merchant sees and creates only its own applications', async () => {
    const { merchantId } = setup.merchant;
    const merchantScope = { entityType: 'merchant', entityId: merchantId, merchantId } as const;
    const roles = ['AcquirerAdministrator'];
    const token = await setup.tokenFor({ name: 'office', ...merchantScope, roles });
    const { body: otherCaller } = await register({ entityId: setup.otherMerchant.merchantId });
    const { body: ownList } = await register({ roles: ['Merchant'] }, { token });
    assert.equal(ownList.entityId, merchantId);
    assertProblem(await call('GET', `/${otherCaller.clientId}`, { token }), {
      code: 'resource_not_found',
    });
    const { body: list } = await call('GET', '?limit=200', { token });
    assert.ok(list.items.length >= 2);
    for (const item of list.items) assert.equal(item.entityId, merchantId);
    const emptyPage = await call('GET', `?entityId=${setup.otherMerchant.merchantId}`, { token });
    assert.deepEqual(emptyPage.body.items, []);
    for (const entityId of [setup.organizationId, setup.otherMerchant.merchantId]) {
      const answer = await call('POST', '', { token, body: { name: 'x', entityId } });
      assertProblem(answer, { code: 'merchant_not_found' });
    }
  });

  // Spec: ONB-20
  test('a developer cannot grant management permissions and cannot edit applications that have them', async () => {
    const entityType = 'tenant';
    const { organizationId: entityId } = setup;
    const token = await signAccessToken(setup, {
      permissions: [...groupPermissions.org_dev],
      um_scope: { entityId, entityType },
      entityId,
    });
    const { body: till } = await register(
      { roles: ['PointOfSaleTerminal'], entityId: setup.merchant.merchantId },
      { token },
    );
    assert.equal(till.entityId, setup.merchant.merchantId);
    for (const role of ['Onboarding', 'AcquirerAdministrator', 'PlatformOperator']) {
      const answer = await call('POST', '', { token, body: { name: 'x', roles: [role] } });
      assertProblem(answer, { code: 'permission_denied' }, role);
    }
    const { body: strong } = await register({ roles: ['Onboarding'] });
    const path = `/${strong.clientId}`;
    for (const [method, rest, options] of [
      ['POST', '/secret', {}],
      ['PUT', '', { body: { name: 'x' } }],
      ['DELETE', '', {}],
    ] as const) {
      const answer = await call(method, path + rest, { token, ...options });
      assertProblem(answer, { code: 'permission_denied' }, method);
    }
    assert.equal((await call('GET', path, { token })).status, 200);
    const raised = { body: { name: 'x', roles: ['Onboarding'] }, token };
    assertProblem(await call('PUT', `/${till.clientId}`, raised), { code: 'permission_denied' });
    const operator = { body: { name: 'x', roles: ['PlatformOperator'] } };
    assertProblem(await call('POST', '', operator), { code: 'permission_denied' });
  });

  test('the application of the merchant’s devices cannot be created, changed or deleted by clients', async () => {
    const { organizationId } = setup;
    const { merchantId: entityId } = setup.merchant;
    const clientId = `device-${entityId}`;
    for (const rejectedBodies of [clientId, clientId.toUpperCase().replace('DEVICE', 'device')]) {
      const answer = await call('POST', '', {
        body: { name: 'x', clientId: rejectedBodies, entityId },
      });
      assertProblem(answer, { code: 'field_invalid' }, rejectedBodies);
    }
    await register({ clientId: 'device-of-a-shop' });
    await setup.platform.identity.createPublicApplication({
      organizationId,
      userDomainId: setup.realm,
      clientId,
      entityId,
      name: 'Devices',
      roles: ['Device'],
      entityType: 'merchant',
      securityFlows: ['ClientCredentials', 'Password'],
    });
    assertProblem(await call('DELETE', `/${clientId}`), { code: 'permission_denied' });
    assert.equal((await call('GET', `/${clientId}`)).status, 200);
  });

  test('read requests need app.read, changes need app.write', async () => {
    const till = { token: setup.merchant.token };
    assertProblem(await call('GET', '', till), { code: 'permission_denied' });
    const posted = await call('POST', '', { ...till, body: { name: 'x' } });
    assertProblem(posted, { code: 'permission_denied' });
    assertProblem(await call('GET', '', { token: 'x' }), { code: 'token_invalid' });
  });
});
