import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
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
