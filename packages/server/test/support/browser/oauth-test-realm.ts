// A realm with a user and an application with sign-in, for the tests of the OAuth flows.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { User } from '../../../src/identity/accounts/index.ts';
import type { NewApplication } from '../../../src/identity/index.ts';
import { testDatabase } from '../database/test-database.ts';
import {
  authUrl,
  type MovableClock,
  movableClock,
  openTestRealm,
  type RealmResponse,
  type TestRealm,
  type TestRealmOptions,
} from '../identity/test-realm.ts';
import { type Browser, createBrowser, injectionTransport } from './cookie-browser.ts';
import { authorizationUrl, signIn } from './sign-in-without-pages.ts';

export const redirectUri = 'https://shop.example/callback';

export type ClientCredentials = { readonly clientId: string; readonly clientSecret: string };
/** The body of a token response. */
export type TokenResponse = Readonly<Record<string, unknown>> & {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
  readonly session_state: string;
  readonly scope: string;
};

export type OAuthTestRealm = {
  readonly realm: TestRealm;
  readonly clock: MovableClock;
  readonly user: User;
  readonly client: ClientCredentials;
  /** `/auth/realms/{realm}/protocol/openid-connect` */
  readonly base: string;
  createUser(): Promise<User>;
  /** Creates an application that signs users in. */
  createClient(facts?: Partial<NewApplication>): Promise<ClientCredentials>;
  openBrowser(): Browser;
  /** The authorization request to which an application sends users. */
  authorizationUrl(parameters?: Readonly<Record<string, string>>): string;
  /** The authorization code that the browser receives. */
  requestCode(parameters?: Readonly<Record<string, string>>, browser?: Browser): Promise<string>;
  redeemCode(code: string, form?: Readonly<Record<string, string>>): Promise<RealmResponse>;
  /** Completes a whole sign-in and returns the tokens. */
  requestTokens(
    parameters?: Readonly<Record<string, string>>,
    browser?: Browser,
  ): Promise<TokenResponse>;
  refresh(token: string, form?: Readonly<Record<string, string>>): Promise<RealmResponse>;
  introspect(token: string, caller?: ClientCredentials): Promise<Record<string, unknown>>;
  close(): Promise<void>;
};

const formOf = ({ clientId, clientSecret }: ClientCredentials) => ({
  client_id: clientId,
  client_secret: clientSecret,
});

/** Default of `deps`: the shared database and no mail. */
export async function openOAuthTestRealm(
  facts: Partial<NewApplication> = {},
  deps: Partial<Pick<TestRealmOptions, 'database' | 'jobs' | 'mail'>> = {},
): Promise<OAuthTestRealm> {
  const clock = movableClock();
  const realm = await openTestRealm({ database: await testDatabase(), ...deps, clock });
  const { organizationId, userDomainId, identity } = realm;
  const base = `/auth/realms/${userDomainId}/protocol/openid-connect`;

  const createUser = () =>
    identity.accounts.create({
      organizationId,
      userDomainId,
      username: `ada-${randomUUID()}`,
      entityType: 'tenant',
      entityId: organizationId,
      email: 'ada@shop.example',
      emailVerified: true,
      givenName: 'Ada',
      familyName: 'Cox',
      phoneNumber: '+4930123456',
      groups: [`${organizationId}_org_admin`],
      secondFactor: 'Off',
    });
  const createClient = (clientFacts: Partial<NewApplication> = {}) =>
    realm.createApplication({
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
      ...clientFacts,
    });
  const user = await createUser();
  const client = await createClient(facts);

  const flow: OAuthTestRealm = {
    realm,
    clock,
    user,
    client,
    base,
    createUser,
    createClient,
    openBrowser: () => createBrowser(authUrl, injectionTransport(realm.app)),
    authorizationUrl: (parameters) =>
      authorizationUrl(`${base}/auth`, {
        client_id: client.clientId,
        redirect_uri: redirectUri,
        ...parameters,
      }),
    async requestCode(parameters, browser = flow.openBrowser()) {
      const proof = { userId: user.userId };
      const callback = await signIn(identity, browser, flow.authorizationUrl(parameters), proof);
      const code = callback.searchParams.get('code');
      assert.ok(code !== null, callback.href);
      return code;
    },
    redeemCode: (code, form) =>
      realm.post(realm.tokenPath, {
        grant_type: 'authorization_code',
        ...formOf(client),
        redirect_uri: redirectUri,
        code,
        ...form,
      }),
    async requestTokens(parameters, browser) {
      const { status, body } = await flow.redeemCode(await flow.requestCode(parameters, browser));
      assert.equal(status, 200, JSON.stringify(body));
      return body as TokenResponse;
    },
    refresh: (token, form) =>
      realm.post(realm.tokenPath, {
        grant_type: 'refresh_token',
        ...formOf(client),
        refresh_token: token,
        ...form,
      }),
    async introspect(token, caller = client) {
      const { status, body } = await realm.post(`${base}/token/introspect`, {
        ...formOf(caller),
        token,
      });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
    close: realm.close,
  };
  return flow;
}
