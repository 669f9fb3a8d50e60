import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { bearerHeaders } from '../../../../test/support/bearer-headers.ts';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
} from '../../../../test/support/browser/oauth-test-realm.ts';

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
