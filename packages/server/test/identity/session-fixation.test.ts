// Session fixation: an attacker prepares a browser, a victim signs in with it, and the attacker's
// copy gets no session.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { decodeJwt } from 'jose';
import { follow, openVisitor, type Visitor } from '../portal/portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from '../portal/portal-test-platform.ts';
import type { BrowserResponse } from '../support/browser/cookie-browser.ts';
import { authorizationUrl } from '../support/browser/sign-in-without-pages.ts';
import { submitForm } from '../support/browser/test-sign-in-pages.ts';
import { createTestUser, type TestUser } from '../support/identity/test-users.ts';

const redirectUri = 'https://shop.example/callback';
const isPortalCallback = ({ pathname }: URL) => pathname === '/portal/callback';
const isApplication = ({ hostname }: URL) => hostname === 'shop.example';

describe('browsers that an attacker prepared', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  let victimPerson: TestUser;
  let attackerPerson: TestUser;
  let application: { clientId: string; clientSecret: string };
  before(async () => {
    portal = await openPortalTestServer();
    realm = await portal.newRealm();
    [victimPerson, attackerPerson] = [await createTestUser(realm), await createTestUser(realm)];
    application = await portal.application.identity.createApplication({
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
    const page = await follow(
      browser,
      await browser.visit(address({ prompt: 'none' })),
      isApplication,
    );
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

  // Spec: IDENT-42
  test('the attacker is not signed in, before and after the victim continues', async () => {
    for (const isFirst of [true, false]) {
      const [attacker, victim] = [visitor(), visitor()];
      const prepared = await attacker.toSignIn();
      plantAll(attacker, victim);
      const page = await victim.browser.visit(prepared.url);
      const entered = await enter(victim, page, victimPerson);
      assert.equal(entered.status, 303, entered.text);
      assert.ok(entered.location !== undefined);
      const goOn = async () => {
        const callbackPage = await follow(victim.browser, entered, isPortalCallback);
        return victim.browser.visit(callbackPage.location as URL);
      };
      const result = isFirst ? undefined : await goOn();
      assertOutside(await attacker.browser.visit(entered.location));
      for (const session of await visitOwnPaths(attacker)) assertOutside(session);
      assert.equal((result ?? (await goOn())).status, 303);
      assert.equal((await victim.ask('/portal/session')).status, 200);
      assert.equal((await attacker.ask('/portal/session')).status, 401);
      assert.equal(await userOf(attacker), undefined);
      assert.equal(await userOf(victim), victimPerson.user.userId);
    }
  });

  test('a sign-in replaces the session of the authorization server', async () => {
    const sessionsOf = ({ browser }: Visitor) =>
      browser.cookies.filter(({ name }) => /session/.test(name)).map(({ value }) => value);
    const [attacker, victim] = [visitor(), visitor()];
    await attacker.browser.visit(address());
    const prepared = await follow(
      attacker.browser,
      await attacker.browser.visit(address()),
      isApplication,
    );
    plantAll(attacker, victim);
    const page = await victim.browser.visit(prepared.url);
    const entered = await enter(victim, page, victimPerson);
    const callbackPage = await follow(victim.browser, entered, isApplication);
    assert.ok(callbackPage.location?.searchParams.has('code'), callbackPage.text);
    const before = new Set(sessionsOf(attacker));
    assert.ok(sessionsOf(victim).length > 0);
    for (const session of sessionsOf(victim)) assert.ok(!before.has(session));
    assert.equal(await userOf(attacker), undefined);
  });

  test('a browser with the attacker’s session cannot join the sign-in of the victim', async () => {
    const [attacker, victim] = [visitor(), visitor()];
    await attacker.signIn(attackerPerson);
    assert.equal(await userOf(attacker), attackerPerson.user.userId);
    plantAll(attacker, victim);
    const signInRedirect = await victim.browser.visit(address({ prompt: 'login' }));
    const page = await follow(victim.browser, signInRedirect);
    const entered = await enter(victim, page, victimPerson);
    assert.equal(entered.status, 303, entered.text);
    await follow(victim.browser, entered, isApplication);
    assert.notEqual(await userOf(attacker), victimPerson.user.userId);
    const session = (await attacker.ask('/portal/session')).json();
    assert.doesNotMatch(JSON.stringify(session), new RegExp(victimPerson.user.userId));
  });

  // Spec: IDENT-42
  test('each sign-in replaces a planted session of the portal', async () => {
    const attacker = visitor();
    await attacker.signIn(attackerPerson);
    const planted = attacker.session();
    assert.ok(planted !== undefined);
    const chosen = { ...planted, value: 'a'.repeat(planted.value.length) };
    const values = [];
    for (const cookie of [chosen, planted]) {
      const victim = visitor();
      victim.browser.setCookie(cookie);
      await victim.signIn(victimPerson);
      const session = victim.session();
      assert.equal(session?.name, '__Host-switchyard-session');
      assert.notEqual(session?.value, cookie.value);
      values.push(session?.value);
    }
    assert.equal(new Set(values).size, 2);
    for (const cookie of [chosen, planted]) {
      const browser = visitor();
      browser.browser.setCookie(cookie);
      const seen = await browser.ask('/portal/session');
      assert.doesNotMatch(seen.text, new RegExp(victimPerson.user.userId), cookie.name);
    }
  });
});
