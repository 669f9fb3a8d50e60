// Whole run: much is made, or waited for, before it shows.
// The portal over TLS: sign-in by the realm's pages, a session that only the portal's own pages can
// use, and sign-out.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { VisitOptions } from '../support/browser/cookie-browser.ts';
import { readForms, submitForm } from '../support/browser/test-sign-in-pages.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { createTestUser } from '../support/identity/test-users.ts';
import { asPage, follow, openVisitor, sessionCookie } from './portal-client.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from './portal-test-platform.ts';

describe('sessions at an IP address that sends invalid tokens', () => {
  // Spec: LIST-5
  test('known valid sessions continue until they end', async (t) => {
    const unauthenticated = { windowSeconds: 3600, limit: 3 };
    const portal = await openPortalTestServer({ rateLimits: { unauthenticated } });
    t.after(() => portal.close());
    const realm = await portal.newRealm();
    const [worker, newcomer] = [1, 2].map(() => openVisitor(portal, realm.userDomainId));
    assert.ok(worker !== undefined && newcomer !== undefined);
    const person = await createTestUser(realm);
    await worker.signIn(person);
    const path = `/user-management/v2/user-domains/${realm.userDomainId}/users`;
    const statusOf = async (headers: Record<string, string>) =>
      (await worker.ask(path, { headers })).status;
    const forged = { authorization: 'Bearer forged' };
    for (let count = 0; count < 3; count += 1) assert.equal(await statusOf(forged), 401);
    assert.equal(await statusOf(forged), 429);
    assert.equal(await statusOf({}), 200, 'it began here');
    for (const minutes of [1, 14, 14]) {
      portal.clock.advance(minutes * 60_000);
      assert.equal(await statusOf({}), 200, `${minutes} minutes later`);
    }
    await newcomer.signIn(person);
    const cookie = newcomer.session();
    assert.ok(cookie !== undefined);
    assert.equal((await newcomer.ask(path)).status, 200);
    assert.equal((await newcomer.ask('/portal/sign-out', { method: 'POST' })).status, 200);
    newcomer.browser.setCookie(cookie);
    assert.equal(
      (await newcomer.ask(path)).status,
      429,
      'the signed-out session counts as unauthenticated',
    );
    worker.browser.setCookie({ ...cookie, value: 'a'.repeat(64) });
    assert.equal(await statusOf({}), 429);
  });
});

describe('a session of the portal', () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  before(async () => {
    portal = await openPortalTestServer();
    realm = await portal.newRealm();
  });
  after(() => portal.close());

  const visitor = () => openVisitor(portal, realm.userDomainId);
  const audited = async () => {
    const rows = await (await testDatabase()).query<{ action: string; id: string }>(
      `SELECT action, entity_id AS id FROM audit_records
       WHERE organization_id = $1 AND action LIKE 'portalSession.%' ORDER BY sequence`,
      [realm.organizationId],
    );
    return rows.map(({ action, id }) => `${action} ${id}`);
  };

  test('the sign-in pages start a session without a token, which gives its user access to the API', async () => {
    const person = await createTestUser(realm, { hasOneTimePassword: true, locale: 'fr-FR' });
    const { ask, signIn, session } = visitor();
    assert.equal((await ask('/portal/session')).status, 401);
    const to = await signIn(person, { to: '/portal/payments?state=Captured' });
    assert.equal(to.pathname + to.search, '/portal/payments?state=Captured');
    const cookie = session();
    assert.match(cookie?.value ?? '', /^[\w-]{64}$/);
    assert.equal(cookie?.attributes.get('samesite'), 'Strict');
    assert.ok(cookie?.attributes.has('httponly'));
    assert.equal(cookie?.attributes.has('max-age'), false, 'it ends with the browser');
    const response = await ask('/portal/session');
    assert.equal(response.status, 200, response.text);
    assert.equal(response.headers['cache-control'], 'no-store');
    const { user, ...facts } = response.json();
    assert.deepEqual(
      [Object(user).sub, Object(user).name, Object(user).locale],
      [person.user.userId, 'Ada Byron', 'fr-FR'],
    );
    assert.deepEqual(
      [facts['organizationId'], facts['userDomainId'], facts['entityType']],
      [realm.organizationId, realm.userDomainId, 'tenant'],
    );
    assert.deepEqual(facts['entries'], ['portal', 'provider-portal']);
    assert.deepEqual(facts['groups'], person.user.groups);
    assert.equal(response.text.includes('eyJ'), false, 'no token');
    const users = await ask(`/user-management/v2/user-domains/${realm.userDomainId}/users`);
    assert.equal(users.status, 200, users.text);
    const [begun = '', ...more] = (await audited()).slice(-1);
    assert.match(begun, /^portalSession\.signedIn /);
    assert.deepEqual(more, []);
  });

  test('only requests of portal pages can use the session', async () => {
    const { browser, signIn } = visitor();
    await signIn(await createTestUser(realm));
    const origin = portal.settings.baseUrl;
    const path = `/user-management/v2/user-domains/${realm.userDomainId}/users`;
    const status = async (headers: Record<string, string>, visit: VisitOptions = {}) =>
      (await browser.visit(path, { ...visit, headers: { accept: '*/*', ...headers } })).status;
    assert.equal(await status(asPage), 200);
    assert.equal(await status({ ...asPage, 'x-switchyard-portal': 'background' }), 200);
    assert.equal(await status({ 'x-switchyard-portal': '1', origin }), 200, 'an old browser');
    assert.equal(await status({ ...asPage, origin }), 200);
    const refused: Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'x-switchyard-portal': '1' },
      ...['0', 'true', '1, 1', 'constructor', ''].map((headerValue) => ({
        ...asPage,
        'x-switchyard-portal': headerValue,
      })),
      ...['cross-site', 'same-site', 'none'].map((site) => ({ ...asPage, 'sec-fetch-site': site })),
      ...['https://evil.example', 'null', `${origin}.evil.example`, origin.replace('s:', ':')].map(
        (other) => ({ ...asPage, origin: other }),
      ),
      { 'x-switchyard-portal': '1', origin: 'https://evil.example' },
      { ...asPage, 'sec-fetch-site': 'cross-site', origin },
      { ...asPage, authorization: 'Bearer nothing' },
      { ...asPage, authorization: 'Basic YTpi' },
      { ...asPage, authorization: '' },
    ];
    for (const headers of refused)
      assert.equal(await status(headers), 401, JSON.stringify(headers));
    const forms = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = 'username=mallory';
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const response = await browser.visit(path, {
        method,
        body,
        headers: { accept: '*/*', ...forms },
      });
      assert.ok([401, 404, 405, 415].includes(response.status), `${method} ${response.status}`);
    }
    const plain = await browser.visit(path, {
      method: 'POST',
      body: '{}',
      headers: {
        accept: '*/*',
        'content-type': 'application/json',
        'sec-fetch-site': 'cross-site',
      },
    });
    assert.equal(plain.status, 401, 'a script of another site that sends no header of ours');
    const preflight = await browser.visit(path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-switchyard-portal',
      },
    });
    const allowed = Object.keys(preflight.headers).filter((name) => /^access-control/i.test(name));
    assert.deepEqual(allowed, [], 'the preflight allows no headers');
  });

  test('the portal refuses a session cookie that is invalid, changed or from another tenant', async () => {
    const { browser, ask, signIn, session } = visitor();
    await signIn(await createTestUser(realm));
    const cookie = session();
    assert.ok(cookie !== undefined);
    const changed = Buffer.from(cookie.value, 'base64url');
    changed[20] = (changed[20] ?? 0) ^ 1;
    const otherTenant = Buffer.from(cookie.value, 'base64url');
    otherTenant[3] = (otherTenant[3] ?? 0) ^ 1;
    const values = [
      '',
      'x',
      'a'.repeat(63),
      'a'.repeat(64),
      'a'.repeat(5000),
      `${cookie.value}=`,
      changed.toString('base64url'),
      otherTenant.toString('base64url'),
    ];
    for (const value of values) {
      browser.setCookie({ ...cookie, value });
      assert.equal((await ask('/portal/session')).status, 401, value.slice(0, 70));
    }
    browser.setCookie(cookie);
    assert.equal((await ask('/portal/session')).status, 200);
  });

  test('a sign-out ends the session here and at the realm, and is audited', async () => {
    const person = await createTestUser(realm);
    const [here, elsewhere] = [visitor(), visitor()];
    await here.signIn(person);
    await elsewhere.signIn(person);
    const cookie = here.session();
    assert.ok(cookie !== undefined);
    const cross = await here.browser.visit('/portal/sign-out', {
      method: 'POST',
      headers: { 'x-switchyard-portal': '1', 'sec-fetch-site': 'cross-site' },
    });
    assert.equal(cross.status, 401);
    const out = await here.ask('/portal/sign-out', { method: 'POST' });
    assert.equal(out.status, 200, out.text);
    const { location } = out.json();
    assert.equal(
      location,
      `${portal.settings.authUrl}/auth/realms/${realm.userDomainId}/signed-out`,
    );
    assert.equal((await here.browser.visit(String(location))).status, 200);
    assert.equal(here.session(), undefined, 'the cookie is gone');
    here.browser.setCookie(cookie);
    assert.equal(
      (await here.ask('/portal/session')).status,
      401,
      'a copy of the old cookie is refused as well',
    );
    assert.equal((await here.ask('/portal/sign-out', { method: 'POST' })).status, 401);
    const next = await here.toSignIn();
    assert.equal(readForms(next).length > 0, true, 'the realm asks for the password again');
    assert.equal((await elsewhere.ask('/portal/session')).status, 200, 'another browser stays in');
    assert.match((await audited()).at(-1) ?? '', /^portalSession\.signedOut /);
  });

  test('a new sign-in starts a new session and ends the previous one', async () => {
    const person = await createTestUser(realm);
    const { browser, ask, signIn, session } = visitor();
    await signIn(person);
    const first = session();
    const sent = await browser.visit(`/portal/sign-in?domain=${realm.userDomainId}`);
    const callbackResponse = await follow(
      browser,
      sent,
      ({ pathname }) => pathname === '/portal/callback',
    );
    assert.equal(
      (await browser.visit(callbackResponse.location ?? '/')).status,
      303,
      'still in at the realm',
    );
    const second = session();
    assert.notEqual(second?.value, first?.value);
    assert.equal((await ask('/portal/session')).status, 200);
    assert.ok(first !== undefined);
    browser.setCookie(first);
    assert.equal((await ask('/portal/session')).status, 401);
  });

  test('the session ends with a deactivation, a new password, or an end at the realm', async () => {
    const { accounts } = portal.application.identity;
    const { organizationId } = realm;
    const ways = [
      (userId: string) => accounts.setStatus(organizationId, userId, 'Disabled'),
      (userId: string) => accounts.setPassword(organizationId, userId, 'eight tills in one row'),
      (userId: string) => portal.application.identity.sessions.endAll(organizationId, userId),
    ];
    for (const end of ways) {
      const person = await createTestUser(realm);
      const { ask, signIn } = visitor();
      await signIn(person);
      assert.equal((await ask('/portal/session')).status, 200);
      await end(person.user.userId);
      assert.equal((await ask('/portal/session')).status, 401, String(end));
      assert.equal((await ask('/portal/session')).status, 401);
    }
  });

  test('a removed permission is gone with the next request', async () => {
    const person = await createTestUser(realm);
    const { ask, signIn } = visitor();
    await signIn(person);
    const path = `/user-management/v2/user-domains/${realm.userDomainId}/users`;
    assert.equal((await ask(path)).status, 200);
    const groups = [`${realm.organizationId}_org_dfo`];
    const { accounts } = portal.application.identity;
    await accounts.updateProfile(realm.organizationId, person.user.userId, (profile) => ({
      ...profile,
      groups,
    }));
    assert.equal((await ask(path)).status, 403);
    const response = (await ask('/portal/session')).json();
    assert.deepEqual(response['permissions'], ['prov.read', 'dev.read', 'dev.write']);
    assert.deepEqual(response['entries'], ['portal']);
  });

  test('in the demo a user of a merchant can act only as a device of that merchant', async () => {
    const { provisioning } = portal.application;
    const scope = { organizationId: realm.organizationId };
    const createMerchant = async (name: string) => {
      const merchantInput = { name, country: 'FR', mcc: '5411', timeZone: 'Europe/Paris' };
      const { merchantId } = (await provisioning.merchants.create(scope, merchantInput)).view;
      const store = await provisioning.stores.create(scope, { merchantId, name });
      const { storeId } = store.view;
      const device = await provisioning.logicalDevices.create(scope, { storeId, name: 'Till' });
      return { merchantId, deviceId: device.view.logicalDeviceId };
    };
    const [own, other] = [await createMerchant('Own'), await createMerchant('Other')];
    const { ask, signIn } = visitor();
    await signIn(await createTestUser(realm, { merchantId: own.merchantId }));
    const rightsAt = async (device: string) => {
      const response = await ask('/portal/session', { headers: { 'x-switchyard-device': device } });
      return [response.status, response.json()['permissions'] ?? response.json()['code']];
    };
    const [status, rights] = await rightsAt(own.deviceId);
    assert.equal(status, 200);
    assert.ok(Array.isArray(rights) && rights.includes('pay.sale') && !rights.includes('um.write'));
    assert.deepEqual(await rightsAt(other.deviceId), [404, 'device_not_found']);
    assert.deepEqual(await rightsAt(randomUUID()), [404, 'device_not_found']);
    const office = visitor();
    await office.signIn(await createTestUser(realm));
    const deviceHeaders = { headers: { 'x-switchyard-device': own.deviceId } };
    assert.equal((await office.ask('/portal/session', deviceHeaders)).status, 403);
  });

  test('an authorization code does not work in another browser, twice, or without its request', async () => {
    const person = await createTestUser(realm);
    const [mine, other] = [visitor(), visitor()];
    const page = await mine.toSignIn();
    const { password, user } = person;
    const sent = await submitForm(mine.browser, page, {
      username: user.username,
      password,
      code: '',
    });
    const isCallback = ({ pathname }: URL) => pathname === '/portal/callback';
    const { location } = await follow(mine.browser, sent, isCallback);
    assert.ok(location !== undefined);
    assert.equal(location.searchParams.get('iss')?.endsWith(realm.userDomainId), true);
    const stolen = await other.browser.visit(location);
    assert.equal(stolen.status, 400, stolen.text);
    assert.equal(other.session(), undefined);
    const without = new URL(location);
    without.searchParams.delete('state');
    assert.equal((await mine.browser.visit(without)).status, 400);
    const mixed = new URL(location);
    mixed.searchParams.set('iss', 'https://evil.example');
    assert.equal((await mine.browser.visit(mixed)).status, 400);
    assert.equal((await mine.browser.visit(location)).status, 303);
    const cookie = mine.session()?.value;
    const again = await mine.browser.visit(location);
    assert.equal(again.status, 400);
    assert.match(again.text, /The sign-in failed/);
    // RFC 6749, 4.1.2: if a code is used twice, the server revokes the tokens issued for it.
    assert.equal(mine.session()?.value, cookie);
    assert.equal((await mine.ask('/portal/session')).status, 401);
  });

  test('a cancelled sign-in shows a message and a link to the sign-in', async () => {
    const { browser, toSignIn, session } = visitor();
    const page = await toSignIn({ to: '/portal/payments' });
    const cancelled = await submitForm(browser, page, {}, { to: '/cancel' });
    const callbackResponse = await follow(browser, cancelled);
    assert.equal(callbackResponse.status, 403, callbackResponse.text);
    assert.match(callbackResponse.text, /You are not signed in/);
    assert.match(callbackResponse.text, /href="\/portal\/sign-in\?to=%2Fportal%2Fpayments"/);
    assert.match(
      String(callbackResponse.headers['content-security-policy']),
      /frame-ancestors 'none'/,
    );
    assert.equal(session(), undefined);
  });

  test('the token endpoint rejects codes and refresh tokens of the portal client', async () => {
    const path = `/oauth2/v1/${realm.userDomainId}/token`;
    const { browser } = visitor();
    for (const secret of ['', 'guess']) {
      const response = await browser.visit(path, {
        form: {
          grant_type: 'authorization_code',
          client_id: 'switchyard-portal',
          client_secret: secret,
          code: 'x',
          redirect_uri: `${portal.settings.baseUrl}/portal/callback`,
        },
      });
      assert.equal(response.status, 401, response.text);
      assert.equal(response.json()['error'], 'invalid_client');
    }
    const made = portal.application.identity.createApplication({
      ...realm,
      name: 'Mine',
      clientId: 'switchyard-portal',
      entityType: 'tenant',
      entityId: realm.organizationId,
      roles: [],
      securityFlows: ['AuthorizationCode'],
    });
    await assert.rejects(made, { code: 'already_exists' });
  });

  test('the database contains no token in clear text', async () => {
    await visitor().signIn(await createTestUser(realm));
    const rows = await (await testDatabase()).query<{ sealed: Buffer }>(
      'SELECT tokens_sealed AS sealed FROM portal_sessions WHERE organization_id = $1',
      [realm.organizationId],
    );
    assert.ok(rows.length > 0);
    // The start of a JWT; three letters alone may occur by chance.
    for (const { sealed } of rows) assert.doesNotMatch(sealed.toString('latin1'), /eyJ[\w-]{20}/);
    assert.match(sessionCookie, /^__Host-/);
  });
});
