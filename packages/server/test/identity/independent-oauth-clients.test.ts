// Independent OpenID Connect client libraries against the whole platform over TLS.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Agent } from 'node:https';
import { after, before, describe, test } from 'node:test';
import { createRemoteJWKSet, customFetch, decodeJwt, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import type { NewApplication } from '../../src/identity/index.ts';
import { systemClock } from '../../src/platform/index.ts';
import {
  type Browser,
  createBrowser,
  fetchWithTransport,
  tlsTransport,
} from '../support/browser/cookie-browser.ts';
import {
  authorizationUrl,
  redirectTarget,
  signIn,
} from '../support/browser/sign-in-without-pages.ts';
import { type TestPlatform, testPlatform } from '../support/test-platform.ts';

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
  });
  after(async () => {
    agent.destroy();
  });

  const issuer = () => new URL(`${testPlatformParts.settings.authUrl}/auth/realms/${userDomainId}`);
  const identity = () => testPlatformParts.platform.identity;
  const discover = async (): Promise<oauth.AuthorizationServer> => {
    const options = { [oauth.customFetch]: fetchWithCa as Fetch };
    const response = await oauth.discoveryRequest(issuer(), options);
    return oauth.processDiscoveryResponse(issuer(), response);
  };
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

  // Spec: FLOW-1
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
    const server = await discover();
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

  // Spec: IDENT-6
  test('oauth4webapi: requests as from a Keycloak adapter, with access tokens that it verifies', async () => {
    const callbackUri = 'https://shop.example/private?auth_callback=1';
    const { clientId, clientSecret } = await identity().createApplication(
      facts({
        redirectUris: [callbackUri],
        webOrigins: ['https://shop.example'],
        securityFlows: ['AuthorizationCode', 'Password', 'ClientCredentials'],
      }),
    );
    const options = { [oauth.customFetch]: fetchWithCa as Fetch };
    const server = await discover();
    const client: oauth.Client = { client_id: clientId };
    const authentication = oauth.ClientSecretBasic(clientSecret);
    const path = `${issuer().pathname}/protocol/openid-connect`;
    const keys = createRemoteJWKSet(new URL(`${issuer().origin}${path}/certs`), {
      [customFetch]: fetchWithCa,
    });
    // A Keycloak adapter supports only RS256, so user tokens are signed with RS256.
    const verify = (token: string) =>
      jwtVerify(token, keys, { issuer: issuer().href, algorithms: ['RS256'] });

    const link = authorizationUrl(`${path}/auth`, {
      client_id: clientId,
      redirect_uri: callbackUri,
      scope: 'openid profile email',
    });
    const browser = openBrowser();
    const callback = await signIn(identity(), browser, link, { userId });
    assert.equal(callback.searchParams.get('auth_callback'), '1');
    const tokens = await oauth.processAuthorizationCodeResponse(
      server,
      client,
      await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        oauth.validateAuthResponse(server, client, callback, 'a-state'),
        callbackUri,
        oauth.nopkce,
        options,
      ),
    );
    const { payload } = await verify(tokens.access_token);
    assert.equal(payload['typ'], 'Bearer');
    assert.equal(payload['preferred_username'], username);
    const idToken = String(tokens.id_token);
    const { payload: idClaims } = await verify(idToken);
    assert.deepEqual([idClaims['typ'], idClaims.aud], ['ID', clientId]);

    const signOut = new URLSearchParams({
      id_token_hint: idToken,
      post_logout_redirect_uri: 'https://shop.example/',
    });
    const signedOut = await browser.visit(`${path}/logout?${signOut}`);
    assert.equal(signedOut.location?.href, 'https://shop.example/');
    const secondSignIn = await browser.visit(link);
    assert.match(String(secondSignIn.location?.pathname), /\/sign-in\//);

    const direct = await oauth.processGenericTokenEndpointResponse(
      server,
      client,
      await oauth.genericTokenEndpointRequest(
        server,
        client,
        authentication,
        'password',
        { username, password: 'seven tills under one roof', scope: 'openid' },
        options,
      ),
    );
    // An adapter reads the expiry of the refresh token before it uses the token.
    const refreshToken = String(direct.refresh_token);
    assert.ok(Number(decodeJwt(refreshToken).exp) * 1000 > systemClock.now());
    const fresh = await oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(server, client, authentication, refreshToken, options),
    );
    assert.notEqual(fresh.access_token, direct.access_token);
    await verify(fresh.access_token);
    const info = await oauth.processUserInfoResponse(
      server,
      client,
      userId,
      await oauth.userInfoRequest(server, client, fresh.access_token, options),
    );
    assert.equal(info.sub, userId);
    const machine = await oauth.processClientCredentialsResponse(
      server,
      client,
      await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, options),
    );
    await assert.rejects(verify(machine.access_token), { code: 'ERR_JOSE_ALG_NOT_ALLOWED' });
  });

  // Spec: IDENT-29
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
