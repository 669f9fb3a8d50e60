// Session fixation: an attacker prepares a browser, a victim signs in with it, and the attacker's
// copy gets no session.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { follow, openVisitor, type Visitor } from '../portal/portal-client.ts';
import {
  openPortalHouse,
  type PortalHouse,
  type PortalRealm,
} from '../portal/portal-test-platform.ts';
import type { BrowserResponse } from '../support/browser/cookie-browser.ts';
import { authorizationUrl } from '../support/browser/sign-in-without-pages.ts';
import { submitForm } from '../support/browser/test-sign-in-pages.ts';
import { createTestUser, type TestUser } from '../support/test-users.ts';

const redirectUri = 'https://shop.example/callback';
const isPortalCallback = ({ pathname }: URL) => pathname === '/portal/callback';
const isShop = ({ hostname }: URL) => hostname === 'shop.example';

describe('browsers that an attacker prepared', () => {
  let portal: PortalHouse;
  let realm: PortalRealm;
  let victim: TestUser;
  let attacker: TestUser;
  let application: { clientId: string; clientSecret: string };
  before(async () => {
    portal = await openPortalHouse();
    realm = await portal.newRealm();
    [victim, attacker] = [await createTestUser(realm), await createTestUser(realm)];
    application = await portal.house.identity.createApplication({
      organizationId: realm.organizationId,
      userDomainId: realm.userDomainId,
      name: 'Shop',
      roles: [],
      entityType: 'tenant',
      entityId: realm.organizationId,
      securityFlows: ['AuthorizationCode'],
      redirectUris: [redirectUri],
    });
  });
  after(() => portal.close());

  const visitor = () => openVisitor(portal, realm.userDomainId);
  const plantAll = (from: Visitor, into: Visitor) => {
    for (const cookie of from.browser.cookies) into.browser.setCookie(cookie);
  };
  const enter = ({ browser }: Visitor, page: BrowserResponse, { user, password }: TestUser) =>
    submitForm(browser, page, { username: user.username, password, code: '' });
  const address = (more: Record<string, string> = {}) =>
    authorizationUrl(`/oauth2/v1/${realm.userDomainId}/auth`, {
      client_id: application.clientId,
      redirect_uri: redirectUri,
      scope: 'openid',
      ...more,
    });

  /** The user of the tokens that a browser gets without a sign-in; undefined if it must sign in. */
  async function userOf({ browser }: Visitor): Promise<unknown> {
    const page = await follow(browser, await browser.visit(address({ prompt: 'none' })), isShop);
    const code = page.location?.searchParams.get('code');
    if (code == null) {
      assert.equal(page.location?.searchParams.get('error'), 'login_required', page.text);
      return undefined;
    }
    const { clientId, clientSecret } = application;
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
    const answer = await browser.visit(`/oauth2/v1/${realm.userDomainId}/token`, {
      form: { ...form, client_id: clientId, client_secret: clientSecret },
    });
    return decodeJwt(String(answer.json()['id_token'])).sub;
  }

  /**
   * Visits each path for which the browser has cookies, including the path that resumes a sign-in.
   */
  async function visitOwnPaths(from: Visitor): Promise<BrowserResponse[]> {
    const paths = new Set(from.browser.cookies.map(({ path }) => path));
    return Promise.all([...paths].map((path) => from.browser.visit(path)));
  }

  function assertOutside(page: BrowserResponse): void {
    const details = `${page.url} ${page.status} ${page.location}`;
    assert.equal(page.location?.searchParams.get('code') ?? null, null, details);
  }

  test('the attacker is not signed in, before and after the victim continues', async () => {
    for (const isFirst of [true, false]) {
      const [evil, good] = [visitor(), visitor()];
      const prepared = await evil.toSignIn();
      plantAll(evil, good);
      const page = await good.browser.visit(prepared.url);
      const entered = await enter(good, page, victim);
      assert.equal(entered.status, 303, entered.text);
      assert.ok(entered.location !== undefined);
      const goOn = async () => {
        const callbackPage = await follow(good.browser, entered, isPortalCallback);
        return good.browser.visit(callbackPage.location as URL);
      };
      const result = isFirst ? undefined : await goOn();
      assertOutside(await evil.browser.visit(entered.location));
      for (const session of await visitOwnPaths(evil)) assertOutside(session);
      assert.equal((result ?? (await goOn())).status, 303);
      assert.equal((await good.ask('/portal/session')).status, 200);
      assert.equal((await evil.ask('/portal/session')).status, 401);
      assert.equal(await userOf(evil), undefined);
      assert.equal(await userOf(good), victim.user.userId);
    }
  });

  test('a sign-in replaces the session of the authorization server', async () => {
    const sessionsOf = ({ browser }: Visitor) =>
      browser.cookies.filter(({ name }) => /session/.test(name)).map(({ value }) => value);
    const [evil, good] = [visitor(), visitor()];
    await evil.browser.visit(address());
    const prepared = await follow(evil.browser, await evil.browser.visit(address()), isShop);
    plantAll(evil, good);
    const page = await good.browser.visit(prepared.url);
    const entered = await enter(good, page, victim);
    const callbackPage = await follow(good.browser, entered, isShop);
    assert.ok(callbackPage.location?.searchParams.has('code'), callbackPage.text);
    const before = new Set(sessionsOf(evil));
    assert.ok(sessionsOf(good).length > 0);
    for (const session of sessionsOf(good)) assert.ok(!before.has(session));
    assert.equal(await userOf(evil), undefined);
  });

  test('a browser with the attacker’s session cannot join the sign-in of the victim', async () => {
    const [evil, good] = [visitor(), visitor()];
    await evil.signIn(attacker);
    assert.equal(await userOf(evil), attacker.user.userId);
    plantAll(evil, good);
    const signInRedirect = await good.browser.visit(address({ prompt: 'login' }));
    const page = await follow(good.browser, signInRedirect);
    const entered = await enter(good, page, victim);
    assert.equal(entered.status, 303, entered.text);
    await follow(good.browser, entered, isShop);
    assert.notEqual(await userOf(evil), victim.user.userId);
    const session = (await evil.ask('/portal/session')).json();
    assert.doesNotMatch(JSON.stringify(session), new RegExp(victim.user.userId));
  });

  test('each sign-in replaces a planted session of the portal', async () => {
    const evil = visitor();
    await evil.signIn(attacker);
    const planted = evil.session();
    assert.ok(planted !== undefined);
    const chosen = { ...planted, value: 'a'.repeat(planted.value.length) };
    const values = [];
    for (const cookie of [chosen, planted]) {
      const good = visitor();
      good.browser.setCookie(cookie);
      await good.signIn(victim);
      const session = good.session();
      assert.equal(session?.name, '__Host-switchyard-session');
      assert.notEqual(session?.value, cookie.value);
      values.push(session?.value);
    }
    assert.equal(new Set(values).size, 2);
    for (const cookie of [chosen, planted]) {
      const browser = visitor();
      browser.browser.setCookie(cookie);
      const seen = await browser.ask('/portal/session');
      assert.doesNotMatch(seen.text, new RegExp(victim.user.userId), cookie.name);
    }
  });
});
