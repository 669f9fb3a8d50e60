// A realm with a user and an application with sign-in, for the tests of the OAuth flows.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { User } from '../../../src/identity/accounts/index.ts';
import type { NewApplication } from '../../../src/identity/index.ts';
import { testDatabase } from '../database/test-database.ts';
import {
  type Answer,
  authUrl,
  type MovableClock,
  movableClock,
  openTestRealm,
  type TestRealm,
  type TestRealmDeps,
} from '../test-realm.ts';
import { type Browser, createBrowser, overInjection } from './cookie-browser.ts';
import { authorizationAddress, signIn } from './sign-in-without-pages.ts';

export const redirectUri = 'https://shop.example/callback';

export type Credentials = { readonly clientId: string; readonly clientSecret: string };
/** The body of a token response. */
export type Tokens = Readonly<Record<string, unknown>> & {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly id_token: string;
  readonly session_state: string;
  readonly scope: string;
};

export type Flow = {
  readonly realm: TestRealm;
  readonly clock: MovableClock;
  readonly user: User;
  readonly client: Credentials;
  /** `/auth/realms/{realm}/protocol/openid-connect` */
  readonly base: string;
  createUser(): Promise<User>;
  /** Creates an application that signs users in. */
  createClient(facts?: Partial<NewApplication>): Promise<Credentials>;
  openBrowser(): Browser;
  /** The authorization request to which an application sends users. */
  link(wanted?: Readonly<Record<string, string>>): string;
  /** The authorization code that the browser receives. */
  code(wanted?: Readonly<Record<string, string>>, browser?: Browser): Promise<string>;
  redeem(code: string, form?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Completes a whole sign-in and returns the tokens. */
  tokens(wanted?: Readonly<Record<string, string>>, browser?: Browser): Promise<Tokens>;
  refresh(token: string, form?: Readonly<Record<string, string>>): Promise<Answer>;
  introspect(token: string, by?: Credentials): Promise<Record<string, unknown>>;
  close(): Promise<void>;
};

const formOf = ({ clientId, clientSecret }: Credentials) => ({
  client_id: clientId,
  client_secret: clientSecret,
});

/** Default of `deps`: the shared database and no mail. */
export async function openFlow(
  facts: Partial<NewApplication> = {},
  deps: Partial<Pick<TestRealmDeps, 'database' | 'jobs' | 'mail'>> = {},
): Promise<Flow> {
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
  const createClient = (given: Partial<NewApplication> = {}) =>
    realm.createApplication({
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
      ...given,
    });
  const user = await createUser();
  const client = await createClient(facts);

  const flow: Flow = {
    realm,
    clock,
    user,
    client,
    base,
    createUser,
    createClient,
    openBrowser: () => createBrowser(authUrl, overInjection(realm.app)),
    link: (wanted) =>
      authorizationAddress(`${base}/auth`, {
        client_id: client.clientId,
        redirect_uri: redirectUri,
        ...wanted,
      }),
    async code(wanted, browser = flow.openBrowser()) {
      const proof = { userId: user.userId };
      const callback = await signIn(identity, browser, flow.link(wanted), proof);
      const code = callback.searchParams.get('code');
      assert.ok(code !== null, callback.href);
      return code;
    },
    redeem: (code, form) =>
      realm.post(realm.tokenPath, {
        grant_type: 'authorization_code',
        ...formOf(client),
        redirect_uri: redirectUri,
        code,
        ...form,
      }),
    async tokens(wanted, browser) {
      const { status, body } = await flow.redeem(await flow.code(wanted, browser));
      assert.equal(status, 200, JSON.stringify(body));
      return body as Tokens;
    },
    refresh: (token, form) =>
      realm.post(realm.tokenPath, {
        grant_type: 'refresh_token',
        ...formOf(client),
        refresh_token: token,
        ...form,
      }),
    async introspect(token, by = client) {
      const { status, body } = await realm.post(`${base}/token/introspect`, {
        ...formOf(by),
        token,
      });
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
    close: realm.close,
  };
  return flow;
}
