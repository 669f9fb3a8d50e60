// Tests the authorization code flow from the link of the application to its tokens, at both paths.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
  redirectUri,
  type TokenResponse,
} from '../../../test/support/browser/oauth-test-realm.ts';
import {
  authorizationUrl,
  completeSignIn,
  createPkce,
  denySignIn,
  signIn,
} from '../../../test/support/browser/sign-in-without-pages.ts';

describe('the authorization code flow', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const proof = () => ({ userId: flow.user.userId });
  const paths = () => [`/oauth2/v1/${flow.realm.userDomainId}/auth`, `${flow.base}/auth`];

  // Spec: OAUTH-2 SIM-1 AUTHZ-4 AUTHZ-5 AUTHZ-7
  test('a browser returns with a code that is redeemed for tokens, at both paths', async () => {
    const { realm, client, user } = flow;
    for (const path of paths()) {
      const address = authorizationUrl(path, {
        client_id: client.clientId,
        redirect_uri: redirectUri,
        nonce: 'once',
      });
      const callback = await signIn(realm.identity, flow.openBrowser(), address, proof());
      assert.equal(callback.origin + callback.pathname, redirectUri);
      assert.equal(callback.searchParams.get('state'), 'a-state');
      assert.equal(callback.searchParams.get('error'), null, callback.href);
      const { status, body, headers } = await flow.redeemCode(
        String(callback.searchParams.get('code')),
      );
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(headers['cache-control'], 'no-store');
      const tokens = body as TokenResponse;
      assert.equal(tokens.scope, 'openid profile email');
      assert.equal(tokens['expires_in'], 300);
      assert.equal(tokens['refresh_expires_in'], 900);
      assert.equal(tokens['token_type'], 'Bearer');
      assert.equal(tokens['not-before-policy'], 0);
      assert.match(tokens.session_state, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
      const access = decodeJwt(tokens.access_token);
      assert.equal(access.sub, user.userId);
      assert.equal(access['sid'], tokens.session_state);
      assert.equal(decodeProtectedHeader(tokens.access_token).alg, 'RS256');
      const about = decodeJwt(tokens.id_token);
      assert.equal(about['nonce'], 'once');
      assert.equal(about['given_name'], 'Ada');
      assert.equal(decodeJwt(tokens.refresh_token)['typ'], 'Refresh');
      const caller = await realm.identity.verifyToken(tokens.access_token);
      assert.equal(caller.subject, user.userId);
    }
  });

  // Spec: OAUTH-1 IDENT-8
  test('the client can send the request by POST, with parameters in the URL, in a form, or in both', async () => {
    const { client, realm } = flow;
    const params = { client_id: client.clientId, response_type: 'code', redirect_uri: redirectUri };
    for (const path of paths()) {
      for (const [address, form] of [
        [`${path}?${new URLSearchParams(params)}`, {}],
        [path, params],
        [`${path}?${new URLSearchParams(params)}`, { state: 'in the form' }],
      ] as const) {
        const browser = flow.openBrowser();
        const response = await browser.visit(address, { form, isCrossSite: true });
        assert.equal(response.status, 303, response.text);
        const page = response.location as URL;
        const returnTo = await completeSignIn(realm.identity, browser, page, proof());
        const { location } = await browser.visit(String(returnTo));
        assert.ok(location?.searchParams.get('code'), location?.href);
        const state = 'state' in form ? 'in the form' : null;
        assert.equal(location?.searchParams.get('state'), state);
      }
    }
  });

  // Spec: AUTHZ-2 IDENT-29
  test('a secret may be in the URL, only here, and is checked', async () => {
    const { client } = flow;
    const right = await flow
      .openBrowser()
      .visit(flow.authorizationUrl({ client_secret: client.clientSecret }));
    assert.match(String(right.location?.pathname), /\/sign-in\//);
    for (const wrong of ['x'.repeat(43), client.clientSecret.slice(1)]) {
      const { status, location, headers } = await flow
        .openBrowser()
        .visit(flow.authorizationUrl({ client_secret: wrong }));
      assert.deepEqual([status, location], [401, undefined]);
      assert.match(String(headers['content-type']), /text\/html/);
    }
    const twice = `${flow.authorizationUrl({ client_secret: client.clientSecret })}&client_secret=other`;
    assert.equal((await flow.openBrowser().visit(twice)).status, 401);
  });

  // Spec: IDENT-9
  test('a public client needs PKCE, and S256 is checked for all clients', async () => {
    const { realm, user } = flow;
    const { organizationId, userDomainId } = realm;
    const { clientId } = await realm.identity.createPublicApplication({
      organizationId,
      userDomainId,
      name: 'A page',
      entityType: 'tenant',
      entityId: organizationId,
      roles: [],
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
    });
    const { verifier, ...challenge } = createPkce();
    const newCode = async (): Promise<string> => {
      const link = flow.authorizationUrl({ client_id: clientId, ...challenge });
      const callback = await signIn(realm.identity, flow.openBrowser(), link, {
        userId: user.userId,
      });
      return String(callback.searchParams.get('code'));
    };
    const form = { grant_type: 'authorization_code', redirect_uri: redirectUri };
    const redeem = (code: string, codeVerifier?: string) =>
      realm.post(realm.tokenPath, {
        ...form,
        code,
        client_id: clientId,
        ...defined({ code_verifier: codeVerifier }),
      });
    for (const wrong of [undefined, 'short', createPkce().verifier]) {
      const code = await newCode();
      for (const codeVerifier of [wrong, verifier]) {
        const { status, body } = await redeem(code, codeVerifier);
        assert.deepEqual([status, body['error']], [400, 'invalid_grant'], wrong);
      }
    }
    const { status, body } = await redeem(await newCode(), verifier);
    assert.equal(status, 200, JSON.stringify(body));

    const confidential = createPkce();
    const boundCode = () =>
      flow.requestCode({
        code_challenge: confidential.code_challenge,
        code_challenge_method: 'S256',
      });
    assert.equal((await flow.redeemCode(await boundCode())).body['error'], 'invalid_grant');
    const bound = await boundCode();
    assert.equal(
      (await flow.redeemCode(bound, { code_verifier: confidential.verifier })).status,
      200,
    );
    const unbound = await flow.requestCode();
    const extra = await flow.redeemCode(unbound, { code_verifier: confidential.verifier });
    assert.equal(extra.body['error'], 'invalid_grant', 'a verifier that protects nothing');
  });

  test('a signed-in browser returns without a page, and with prompt=login after one', async () => {
    const browser = flow.openBrowser();
    const first = await flow.requestTokens({}, browser);
    const again = await browser.visit(flow.authorizationUrl());
    const code = again.location?.searchParams.get('code');
    const { body } = await flow.redeemCode(String(code));
    assert.notEqual(body['session_state'], first.session_state, 'a family of its own');
    assert.equal(
      decodeJwt(String(body['id_token']))['auth_time'],
      decodeJwt(first.id_token)['auth_time'],
    );
    const silent = await browser.visit(flow.authorizationUrl({ prompt: 'none' }));
    assert.ok(silent.location?.searchParams.get('code'));
    const response = await browser.visit(flow.authorizationUrl({ prompt: 'login' }));
    assert.match(String(response.location?.pathname), /\/sign-in\//);
    const old = await browser.visit(flow.authorizationUrl({ max_age: '0' }));
    assert.match(String(old.location?.pathname), /\/sign-in\//);
  });

  test('prompt=none without a session answers login_required', async () => {
    const { location } = await flow.openBrowser().visit(flow.authorizationUrl({ prompt: 'none' }));
    assert.equal(location?.searchParams.get('error'), 'login_required');
    assert.equal(location?.searchParams.get('error_code'), '401');
    const fragment = await flow
      .openBrowser()
      .visit(flow.authorizationUrl({ prompt: 'none', response_mode: 'fragment' }));
    const callbackParams = new URLSearchParams(fragment.location?.hash.slice(1));
    assert.deepEqual(
      [callbackParams.get('error'), callbackParams.get('error_code'), callbackParams.get('state')],
      ['login_required', '401', 'a-state'],
    );
    assert.equal(fragment.location?.search, '');
  });

  // Spec: OAUTH-2 AUTHZ-8 ERR-2 IDENT-11
  test('a denial redirects with error, error_code and state', async () => {
    for (const [callbackError, word] of [
      ['Rfc6749', 'access_denied'],
      ['HttpCode', '403'],
    ] as const) {
      const client = await flow.createClient({ callbackError });
      const browser = flow.openBrowser();
      const response = await browser.visit(flow.authorizationUrl({ client_id: client.clientId }));
      const returnTo = await denySignIn(flow.realm.identity, browser, response.location as URL);
      const { location } = await browser.visit(String(returnTo));
      assert.equal(String(location).startsWith(`${redirectUri}?`), true);
      const callbackParams = Object.fromEntries(location?.searchParams ?? []);
      assert.equal(callbackParams['error'], word);
      assert.equal(callbackParams['error_code'], '403');
      assert.equal(callbackParams['state'], 'a-state');
      assert.equal(callbackParams['code'], undefined);
    }
  });

  test('sessions end after 15 minutes idle, and codes after a minute', async () => {
    const browser = flow.openBrowser();
    await flow.requestCode({}, browser);
    flow.clock.advance(14 * 60_000);
    const within = await browser.visit(flow.authorizationUrl());
    assert.ok(within.location?.searchParams.get('code'), 'the visit keeps it alive');
    flow.clock.advance(14 * 60_000);
    assert.ok((await browser.visit(flow.authorizationUrl())).location?.searchParams.get('code'));
    flow.clock.advance(15 * 60_000 + 1000);
    const late = await browser.visit(flow.authorizationUrl());
    assert.match(String(late.location?.pathname), /\/sign-in\//);

    const code = await flow.requestCode();
    flow.clock.advance(60_001);
    assert.equal((await flow.redeemCode(code)).body['error'], 'invalid_grant');
  });

  test('a session ends after 8 hours, even in use', async () => {
    const browser = flow.openBrowser();
    await flow.requestCode({}, browser);
    for (let minutes = 0; minutes < 8 * 60 - 10; minutes += 10) {
      flow.clock.advance(10 * 60_000);
      assert.ok((await browser.visit(flow.authorizationUrl())).location?.searchParams.get('code'));
    }
    flow.clock.advance(10 * 60_000);
    const late = await browser.visit(flow.authorizationUrl());
    assert.match(String(late.location?.pathname), /\/sign-in\//);
  });
});
