// Tests introspection, revocation and userinfo: which caller gets which facts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { bearerHeaders } from '../../../../test/support/bearer-headers.ts';
import {
  type ClientCredentials,
  type OAuthTestRealm,
  openOAuthTestRealm,
} from '../../../../test/support/browser/oauth-test-realm.ts';

describe('token introspection', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm({
      securityFlows: ['AuthorizationCode', 'ClientCredentials'],
    });
  });
  after(() => flow.close());

  const dead = { active: false };

  test('by their own client, the refresh token too', async () => {
    const { user, client, realm } = flow;
    const tokens = await flow.requestTokens();
    const access = await flow.introspect(tokens.access_token);
    assert.equal(access['active'], true);
    assert.equal(access['sub'], user.userId);
    assert.equal(access['client_id'], client.clientId);
    assert.equal(access['username'], user.username);
    assert.equal(access['token_type'], 'Bearer');
    assert.equal(access['scope'], tokens.scope);
    const refresh = await flow.introspect(tokens.refresh_token);
    assert.equal(refresh['active'], true);
    assert.equal(refresh['typ'], 'Refresh');
    assert.equal(refresh['sid'], tokens.session_state);
    assert.deepEqual(await flow.introspect(tokens.id_token), dead, 'no token for an endpoint');
    const used = await flow.refresh(tokens.refresh_token);
    assert.deepEqual(await flow.introspect(tokens.refresh_token), dead, 'used up');
    assert.equal((await flow.introspect(String(used.body['refresh_token'])))['active'], true);
    await realm.identity.accounts.setStatus(realm.organizationId, user.userId, 'Disabled');
    assert.deepEqual(await flow.introspect(tokens.access_token), dead);
    await realm.identity.accounts.setStatus(realm.organizationId, user.userId, 'Enabled');
    flow.clock.advance(2000);
  });

  // Spec: IDENT-7
  test('by applications with app.read for the organisation, and by no other', async () => {
    const tokens = await flow.requestTokens();
    const asClient = (facts: object): Promise<ClientCredentials> =>
      flow.realm.createApplication({ securityFlows: ['ClientCredentials'], ...facts });
    const administrator = await asClient({ roles: ['AcquirerAdministrator'] });
    const till = await asClient({});
    const merchantId = randomUUID();
    const merchants = await asClient({
      roles: ['AcquirerAdministrator'],
      entityType: 'merchant',
      entityId: merchantId,
    });
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      assert.equal((await flow.introspect(token, administrator))['active'], true);
      assert.deepEqual(await flow.introspect(token, till), dead);
      assert.deepEqual(await flow.introspect(token, merchants), dead);
    }
  });

  test('not by unauthenticated clients, and malformed tokens are inactive', async () => {
    const { realm, base, client } = flow;
    const tokens = await flow.requestTokens();
    const path = `${base}/token/introspect`;
    const form = { token: tokens.access_token, client_id: client.clientId };
    const { status, headers, body } = await realm.post(path, { ...form, client_secret: 'wrong' });
    assert.deepEqual([status, body['error']], [401, 'invalid_client']);
    assert.equal(headers['www-authenticate'], undefined);
    const authorization = `Basic ${Buffer.from(`${client.clientId}:wrong`).toString('base64')}`;
    const byHeader = await realm.post(path, { token: tokens.access_token }, { authorization });
    assert.equal(byHeader.status, 401);
    assert.match(String(byHeader.headers['www-authenticate']), /^Basic /);
    assert.equal((await realm.post(path, form)).status, 401);
    for (const token of ['nonsense', 'a.b.c', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.', 'é', 'x.y']) {
      assert.deepEqual(await flow.introspect(token), dead, token);
    }
    const missing = await realm.post(path, {
      client_id: client.clientId,
      client_secret: client.clientSecret,
    });
    assert.deepEqual([missing.status, missing.body['error']], [400, 'invalid_request']);
  });
});

describe('token revocation', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const revoke = (token: string, otherCredentials: Record<string, string> = {}) =>
    flow.realm.post(`${flow.base}/revoke`, {
      client_id: flow.client.clientId,
      client_secret: flow.client.clientSecret,
      token,
      ...otherCredentials,
    });
  const isGood = (token: string) =>
    flow.realm.identity.verifyToken(token).then(
      () => true,
      () => false,
    );

  test('an access token alone, or with its refresh token the whole family', async () => {
    const tokens = await flow.requestTokens();
    assert.equal((await revoke(tokens.access_token)).status, 200);
    assert.equal(await isGood(tokens.access_token), false);
    const next = await flow.refresh(tokens.refresh_token);
    assert.equal(next.status, 200, 'the sign-in lives on');
    assert.equal(await isGood(String(next.body['access_token'])), true);
    // An older refresh token names the family too.
    assert.equal((await revoke(tokens.refresh_token)).status, 200);
    assert.equal(await isGood(String(next.body['access_token'])), false);
    const over = await flow.refresh(String(next.body['refresh_token']));
    assert.equal(over.body['error'], 'invalid_grant');
    assert.equal((await revoke(tokens.refresh_token)).status, 200, 'again is fine');
    assert.equal((await revoke('nonsense')).status, 200);
  });

  test('by their own client alone', async () => {
    const tokens = await flow.requestTokens();
    const other = await flow.createClient();
    const otherCredentials = { client_id: other.clientId, client_secret: other.clientSecret };
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const { status, body } = await revoke(token, otherCredentials);
      assert.deepEqual([status, body['error']], [400, 'unauthorized_client']);
    }
    assert.equal(await isGood(tokens.access_token), true);
    assert.equal((await flow.refresh(tokens.refresh_token)).status, 200);
    const wrong = await revoke(tokens.access_token, { client_secret: 'wrong' });
    assert.deepEqual([wrong.status, wrong.body['error']], [401, 'invalid_client']);
  });
});

describe('userinfo', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm({
      securityFlows: ['AuthorizationCode', 'ClientCredentials'],
    });
  });
  after(() => flow.close());

  const url = () => `${flow.base}/userinfo`;
  const userInfo = (token?: string, options: { method?: 'GET' | 'POST'; payload?: string } = {}) =>
    flow.realm.app.inject({
      method: 'GET',
      url: url(),
      headers: bearerHeaders(token),
      ...options,
    });

  // Spec: IDENT-4
  test('returns the claims of the scope, by GET and by POST', async () => {
    const { user } = flow;
    const { access_token: token } = await flow.requestTokens({ scope: 'openid email phone' });
    const expected = {
      sub: user.userId,
      email: 'ada@shop.example',
      email_verified: true,
      phone_number: '+4930123456',
      phone_number_verified: false,
    };
    const byGet = await userInfo(token);
    assert.deepEqual(byGet.json(), expected);
    assert.equal(byGet.headers['cache-control'], 'no-store');
    assert.deepEqual((await userInfo(token, { method: 'POST' })).json(), expected);
    const inForm = await flow.realm.post(url(), { access_token: token });
    assert.deepEqual(inForm.body, expected);
  });

  test('describes a token error as RFC 6750 requires', async () => {
    const tokens = await flow.requestTokens();
    const response = await userInfo();
    assert.equal(response.statusCode, 401);
    assert.equal(response.headers['www-authenticate'], `Bearer realm="${issuer()}"`);
    for (const wrong of ['nonsense', tokens.refresh_token, tokens.id_token]) {
      const { statusCode, headers } = await userInfo(wrong);
      assert.equal(statusCode, 401);
      assert.match(String(headers['www-authenticate']), /^Bearer .*error="invalid_token"/);
    }
    const twice = await flow.realm.post(
      url(),
      { access_token: tokens.access_token },
      { authorization: `Bearer ${tokens.access_token}` },
    );
    assert.deepEqual([twice.status, twice.body['error']], [400, 'invalid_request']);
    const inAddress = await flow.realm.app.inject(`${url()}?access_token=${tokens.access_token}`);
    assert.equal(inAddress.statusCode, 401);
    const basic = await flow.realm.app.inject({
      url: url(),
      headers: { authorization: 'Basic eDp5' },
    });
    assert.equal(basic.statusCode, 401);
    const { access_token: narrow } = await flow.requestTokens({ scope: 'email' });
    const machine = await flow.realm.getToken(flow.client);
    for (const token of [narrow, machine]) {
      const { statusCode, headers } = await userInfo(token);
      assert.equal(statusCode, 403);
      assert.match(
        String(headers['www-authenticate']),
        /error="insufficient_scope".*scope="openid"/,
      );
    }
    flow.clock.advance(301_000);
    assert.equal((await userInfo(tokens.access_token)).statusCode, 401);
  });

  test('refuses a token of another realm', async () => {
    const { access_token: token } = await flow.requestTokens();
    const { identity, userDomainId, app } = flow.realm;
    const other = `realm-${randomUUID()}`;
    await identity.createUserDomain({ userDomainId: other, organizationId: randomUUID() });
    const headers = { authorization: `Bearer ${token}` };
    const { statusCode } = await app.inject({ url: url().replace(userDomainId, other), headers });
    assert.equal(statusCode, 401);
    const nowhere = url().replace(userDomainId, 'no-such-realm');
    assert.equal((await app.inject({ url: nowhere, headers })).statusCode, 404);
  });

  const issuer = () => `https://localhost:8443/auth/realms/${flow.realm.userDomainId}`;
});
