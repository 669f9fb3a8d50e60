// Addresses of portals: sign-in takes two steps at the platform's address, and one at the host of a
// client.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readForms, submitForm } from '../support/browser/test-sign-in-pages.ts';
import { createTestUser } from '../support/identity/test-users.ts';
import { follow, openVisitor } from './portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
  writeBuilt,
} from './portal-test-platform.ts';

describe('the hosts of the portal', () => {
  let portal: PortalTestServer;
  let acme: PortalRealm;
  let globex: PortalRealm;
  let port: string;
  before(async () => {
    portal = await openPortalTestServer({ portalDomain: 'portal.test' });
    await writeBuilt(portal.portalFolder, { 'index.html': '<!doctype html><title>built</title>' });
    acme = await portal.newRealm();
    globex = await portal.newRealm({ persona: 'ServiceProvider' });
    port = new URL(portal.settings.baseUrl).port;
  });
  after(() => portal.close());

  const originOf = (client: string) => `https://${client}.portal.test:${port}`;
  const at = ({ userDomainId }: PortalRealm) =>
    openVisitor(portal, userDomainId, originOf(userDomainId));
  const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };

  // Spec: SVC-36
  test('the host of a client determines the user domain, and the sign-in returns to that host', async () => {
    const person = await createTestUser(acme);
    const { browser, toSignIn, callback, ask, session } = at(acme);
    const front = await browser.visit('/portal', { headers: page });
    assert.equal(front.status, 200, front.text);
    const form = await toSignIn({ to: '/portal/payments' });
    assert.equal(form.url.host, new URL(portal.settings.authUrl).host);
    assert.ok(form.url.pathname.startsWith(`/auth/realms/${acme.userDomainId}/sign-in/`));
    const callbackResponse = await callback(person, form);
    assert.equal(callbackResponse.url.origin, originOf(acme.userDomainId));
    assert.equal(callbackResponse.location?.href, `${originOf(acme.userDomainId)}/portal/payments`);
    assert.equal(session()?.host, `${acme.userDomainId}.portal.test:${port}`);
    const sessionFacts = (await ask('/portal/session')).json();
    assert.equal(sessionFacts['organizationId'], acme.organizationId);
    assert.deepEqual(sessionFacts['entries'], ['portal', 'provider-portal']);
  });

  test('the cookie of one client is not valid at another client or at the platform address', async () => {
    const acmeVisitor = at(acme);
    await acmeVisitor.signIn(await createTestUser(acme));
    const cookie = acmeVisitor.session();
    assert.ok(cookie !== undefined);
    for (const other of [at(globex), openVisitor(portal, acme.userDomainId)]) {
      const { host } = new URL(other.origin);
      other.browser.setCookie({ ...cookie, host });
      assert.ok(other.session() !== undefined);
      assert.equal((await other.ask('/portal/session')).status, 401, host);
    }
    assert.equal((await acmeVisitor.ask('/portal/session')).status, 200);
  });

  // Spec: SVC-37
  test('users of a service provider have only the provider portal', async () => {
    const { ask, signIn } = at(globex);
    const to = await signIn(await createTestUser(globex), { to: '/provider-portal/services' });
    assert.equal(to.pathname, '/provider-portal/services');
    assert.deepEqual((await ask('/portal/session')).json()['entries'], ['provider-portal']);
  });

  test('the host of an unknown client shows a message in the language of the browser', async () => {
    const { browser } = openVisitor(portal, 'nobody', originOf('nobody'));
    for (const path of [
      '/portal',
      '/provider-portal/services',
      '/portal/sign-in',
      '/portal/callback',
    ]) {
      const response = await browser.visit(path, {
        headers: { ...page, 'accept-language': 'fr-CH' },
      });
      assert.equal(response.status, 404, path);
      assert.match(response.text, /<html lang="fr">[\s\S]*Aucun client de la plateforme/);
      assert.equal(browser.cookies.length, 0);
    }
  });

  test('any other host shows the address of the portal', async () => {
    const hosts = [
      'evil.example',
      'portal.test',
      'a.b.portal.test',
      `${acme.userDomainId}.evil.test`,
    ];
    for (const host of [
      ...hosts.map((name) => `${name}:${port}`),
      `${acme.userDomainId}.portal.test:1`,
    ]) {
      const response = await portal.transport({
        method: 'GET',
        url: new URL(`${portal.settings.baseUrl}/portal/sign-in?domain=${acme.userDomainId}`),
        headers: { ...page, host },
      });
      assert.equal(response.status, 404, host);
      assert.ok(response.text.includes(`href="${portal.settings.baseUrl}/portal"`), response.text);
    }
  });

  // Spec: SVC-35
  test('the sign-in page at the platform address asks for the user domain and then opens the requested page', async () => {
    const person = await createTestUser(acme);
    const { browser, callback, ask } = openVisitor(portal, acme.userDomainId);
    const first = await follow(
      browser,
      await browser.visit('/portal/sign-in?to=/portal/users%3Fq=a'),
    );
    assert.match(first.url.pathname, /^\/auth\/sign-in\/[\w-]+$/);
    const french = await browser.visit(`${first.url.pathname}?lang=fr`);
    assert.match(french.text, /<html lang="fr"/);
    const empty = await submitForm(browser, french, { identifier: '' });
    assert.equal(empty.status, 422);
    const unknown = await submitForm(browser, french, { identifier: 'ada@nobody-at-all' });
    assert.equal(unknown.status, 422);
    const identifier = `${person.user.username}@${acme.userDomainId}`;
    const sent = await submitForm(browser, french, { identifier });
    assert.equal(sent.status, 303, sent.text);
    assert.equal(sent.location?.origin, portal.settings.baseUrl);
    const second = await follow(browser, sent);
    assert.equal(second.status, 200);
    assert.ok(second.text.includes(`value="${person.user.username}"`), 'the name is there already');
    const callbackResponse = await callback(person, second);
    assert.equal(callbackResponse.location?.href, `${portal.settings.baseUrl}/portal/users?q=a`);
    assert.equal((await ask('/portal/session')).status, 200);
    assert.equal(readForms(second).length > 0, true);
  });

  test('an unknown user domain leads back to the domain form', async () => {
    const { browser } = openVisitor(portal, 'nobody');
    for (const domain of ['nobody-at-all', '../x', 'A B', '%00']) {
      const query = new URLSearchParams({ domain });
      const response = await follow(browser, await browser.visit(`/portal/sign-in?${query}`));
      assert.match(response.url.pathname, /^\/auth\/sign-in\//, domain);
    }
  });
});
