// Tests the errors of authorization requests: on an error page, or by redirect to the application.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  type BrowserResponse,
  createBrowser,
  injectionTransport,
} from '../../../../test/support/browser/cookie-browser.ts';
import {
  type OAuthTestRealm,
  openOAuthTestRealm,
  redirectUri,
} from '../../../../test/support/browser/oauth-test-realm.ts';
import {
  completeSignIn,
  createNodeRequestAndReply,
  denySignIn,
  signIn,
} from '../../../../test/support/browser/sign-in-without-pages.ts';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import { authUrl } from '../../../../test/support/identity/test-realm.ts';

describe('a request to sign in', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const proof = () => ({ userId: flow.user.userId });
  const visit = (address: string) => flow.openBrowser().visit(address);

  function isOnPage(response: BrowserResponse, status: number): void {
    assert.deepEqual([response.status, response.location], [status, undefined], response.text);
    assert.match(String(response.headers['content-type']), /^text\/html/);
    assert.match(String(response.headers['content-security-policy']), /frame-ancestors 'none'/);
    assert.equal(response.headers['cache-control'], 'no-store');
  }

  // Spec: AUTHZ-1 AUTHZ-3 IDENT-10
  test('is never redirected if the client or the redirect URI is unknown', async () => {
    const { client } = flow;
    const evil = [
      'https://evil.example/callback',
      `${redirectUri}/`,
      `${redirectUri}?x=1`,
      `${redirectUri}#x`,
      'https://shop.example/callback/../other',
      'https://shop.example:444/callback',
      'http://shop.example/callback',
      'https://shop.example@evil.example/callback',
      'javascript:alert(1)',
      '//shop.example/callback',
      '',
    ];
    for (const uri of evil)
      isOnPage(await visit(flow.authorizationUrl({ redirect_uri: uri })), 400);
    for (const clientId of ['unknown', '', '\u0000', 'x'.repeat(500)]) {
      isOnPage(await visit(flow.authorizationUrl({ client_id: clientId })), 400);
    }
    // A repeated client id or redirect URI is ambiguous.
    isOnPage(
      await visit(`${flow.authorizationUrl()}&redirect_uri=https%3A%2F%2Fevil.example`),
      400,
    );
    isOnPage(await visit(`${flow.authorizationUrl()}&client_id=${client.clientId}`), 400);
    // With further errors: still no redirect.
    isOnPage(
      await visit(
        flow.authorizationUrl({ redirect_uri: 'https://evil.example', response_type: 'token' }),
      ),
      400,
    );
    isOnPage(
      await visit(flow.authorizationUrl({ redirect_uri: 'https://evil.example', scope: 'root' })),
      400,
    );
    isOnPage(
      await visit(flow.authorizationUrl({ redirect_uri: 'https://evil.example', prompt: 'none' })),
      400,
    );
  });

  test('of a disabled application is not redirected either', async () => {
    const { clientId } = await flow.createClient();
    const { identity, organizationId } = flow.realm;
    await identity.setApplicationStatus(organizationId, clientId, 'Disabled');
    isOnPage(await visit(flow.authorizationUrl({ client_id: clientId })), 400);
  });

  test('that cannot be stored redirects to the application', async () => {
    for (const name of ['state', 'nonce', 'login_hint', 'ui_locales', 'claims_locales']) {
      const { status, location } = await visit(flow.authorizationUrl({ [name]: 'a\u0000b' }));
      assert.deepEqual([status, location?.origin], [303, new URL(redirectUri).origin], name);
      assert.equal(location?.searchParams.get('error'), 'invalid_request', name);
    }
  });

  // Spec: AUTHZ-6
  test('redirects to the application with the error', async () => {
    const { realm } = flow;
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
    for (const [wanted, error, code] of [
      [{ response_type: 'token' }, 'unsupported_response_type', '400'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type', '400'],
      [{ scope: 'openid root' }, 'invalid_scope', '400'],
      [{ scope: 'openid offline_access' }, 'invalid_scope', '400'],
      [{ response_mode: 'form_post' }, 'unsupported_response_mode', '400'],
      [{ prompt: 'none login' }, 'invalid_request', '400'],
      [{ max_age: '-1' }, 'invalid_request', '400'],
      [{ request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported', '400'],
      [{ request_uri: 'https://evil.example' }, 'request_uri_not_supported', '400'],
      [{ code_challenge: 'x'.repeat(43) }, 'invalid_request', '400'],
      [
        { code_challenge: 'x'.repeat(43), code_challenge_method: 'plain' },
        'invalid_request',
        '400',
      ],
      [{ client_id: clientId }, 'invalid_request', '400'],
    ] as const) {
      const { status, location, text } = await visit(flow.authorizationUrl(wanted));
      assert.equal(status, 303, text);
      assert.ok(location !== undefined);
      assert.equal(location.origin + location.pathname, redirectUri);
      // With response_mode=fragment the error is in the fragment.
      const inFragment = location.hash === '' ? undefined : location.hash.slice(1);
      const callbackParams = Object.fromEntries(new URLSearchParams(inFragment ?? location.search));
      assert.deepEqual(
        [
          callbackParams['error'],
          callbackParams['error_code'],
          callbackParams['state'],
          callbackParams['code'],
        ],
        [error, code, 'a-state', undefined],
        JSON.stringify(wanted),
      );
    }
    const twice = await visit(`${flow.authorizationUrl()}&scope=openid&scope=email`);
    assert.equal(twice.location?.searchParams.get('error'), 'invalid_request');
  });

  test('has its HTTP status if it does not reach the realm', async () => {
    const base = flow.base.replace(flow.realm.userDomainId, 'no-such-realm');
    isOnPage(await visit(flow.authorizationUrl().replace(flow.base, base)), 404);
    isOnPage(await flow.openBrowser().visit(flow.authorizationUrl(), { method: 'PUT' }), 405);
    const wrongType = { 'content-type': 'application/json' };
    const browser = flow.openBrowser();
    isOnPage(await browser.visit(flow.authorizationUrl(), { headers: wrongType, body: '{}' }), 415);
    const form = { filler: 'x'.repeat(64 * 1024) };
    isOnPage(await browser.visit(`${flow.base}/auth`, { form }), 413);
  });

  test('is answered once, in the browser that it came from', async () => {
    const { realm } = flow;
    const { identity, userDomainId } = realm;
    const [mine, theirs] = [flow.openBrowser(), flow.openBrowser()];
    const page = (await mine.visit(flow.authorizationUrl())).location as URL;
    const otherPage = (await theirs.visit(flow.authorizationUrl())).location as URL;

    // The link of another browser, without a cookie and with the cookie of another request.
    assert.equal(await completeSignIn(identity, theirs, page, proof()), undefined);
    const [cookie] = mine.cookiesFor(page);
    assert.ok(cookie !== undefined);
    const moved = createNodeRequestAndReply(mine, page);
    moved.raw.url = otherPage.pathname;
    assert.equal(
      await identity.interactions.details(userDomainId, moved.raw, moved.rawReply),
      undefined,
    );
    // A changed cookie, or a cookie without its signature.
    const forged = createBrowser(authUrl, injectionTransport(realm.app));
    for (const cookie of mine.cookiesFor(page))
      forged.setCookie({ ...cookie, value: `${cookie.value}x` });
    assert.equal(await completeSignIn(identity, forged, page, proof()), undefined);
    const unsigned = createBrowser(authUrl, injectionTransport(realm.app));
    const bareCookie = mine.cookiesFor(page).find(({ name }) => !name.endsWith('.sig'));
    assert.ok(bareCookie !== undefined);
    unsigned.setCookie(bareCookie);
    assert.equal(await completeSignIn(identity, unsigned, page, proof()), undefined);

    const returnTo = await completeSignIn(identity, mine, page, proof());
    assert.ok(returnTo !== undefined);
    assert.equal(
      await completeSignIn(identity, mine, page, proof()),
      undefined,
      'answered already',
    );
    assert.equal(await denySignIn(identity, mine, page), undefined);
    // Only the first browser can continue.
    isOnPage(await theirs.visit(returnTo), 400);
    assert.ok((await mine.visit(returnTo)).location?.searchParams.get('code'));
    isOnPage(await mine.visit(returnTo), 400);
  });

  test('is over after half an hour', async () => {
    const { identity } = flow.realm;
    const browser = flow.openBrowser();
    const page = (await browser.visit(flow.authorizationUrl())).location as URL;
    flow.clock.advance(29 * 60_000);
    const { raw, rawReply } = createNodeRequestAndReply(browser, page);
    const details = await identity.interactions.details(flow.realm.userDomainId, raw, rawReply);
    assert.equal(details?.clientName, 'Till 7');
    assert.equal(details?.redirectUri, redirectUri);
    assert.equal(details?.scope, 'openid profile email');
    flow.clock.advance(61_000);
    assert.equal(await completeSignIn(identity, browser, page, proof()), undefined);
  });

  test('of one realm is unknown at another', async () => {
    const { identity } = flow.realm;
    const userDomainId = `realm-${randomUUID()}`;
    await identity.createUserDomain({ userDomainId, organizationId: randomUUID() });
    const browser = flow.openBrowser();
    const page = (await browser.visit(flow.authorizationUrl())).location as URL;
    const { raw, rawReply } = createNodeRequestAndReply(browser, page);
    raw.url = page.pathname.replace(flow.realm.userDomainId, userDomainId);
    assert.equal(await identity.interactions.details(userDomainId, raw, rawReply), undefined);
    // The client is unknown there too.
    isOnPage(
      await visit(flow.authorizationUrl().replace(flow.realm.userDomainId, userDomainId)),
      400,
    );
  });
});

describe('the session of a browser', () => {
  let flow: OAuthTestRealm;

  before(async () => {
    flow = await openOAuthTestRealm();
  });
  after(() => flow.close());

  const isSession = ({ name }: { name: string }) => /-session-[^.]*$/.test(name);
  const sessionOf = (browser: ReturnType<OAuthTestRealm['openBrowser']>) =>
    browser.cookies.find(isSession)?.value;

  test('has a cookie that changes at each sign-in and cannot be planted', async () => {
    const attacker = flow.openBrowser();
    await flow.requestCode({}, attacker);
    const planted = attacker.cookies.filter(({ name }) => name.includes('-session-'));
    const victim = flow.openBrowser();
    for (const cookie of planted) victim.setCookie(cookie);
    const other = await flow.createUser();
    await signIn(flow.realm.identity, victim, flow.authorizationUrl({ prompt: 'login' }), {
      userId: other.userId,
    });
    assert.ok(sessionOf(victim) !== undefined);
    assert.notEqual(sessionOf(victim), sessionOf(attacker));
    // The former user is signed out and has no access to the new session.
    const response = await attacker.visit(flow.authorizationUrl());
    assert.match(String(response.location?.pathname), /\/sign-in\//);

    const browser = flow.openBrowser();
    await flow.requestCode({}, browser);
    const first = sessionOf(browser);
    const proof = { userId: flow.user.userId };
    await signIn(flow.realm.identity, browser, flow.authorizationUrl({ prompt: 'login' }), proof);
    assert.notEqual(sessionOf(browser), first, 'also for the same user');
  });

  test('has cookies for this host: Secure, HttpOnly and SameSite', async () => {
    const browser = flow.openBrowser();
    await flow.requestCode({}, browser);
    assert.ok(browser.cookies.length >= 2);
    for (const { name, attributes } of browser.cookies) {
      assert.ok(attributes.has('httponly'), name);
      assert.ok(attributes.has('secure'), name);
      assert.equal(attributes.get('samesite')?.toLowerCase(), 'lax', name);
      assert.ok(name.includes(flow.realm.userDomainId), name);
    }
    assert.ok(browser.cookies.some(({ name }) => name.startsWith('__Host-')));
    const database = await testDatabase();
    const rows = await database.query('SELECT * FROM oidc_entities WHERE organization_id = $1', [
      flow.realm.organizationId,
    ]);
    const storedText = JSON.stringify(rows);
    for (const { name, value } of browser.cookies) {
      if (value !== '')
        assert.equal(storedText.includes(value), false, `${name} is not kept in clear`);
    }
  });
});
