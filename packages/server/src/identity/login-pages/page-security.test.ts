// Attacks on the sign-in pages: each one is tried and must fail.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserResponse } from '../../../test/support/browser/cookie-browser.ts';
import {
  followRedirects,
  openSignInPages,
  readForms,
  type SignInPages,
  submitForm,
} from '../../../test/support/browser/test-sign-in-pages.ts';
import { createTestUser, type TestUser } from '../../../test/support/identity/test-users.ts';
import { browserCookie, flowLanguageCookie, languageCookie } from './http/cookies.ts';

const evil = `"><script>alert(1)</script>`;

describe('the protection of the sign-in pages', () => {
  let pages: SignInPages;
  let person: TestUser;

  before(async () => {
    pages = await openSignInPages({ clientName: `Shop ${evil}` });
    person = await createTestUser(pages.realm);
  });
  after(() => pages.close());

  const credentials = () => ({ username: person.user.username, password: person.password });

  async function signedIn(browser: Browser): Promise<BrowserResponse> {
    const page = await browser.browse(`${pages.base}/sign-in/account`);
    return followRedirects(browser, await submitForm(browser, page, credentials()));
  }

  const sessionOf = (browser: Browser) =>
    browser.cookies.find(({ name }) => name.startsWith('__Host-switchyard-session'))?.value;

  test('a form is valid only in the browser and the flow it was created for', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const other = await browser.browse(pages.link);
    const strange = await pages.openBrowser().browse(pages.link);
    const tokenOf = (page: BrowserResponse) => readForms(page)[0]?.hidden['token'] ?? '';
    for (const [what, token] of [
      ['none', ''],
      ['nonsense', 'x'.repeat(43)],
      ['of another flow', tokenOf(other)],
      ['of another browser', tokenOf(strange)],
    ] as const) {
      const response = await submitForm(browser, page, { ...credentials(), token });
      assert.equal(response.status, 403, what);
      assert.match(response.text, /Please try again/, what);
      assert.equal(sessionOf(browser), undefined);
    }
    const sent = await submitForm(browser, page, credentials());
    assert.equal(sent.status, 303, 'it works with its own token');
  });

  test('a form from another site is rejected for every content', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: pages.authUrl },
    ];
    for (const headers of foreign) {
      assert.equal((await submitForm(browser, page, credentials(), { headers })).status, 403);
    }
    const form = readForms(page)[0];
    const old = (headers: Record<string, string>) =>
      browser.visit(String(form?.action), { form: { ...form?.hidden, ...credentials() }, headers });
    assert.equal((await old({ origin: 'https://evil.example' })).status, 403, 'an old browser');
    assert.equal((await old({ origin: pages.authUrl })).status, 303);
  });

  test('a form without the browser cookie is rejected', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse('/auth/sign-in');
    const form = readForms(page)[0];
    const response = await browser.visit('/auth/sign-in', {
      form: { ...form?.hidden, identifier: `a@${pages.realm.userDomainId}` },
      isCrossSite: true,
    });
    assert.equal(response.status, 403);
  });

  test('no page can be framed or cached, runs inline code or sends a referrer', async () => {
    const browser = pages.openBrowser();
    await signedIn(browser);
    for (const path of [
      '/auth/sign-in',
      pages.linkWith({ prompt: 'login' }),
      `${pages.base}/forgotten-password`,
      `${pages.base}/links/${'x'.repeat(43)}`,
      `${pages.base}/account`,
      `${pages.base}/account/password`,
      `${pages.base}/signed-out`,
      `${pages.base}/sign-in/nonsense`,
      '/auth/realms/nowhere/account',
      `${pages.base}/protocol/openid-connect/auth?client_id=nobody`,
      `${pages.base}/protocol/openid-connect/logout`,
    ]) {
      const { headers, text } = await browser.browse(path);
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /default-src 'none'/, path);
      assert.match(policy, /frame-ancestors 'none'/, path);
      assert.match(policy, /base-uri 'none'/, path);
      assert.match(policy, /form-action 'self'/, path);
      assert.equal(policy.includes('unsafe'), false, path);
      assert.equal(headers['x-frame-options'], 'DENY', path);
      assert.equal(headers['cache-control'], 'no-store', path);
      assert.equal(headers['referrer-policy'], 'no-referrer', path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.match(String(headers['content-type']), /^text\/html; charset=utf-8$/, path);
      assert.equal(/<style|style="|<script>| on\w+="/.test(text), false, path);
      assert.equal(
        /(?:src|href)="(?:https?:)?\/\//.test(text),
        false,
        'no resources from other hosts',
      );
    }
  });

  test('the content security policy allows only the redirect to the application', async () => {
    const page = await pages.openBrowser().browse(pages.link);
    const policy = String(page.headers['content-security-policy']);
    assert.match(policy, /form-action 'self' https:\/\/shop\.example;/);
    const entry = await pages.openBrowser().browse('/auth/sign-in');
    const ownToken = String(entry.headers['content-security-policy']);
    assert.ok(ownToken.includes(`form-action 'self' ${pages.authUrl};`), ownToken);
    const account = await pages.openBrowser().browse(`${pages.base}/account`);
    assert.match(String(account.headers['content-security-policy']), /form-action 'self';/);
  });

  test('input in a page is escaped', async () => {
    const browser = pages.openBrowser();
    const request = pages.linkWith({ login_hint: evil, state: evil, ui_locales: `fr ${evil}` });
    const page = await browser.browse(request);
    const wrong = await submitForm(browser, page, { username: evil, password: 'x', with: evil });
    const entry = await submitForm(browser, await browser.browse('/auth/sign-in'), {
      identifier: evil,
    });
    const base = `${pages.base}/account`;
    const others = await Promise.all(
      [
        `/auth/sign-in?lang=${encodeURIComponent(evil)}`,
        `${pages.base}/forgotten-password?flow=${encodeURIComponent(evil)}`,
        `${pages.base}/sign-in/account?login_hint=${encodeURIComponent(evil)}`,
        `${base}?saved=${encodeURIComponent(evil)}`,
        `/auth/realms/${encodeURIComponent(evil)}/account`,
        `${pages.base}/links/${encodeURIComponent(evil)}`,
      ].map((path) => pages.openBrowser().browse(path)),
    );
    for (const response of [page, wrong, entry, ...others]) {
      assert.match(String(response.headers['content-type']), /^text\/html/);
      assert.equal(response.text.includes('<script>alert'), false, response.url.pathname);
    }
    assert.match(
      page.text,
      /Shop &quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;/,
      'the client',
    );
    assert.ok(wrong.text.includes('value="&quot;&gt;&lt;script&gt;'), 'the name');
  });

  test('no parameter redirects to another site', async () => {
    const browser = pages.openBrowser();
    for (const flow of [
      'https://evil.example',
      '//evil.example',
      '../../evil',
      '/\\evil.example',
    ]) {
      const path = `${pages.base}/forgotten-password?flow=${encodeURIComponent(flow)}`;
      const { text } = await browser.browse(path);
      assert.equal(text.includes('evil'), false, flow);
      assert.ok(
        text.includes(`href="${pages.base}/sign-in/account"`),
        'a link to the own sign-in instead',
      );
    }
    const account = await signedIn(browser);
    const guarded = await browser.browse(`${pages.base}/account/password`);
    for (const next of ['https://evil.example', '//evil.example', 'passwordx', '']) {
      const sent = await submitForm(browser, guarded, { password: person.password, next });
      assert.equal(sent.location?.pathname, account.url.pathname, next);
      assert.equal(sent.location?.host, account.url.host, next);
    }
    for (const identifier of ['a@evil.example', 'a@//evil.example', 'a@realm\\evil']) {
      const sent = await submitForm(browser, await browser.browse('/auth/sign-in'), { identifier });
      assert.equal(sent.location, undefined, identifier);
    }
  });

  test('a sign-in creates a new session for all cookies that the browser sends', async () => {
    const attacker = pages.openBrowser();
    await signedIn(attacker);
    const planted = sessionOf(attacker);
    assert.ok(planted);
    const victim = pages.openBrowser();
    for (const cookie of attacker.cookies) victim.setCookie(cookie);
    await signedIn(victim);
    assert.notEqual(sessionOf(victim), planted, 'by the account page');

    const page = await victim.browse(pages.linkWith({ prompt: 'login' }));
    const before = sessionOf(victim);
    await followRedirects(victim, await submitForm(victim, page, credentials()));
    assert.notEqual(sessionOf(victim), before, 'by an application');
    const response = await attacker.visit(`${pages.base}/account`);
    assert.equal(response.status, 303, 'the old session has ended');
  });

  test('a sign-in cannot be continued in another browser', async () => {
    const attacker = pages.openBrowser();
    const page = await attacker.browse(pages.link);
    const victim = pages.openBrowser();
    const opened = await victim.browse(page.url);
    assert.equal(opened.status, 410);
    assert.match(opened.text, /started in another browser/);
    // Even with the browser ID of the attacker, so that the form token matches.
    for (const cookie of attacker.cookies.filter(({ name }) => name === browserCookie)) {
      victim.setCookie(cookie);
    }
    const sent = await submitForm(victim, page, credentials());
    assert.equal(sent.status, 410);
    assert.equal(sessionOf(victim), undefined);
  });

  test('a second sign-in in the same flow fails', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    await followRedirects(browser, await submitForm(browser, page, credentials()));
    const again = await submitForm(browser, page, credentials());
    assert.equal(again.status, 410);
  });

  test('a form that is too long, has duplicate fields or another media type is rejected', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse('/auth/sign-in');
    const { token = '' } = readForms(page)[0]?.hidden ?? {};
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [body, type, status] of [
      [`token=${token}&identifier=a%40b&identifier=c%40d`, headers['content-type'], 400],
      [`token=${token}&identifier=${'a'.repeat(17_000)}`, headers['content-type'], 413],
      [`token=${token}&identifier=%ff`, headers['content-type'], 400],
      [JSON.stringify({ token, identifier: 'a@b' }), 'application/json', 415],
      [`token=${token}`, 'text/plain', 415],
    ] as const) {
      const response = await browser.visit('/auth/sign-in', {
        body,
        headers: { 'content-type': type, 'sec-fetch-site': 'same-origin' },
      });
      assert.equal(response.status, status, body.slice(0, 80));
      assert.match(String(response.headers['content-type']), /^text\/html/);
    }
  });

  test('too many requests get an error page with Retry-After', async () => {
    const few = await openSignInPages({ pagesPerMinute: 2 });
    try {
      const browser = few.openBrowser();
      await browser.visit('/auth/sign-in');
      await browser.visit('/auth/sign-in');
      const response = await browser.visit('/auth/sign-in');
      assert.equal(response.status, 429);
      assert.match(response.text, /Too many requests/);
      assert.ok(Number(response.headers['retry-after']) > 0);
      const style = await browser.visit('/auth/assets/pages.css');
      assert.equal(style.status, 200, 'assets have a separate limit');
    } finally {
      await few.close();
    }
  });

  test('a path cannot add cookie attributes', async () => {
    const browser = pages.openBrowser();
    await browser.visit(`${pages.base}/links/x;Domain=localhost?lang=fr`);
    const names = browser.cookies.map(({ name }) => name);
    assert.ok(names.includes(languageCookie), 'the choice is remembered nevertheless');
    assert.equal(names.includes(flowLanguageCookie), false);
  });

  test('cookies are HttpOnly, Secure and only for this host', async () => {
    const browser = pages.openBrowser();
    await browser.browse(`${pages.link}&ui_locales=fr`);
    await browser.browse('/auth/sign-in?lang=fr');
    await signedIn(browser);
    assert.ok(browser.cookies.length >= 4);
    for (const { name, attributes } of browser.cookies) {
      assert.ok(attributes.has('secure'), name);
      assert.ok(attributes.has('httponly'), name);
      assert.match(String(attributes.get('samesite')), /^(?:lax|strict)$/i, name);
      assert.equal(attributes.has('domain'), false, name);
    }
  });
});
