// Whole run: a platform in production mode, as a process of its own.
// Independent client libraries against production over TLS: sign-in by the real pages, and tokens of applications.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { follow } from '../../packages/server/test/portal/portal-client.ts';
import {
  fetchWithTransport,
  tlsTransport,
} from '../../packages/server/test/support/browser/cookie-browser.ts';
import { createPlatforms, type Production, type User } from '../attack/platforms.ts';
import { openSignInBrowser } from '../attack/sign-in-browser.ts';

/** The libraries spell out the part of `fetch` that they use. */
type Fetch = (address: string, options: object) => Promise<Response>;

const redirectUri = 'https://shop.example/callback';
const isApplication = ({ hostname }: URL) => hostname === 'shop.example';

describe('OAuth client libraries in production', { timeout: 300_000 }, () => {
  const platforms = createPlatforms();
  let production: Production;
  let user: User;
  let fetchWithCa: typeof fetch;
  let endTransport: (() => void) | undefined;
  before(async () => {
    production = await platforms.production();
    user = await production.createUser(production.victim, 'org_custcare');
    const { transport, agent } = tlsTransport(readFileSync(production.platform.caFile, 'utf8'));
    fetchWithCa = fetchWithTransport(transport);
    endTransport = () => agent.destroy();
  });
  after(async () => {
    endTransport?.();
    await platforms.close();
  });

  const issuer = () =>
    new URL(`${production.platform.baseUrl}/auth/realms/${production.victim.realm}`);

  async function register(members: object) {
    const { realm, token } = production.victim;
    const path = `/application-management/v1/user-domains/${realm}/applications`;
    const application = {
      name: 'Shop',
      redirectUris: [redirectUri],
      webOrigins: ['https://shop.example'],
    };
    return (await production.create(token, path, { ...application, ...members })) as {
      clientId: string;
      clientSecret: string;
    };
  }

  /** From the link of the application to its callback, by the pages. */
  async function signInByPages(address: string): Promise<URL> {
    const signInBrowser = openSignInBrowser(production);
    try {
      const page = await follow(
        signInBrowser.browser,
        await signInBrowser.browser.visit(address),
        isApplication,
      );
      const callback = await follow(
        signInBrowser.browser,
        await signInBrowser.submitCredentials(page, user),
        isApplication,
      );
      assert.ok(callback.location !== undefined, callback.text);
      return callback.location;
    } finally {
      signInBrowser.close();
    }
  }

  // Spec: IDENT-43
  test('openid-client: PKCE, nonce, userinfo, refresh, revocation, and a wrong verifier', async () => {
    const { clientId, clientSecret } = await register({ securityFlows: ['AuthorizationCode'] });
    const configuration = await openid.discovery(issuer(), clientId, clientSecret, undefined, {
      [openid.customFetch]: fetchWithCa as openid.CustomFetch,
    });
    const begin = async () => {
      const verifier = openid.randomPKCECodeVerifier();
      const [nonce, state] = [openid.randomNonce(), openid.randomState()];
      const address = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        nonce,
        state,
      });
      const checks = { expectedNonce: nonce, expectedState: state, idTokenExpected: true };
      return { callback: await signInByPages(address.href), verifier, checks };
    };
    const good = await begin();
    const tokens = await openid.authorizationCodeGrant(configuration, good.callback, {
      pkceCodeVerifier: good.verifier,
      ...good.checks,
    });
    const subject = String(tokens.claims()?.sub);
    const info = await openid.fetchUserInfo(configuration, tokens.access_token, subject);
    assert.equal(info.email, user.username);
    const refreshed = await openid.refreshTokenGrant(configuration, String(tokens.refresh_token));
    await openid.tokenRevocation(configuration, String(refreshed.refresh_token));
    await assert.rejects(
      openid.refreshTokenGrant(configuration, String(refreshed.refresh_token)),
      (error) => error instanceof openid.ResponseBodyError && error.error === 'invalid_grant',
    );

    const { callback, verifier, checks } = await begin();
    for (const pkceCodeVerifier of [openid.randomPKCECodeVerifier(), verifier]) {
      await assert.rejects(
        openid.authorizationCodeGrant(configuration, callback, { pkceCodeVerifier, ...checks }),
        (error) => error instanceof openid.ResponseBodyError && error.error === 'invalid_grant',
      );
    }
  });

  test('oauth4webapi: a public client with PKCE, signatures checked', async () => {
    const { clientId } = await register({
      clientType: 'Public',
      securityFlows: ['AuthorizationCode'],
    });
    const options = { [oauth.customFetch]: fetchWithCa as Fetch };
    const discovered = await oauth.discoveryRequest(issuer(), options);
    const server = await oauth.processDiscoveryResponse(issuer(), discovered);
    const client: oauth.Client = { client_id: clientId };
    const [verifier, nonce] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomNonce()];
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
    const callback = await signInByPages(address.href);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      oauth.validateAuthResponse(server, client, callback, 'a-state'),
      redirectUri,
      verifier,
      options,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(server, response, options);
    const subject = String(oauth.getValidatedIdTokenClaims(tokens)?.sub);
    const info = await oauth.processUserInfoResponse(
      server,
      client,
      subject,
      await oauth.userInfoRequest(server, client, tokens.access_token, options),
    );
    assert.equal(info.email, user.username);
  });

  // Spec: IDENT-43
  test('oauth4webapi: client credentials by each method, and access tokens after RFC 9068', async () => {
    const { clientId, clientSecret } = await register({
      securityFlows: ['ClientCredentials'],
      accessTokenType: 'at+jwt',
      roles: ['ServiceProvider'],
    });
    const options = { [oauth.customFetch]: fetchWithCa as Fetch };
    const discovered = await oauth.discoveryRequest(issuer(), options);
    const server = await oauth.processDiscoveryResponse(issuer(), discovered);
    const client: oauth.Client = { client_id: clientId };
    const requestToken = (authentication: oauth.ClientAuth) =>
      oauth.clientCredentialsGrantRequest(server, client, authentication, {}, options);
    for (const method of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
      const answer = await requestToken(method(clientSecret));
      const { access_token: token } = await oauth.processClientCredentialsResponse(
        server,
        client,
        answer,
      );
      const request = new Request(`${production.platform.baseUrl}/service-catalog/v1/services`, {
        headers: { authorization: `Bearer ${token}` },
      });
      const claims = await oauth.validateJwtAccessToken(server, request, clientId, options);
      assert.equal(claims.client_id, clientId);
      assert.equal((await fetchWithCa(request)).status, 200);
      await assert.rejects(
        oauth.processClientCredentialsResponse(server, client, await requestToken(method('wrong'))),
        (error) =>
          (error instanceof oauth.ResponseBodyError && error.error === 'invalid_client') ||
          error instanceof oauth.WWWAuthenticateChallengeError,
      );
    }
  });
});
