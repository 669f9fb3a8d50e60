// The authorization code flow from the application's link to its tokens, at both spellings.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { createBrowser, overInjection } from '../../test/browser.ts';
import { testDatabase } from '../../test/database.ts';
import { authUrl, movableClock, openTestRealm, type TestRealm } from '../../test/identity.ts';
import { authorizationAddress, denyPage, pkce, signIn } from '../../test/sign-in.ts';
import type { User } from './accounts/index.ts';

const redirectUri = 'https://shop.example/callback';

describe('the authorization code flow', () => {
  const clock = movableClock();
  let realm: TestRealm;
  let user: User;
  let client: { clientId: string; clientSecret: string };

  before(async () => {
    realm = await openTestRealm({ database: await testDatabase(), clock });
    const { organizationId, userDomainId } = realm;
    user = await realm.identity.accounts.create({
      organizationId,
      userDomainId,
      username: `ada-${randomUUID()}`,
      entityType: 'tenant',
      entityId: organizationId,
      email: 'ada@shop.example',
      emailVerified: true,
      givenName: 'Ada',
      groups: [`${organizationId}_org_admin`],
      secondFactor: 'Off',
    });
    client = await realm.createApplication({
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
    });
  });
  after(() => realm.close());

  const openBrowser = () => createBrowser(authUrl, overInjection(realm.app));
  const paths = () => [
    `/oauth2/v1/${realm.userDomainId}/auth`,
    `/auth/realms/${realm.userDomainId}/protocol/openid-connect/auth`,
  ];

  test('a browser comes back with a code that becomes tokens, at both paths', async () => {
    for (const path of paths()) {
      const address = authorizationAddress(path, {
        client_id: client.clientId,
        redirect_uri: redirectUri,
        nonce: 'once',
      });
      const callback = await signIn(realm.identity, openBrowser(), address, {
        userId: user.userId,
        methods: ['pwd', 'otp'],
      });
      assert.equal(callback.origin + callback.pathname, redirectUri);
      assert.equal(callback.searchParams.get('state'), 'a-state');
      assert.equal(callback.searchParams.get('error'), null, callback.href);
      const { status, body } = await realm.post(realm.tokenPath, {
        grant_type: 'authorization_code',
        client_id: client.clientId,
        client_secret: client.clientSecret,
        code: String(callback.searchParams.get('code')),
        redirect_uri: redirectUri,
      });
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body['scope'], 'openid profile email');
      assert.equal(body['expires_in'], 300);
      assert.equal(body['refresh_expires_in'], 900);
      const access = decodeJwt(String(body['access_token']));
      assert.equal(access.sub, user.userId);
      assert.equal(access['sid'], body['session_state']);
      assert.equal(decodeProtectedHeader(String(body['access_token'])).alg, 'RS256');
      const about = decodeJwt(String(body['id_token']));
      assert.equal(about['nonce'], 'once');
      assert.equal(about['given_name'], 'Ada');
      assert.equal(decodeJwt(String(body['refresh_token']))['typ'], 'Refresh');
      const caller = await realm.identity.verifyToken(String(body['access_token']));
      assert.equal(caller.subject, user.userId);
    }
  });

  test('who is signed in already comes back without a page', async () => {
    const browser = openBrowser();
    const [path = ''] = paths();
    const address = authorizationAddress(path, {
      client_id: client.clientId,
      redirect_uri: redirectUri,
    });
    await signIn(realm.identity, browser, address, { userId: user.userId });
    const again = await browser.visit(address);
    assert.ok(again.location?.searchParams.get('code'), again.text);
  });

  test('a denial goes back with the word, its code and the state', async () => {
    const browser = openBrowser();
    const [path = ''] = paths();
    const asked = await browser.visit(
      authorizationAddress(path, {
        client_id: client.clientId,
        redirect_uri: redirectUri,
        ...pkce(),
      }),
    );
    const returnTo = await denyPage(realm.identity, browser, asked.location as URL);
    const { searchParams } = (await browser.visit(String(returnTo))).location as URL;
    assert.equal(searchParams.get('error'), 'access_denied');
    assert.equal(searchParams.get('error_code'), '403');
    assert.equal(searchParams.get('state'), 'a-state');
  });
});
