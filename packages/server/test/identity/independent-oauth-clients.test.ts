// Independent OpenID Connect client libraries against the whole platform over TLS.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { type Agent, globalAgent } from 'node:https';
import { after, before, describe, test } from 'node:test';
import Keycloak from 'keycloak-connect';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import type { NewApplication } from '../../src/identity/index.ts';
import {
  type Browser,
  createBrowser,
  fetchWithTransport,
  tlsTransport,
} from '../support/browser/cookie-browser.ts';
import {
  authorizationUrl,
  completeSignIn,
  redirectTarget,
  signIn,
} from '../support/browser/sign-in-without-pages.ts';
import { type TestPlatform, testPlatform } from '../support/test-platform.ts';
import { type KeycloakApp, openKeycloakApp } from './keycloak-connect-app.ts';

/** The libraries declare the part of `fetch` that they use. */
type Fetch = (address: string, options: object) => Promise<Response>;

const redirectUri = 'https://shop.example/callback';

describe('independent OAuth clients', () => {
  let testPlatformParts: TestPlatform;
  let agent: Agent;
  let fetchWithCa: typeof fetch;
  let openBrowser: () => Browser;
  let userId: string;
  let username: string;
  let shop: KeycloakApp;
  const organizationId = randomUUID();
  const userDomainId = `clients-${randomUUID()}`;

  before(async () => {
    testPlatformParts = await testPlatform();
    const over = tlsTransport(testPlatformParts.ca);
    agent = over.agent;
    fetchWithCa = fetchWithTransport(over.transport);
    openBrowser = () => createBrowser(testPlatformParts.settings.authUrl, over.transport);
    const { identity } = testPlatformParts.platform;
    await identity.createUserDomain({ userDomainId, organizationId });
    username = `ada-${randomUUID()}`;
    const user = await identity.accounts.create({
      organizationId,
      userDomainId,
      username,
      entityType: 'tenant',
      entityId: organizationId,
      email: 'ada@shop.example',
      emailVerified: true,
      givenName: 'Ada',
      groups: [`${organizationId}_org_admin`],
      secondFactor: 'Off',
      password: 'seven tills under one roof',
    });
    userId = user.userId;
    shop = await openKeycloakApp();
  });
  after(async () => {
    agent.destroy();
    await shop.close();
  });

  const issuer = () => new URL(`${testPlatformParts.settings.authUrl}/auth/realms/${userDomainId}`);
  const identity = () => testPlatformParts.platform.identity;
  const facts = (changes: Partial<NewApplication> = {}) => ({
    organizationId,
    userDomainId,
    name: 'Shop',
    entityType: 'tenant' as const,
    entityId: organizationId,
    roles: [],
    securityFlows: ['AuthorizationCode'] as const,
    redirectUris: [redirectUri],
    ...changes,
  });

  test('openid-client: sign-in with PKCE and nonce, userinfo, refresh, revocation, sign-out', async () => {
    const { clientId, clientSecret } = await identity().createApplication(facts());
    const configuration = await openid.discovery(issuer(), clientId, clientSecret, undefined, {
      [openid.customFetch]: fetchWithCa as openid.CustomFetch,
    });
    const verifier = openid.randomPKCECodeVerifier();
    const [nonce, state] = [openid.randomNonce(), openid.randomState()];
    const address = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid email profile',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      nonce,
      state,
      max_age: '600',
    });
    const browser = openBrowser();
    const callback = await signIn(identity(), browser, address.href, { userId });
    const tokens = await openid.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
      expectedNonce: nonce,
      expectedState: state,
      maxAge: 600,
      idTokenExpected: true,
    });
    assert.equal(tokens.claims()?.sub, userId);
    // The client counts down from 300.
    const livesFor = Number(tokens.expiresIn());
    assert.ok(livesFor > 240 && livesFor <= 300, String(livesFor));
    const info = await openid.fetchUserInfo(configuration, tokens.access_token, userId);
    assert.equal(info.email, 'ada@shop.example');
    const refreshed = await openid.refreshTokenGrant(configuration, String(tokens.refresh_token), {
      scope: 'openid',
    });
    assert.equal(refreshed.claims()?.sub, userId);
    await assert.rejects(
      openid.refreshTokenGrant(configuration, String(tokens.refresh_token)),
      (error) => error instanceof openid.ResponseBodyError && error.error === 'invalid_grant',
    );

    const again = openid.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: 'openid',
      state,
    });
    const silent = redirectTarget(await browser.visit(again));
    const second = await openid.authorizationCodeGrant(configuration, silent, {
      expectedState: state,
    });
    await openid.tokenRevocation(configuration, String(second.refresh_token));
    const dead = await openid.tokenIntrospection(configuration, second.access_token);
    assert.equal(dead.active, false);
    const leave = openid.buildEndSessionUrl(configuration, {
      id_token_hint: String(second.id_token),
      post_logout_redirect_uri: redirectUri,
      state,
    });
    const signOutRedirect = await browser.visit(leave);
    assert.equal(signOutRedirect.location?.href, `${redirectUri}?state=${state}`);
    const signInRedirect = await browser.visit(address);
    assert.match(String(signInRedirect.location?.pathname), /\/sign-in\//);
  });

  test('openid-client gets the error of a denial and of an invalid request', async () => {
    const { clientId, clientSecret } = await identity().createApplication(facts());
    const configuration = await openid.discovery(issuer(), clientId, clientSecret, undefined, {
      [openid.customFetch]: fetchWithCa as openid.CustomFetch,
    });
    const state = openid.randomState();
    const parameters = { redirect_uri: redirectUri, scope: 'openid', state };
    const silent = openid.buildAuthorizationUrl(configuration, { ...parameters, prompt: 'none' });
    const callback = redirectTarget(await openBrowser().visit(silent));
    await assert.rejects(
      openid.authorizationCodeGrant(configuration, callback, { expectedState: state }),
      (error) =>
        error instanceof openid.AuthorizationResponseError && error.error === 'login_required',
    );
  });

  test('oauth4webapi: a public client, step by step', async () => {
    const { clientId } = await identity().createPublicApplication({
      ...facts({ webOrigins: ['https://shop.example'] }),
    });
    const options = { [oauth.customFetch]: fetchWithCa as Fetch };
    const server = await oauth.processDiscoveryResponse(
      issuer(),
      await oauth.discoveryRequest(issuer(), options),
    );
    const client: oauth.Client = { client_id: clientId };
    const verifier = oauth.generateRandomCodeVerifier();
    const nonce = oauth.generateRandomNonce();
    const address = new URL(String(server.authorization_endpoint));
    address.search = String(
      new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid email',
        state: 'a-state',
        nonce,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }),
    );
    const callback = await signIn(identity(), openBrowser(), address.href, { userId });
    const params = oauth.validateAuthResponse(server, client, callback, 'a-state');
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      params,
      redirectUri,
      verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    assert.equal(oauth.getValidatedIdTokenClaims(tokens)?.sub, userId);
    await oauth.validateApplicationLevelSignature(server, response, options);
    const info = await oauth.processUserInfoResponse(
      server,
      client,
      userId,
      await oauth.userInfoRequest(server, client, tokens.access_token, options),
    );
    assert.equal(info.email, 'ada@shop.example');
    const refreshed = await oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(
        server,
        client,
        oauth.None(),
        String(tokens.refresh_token),
        options,
      ),
    );
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(
        server,
        client,
        oauth.None(),
        String(refreshed.refresh_token),
        options,
      ),
    );
    const refreshAfterSignOut = await oauth.refreshTokenGrantRequest(
      server,
      client,
      oauth.None(),
      String(refreshed.refresh_token),
      options,
    );
    await assert.rejects(
      oauth.processRefreshTokenResponse(server, client, refreshAfterSignOut),
      (error) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant',
    );
  });

  /**
   * The library uses the global agent of the process, which temporarily trusts the platform's
   * authority.
   */
  async function trusting(work: () => Promise<void>): Promise<void> {
    const { ca } = globalAgent.options;
    globalAgent.options.ca = testPlatformParts.ca;
    try {
      await work();
    } finally {
      globalAgent.destroy();
      if (ca === undefined) delete globalAgent.options.ca;
      else globalAgent.options.ca = ca;
    }
  }

  const visitShop = (path: string) =>
    new Promise<{ status: number; location: string; text: string }>((resolve, reject) => {
      const sent = request(new URL(path, shop.address), (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, location: headers.location ?? '', text });
        });
      });
      sent.on('error', reject).end();
    });

  function keycloakOf(clientId: string, secret: string): Keycloak.Keycloak {
    const grants = new Map<string, unknown>();
    const store = {
      get: (id: string, done: (error: null, payload: unknown) => void) =>
        done(null, grants.get(id)),
      set: (id: string, value: unknown) => void grants.set(id, value),
    };
    const made = new Keycloak({ store, scope: 'profile email' }, {
      realm: userDomainId,
      'auth-server-url': `${testPlatformParts.settings.authUrl}/auth`,
      'ssl-required': 'external',
      resource: clientId,
      credentials: { secret },
      'confidential-port': 0,
    } as unknown as Keycloak.KeycloakConfig);
    made.redirectToLogin = () => true;
    return made;
  }

  test('keycloak-connect: a protected page, its tokens checked, refreshed, and signed out', () =>
    trusting(async () => {
      const { clientId, clientSecret } = await identity().createApplication(
        facts({
          redirectUris: [`${shop.address}/private?auth_callback=1`],
          webOrigins: [shop.address],
          securityFlows: ['AuthorizationCode', 'Password', 'ClientCredentials'],
        }),
      );
      const keycloak = keycloakOf(clientId, clientSecret);
      shop.protectWith(keycloak);
      const sent = await visitShop('/private');
      assert.equal(sent.status, 302);
      const browser = openBrowser();
      const signInRedirect = await browser.visit(sent.location);
      const page = signInRedirect.location as URL;
      const returnTo = await completeSignIn(identity(), browser, page, { userId });
      const { location } = await browser.visit(String(returnTo));
      const entered = await visitShop(String(location?.pathname) + String(location?.search));
      assert.equal(entered.status, 302, entered.text);
      const seen = await visitShop('/private');
      assert.equal(seen.text, 'hello');
      const [greeted] = shop.greeted.slice(-1);
      assert.equal(greeted?.['preferred_username'], username);

      const signOutRedirect = await visitShop('/logout');
      const refreshAfterSignOut = await browser.visit(signOutRedirect.location);
      assert.equal(refreshAfterSignOut.location?.href, `${shop.address}/`);
      const secondSignIn = await browser.visit((await visitShop('/private')).location);
      assert.match(String(secondSignIn.location?.pathname), /\/sign-in\//);

      const manager = keycloak.grantManager;
      const direct = await manager.obtainDirectly(username, 'seven tills under one roof');
      const heldToken = direct.access_token as unknown as {
        token: string;
        content: { exp: number };
      };
      const { token: first } = heldToken;
      heldToken.content.exp = 0;
      const fresh = await manager.ensureFreshness(direct);
      assert.notEqual((fresh.access_token as unknown as { token: string }).token, first);
      const info = await manager.userInfo<string, { sub: string }>(
        (direct.access_token as unknown as { token: string }).token,
      );
      assert.equal(info.sub, userId);
      // The library supports only RS256, so user tokens are signed with RS256.
      await assert.rejects(manager.obtainFromClientCredentials(), /public key signature/);
    }));

  test('the log contains no secret, code or token, also not from a URL', async () => {
    const { clientId, clientSecret } = await identity().createApplication(facts());
    const path = `/oauth2/v1/${userDomainId}/auth`;
    const parameters = { client_id: clientId, redirect_uri: redirectUri };
    const wrong = `wrong-${randomUUID()}`;
    const link = authorizationUrl(path, { ...parameters, client_secret: clientSecret });
    const refused = authorizationUrl(path, { ...parameters, client_secret: wrong });
    assert.equal((await openBrowser().visit(refused)).status, 401);
    const browser = openBrowser();
    const callback = await signIn(identity(), browser, link, { userId });
    const code = String(callback.searchParams.get('code'));
    const form = {
      grant_type: 'authorization_code',
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uri: redirectUri,
    };
    const answers = [];
    for (const changes of [`${code}x`, code, code]) {
      const page = await browser.visit(`/oauth2/v1/${userDomainId}/token`, {
        form: { ...form, code: changes },
      });
      answers.push(page);
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [400, 200, 400],
    );
    const tokens = answers[1]?.json() ?? {};
    const secrets = [clientSecret, wrong, code, ...browser.cookies.map(({ value }) => value)];
    secrets.push(String(tokens['access_token']), String(tokens['refresh_token']));
    const log = testPlatformParts.logLines.join('');
    assert.ok(log.includes(clientId), 'it does tell who was refused');
    for (const secret of secrets) {
      if (secret !== '') assert.equal(log.includes(secret), false, secret);
    }
  });
});
