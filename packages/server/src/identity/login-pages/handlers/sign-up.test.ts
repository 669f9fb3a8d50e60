// Whole run: pages in a browser.
// The sign-up form and the home page: without JavaScript, in every language, light and dark.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertAccessible } from '../../../../test/support/browser/accessibility-check.ts';
import { chromiumSkipReason, openChromium } from '../../../../test/support/browser/chromium.ts';
import {
  openSignInPages,
  type SignInPages,
  submitForm,
} from '../../../../test/support/browser/test-sign-in-pages.ts';
import { movableClock } from '../../../../test/support/identity/test-realm.ts';

const filled = {
  organizationName: 'Banque du Nord',
  persona: 'Acquirer',
  country: 'FR',
  givenName: 'Ann',
  familyName: 'Carter',
  email: 'ann@banque.example',
};

describe('the sign-up form', () => {
  let pages: SignInPages;
  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  // Spec: SVC-40
  test('submits the fields and the language of the page', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse('/sign-up?lang=fr');
    assert.equal(page.status, 200);
    const sent = await submitForm(browser, page, {
      ...filled,
      organizationName: '  Banque du Nord ',
    });
    assert.deepEqual([sent.status, sent.location?.pathname], [303, '/sign-up/received']);
    assert.deepEqual(pages.signUpInputs.at(-1), { ...filled, language: 'fr' });
    const done = await browser.browse(sent.location ?? '');
    assert.equal(done.status, 200);
    assert.match(done.text, /<html lang="fr">[\s\S]*<h1>Consultez vos e-mails<\/h1>/);
    assert.doesNotMatch(done.text, /banque/i, 'the page contains no input');
  });

  // Spec: ONB-12
  test('shows errors per field and keeps the input', async () => {
    const browser = pages.openBrowser();
    const count = pages.signUpInputs.length;
    const page = await browser.browse('/sign-up');
    const missing = await submitForm(browser, page, {});
    assert.equal(missing.status, 422);
    for (const name of Object.keys(filled)) {
      assert.match(missing.text, new RegExp(`<a href="#${name}">`), name);
      assert.match(missing.text, new RegExp(`id="${name}-fault"`), name);
    }
    const wrong = {
      ...filled,
      organizationName: '<b>'.repeat(40),
      email: 'ann',
      country: 'France',
      persona: 'King',
      givenName: 'A\tB',
    };
    const again = await submitForm(browser, missing, wrong);
    assert.equal(again.status, 422);
    const faults = [...again.text.matchAll(/id="(\w+)-fault"/g)].map(([, name]) => name);
    assert.deepEqual(faults, ['organizationName', 'persona', 'country', 'givenName', 'email']);
    assert.match(again.text, /use at most 100 characters/);
    assert.match(again.text, /&lt;b&gt;/);
    assert.doesNotMatch(again.text, /<b>/);
    assert.match(again.text, /value="Carter"/);
    assert.match(again.text, /<title>Error · Sign up/);
    assert.equal(pages.signUpInputs.length, count);
    const chosen = await submitForm(browser, page, { ...filled, email: 'x' });
    assert.match(chosen.text, /<option value="FR" selected>France<\/option>/);
  });

  // Spec: ONB-12
  test('rejects forms from another site and without a CSRF token', async () => {
    const browser = pages.openBrowser();
    const count = pages.signUpInputs.length;
    const page = await browser.browse('/sign-up');
    const headers = { 'sec-fetch-site': 'cross-site' };
    assert.equal((await submitForm(browser, page, filled, { headers })).status, 403);
    const otherBrowser = pages.openBrowser();
    await otherBrowser.browse('/sign-up');
    assert.equal((await submitForm(otherBrowser, page, filled)).status, 403);
    const plainPage = await browser.visit('/sign-up', { form: filled });
    assert.equal(plainPage.status, 403);
    assert.equal(pages.signUpInputs.length, count);
  });

  test('contains no script, no other host and is not cached', async () => {
    for (const path of ['/', '/sign-up', '/sign-up/received']) {
      const { headers, text } = await pages.openBrowser().browse(path);
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /default-src 'none'; script-src 'none'/, path);
      assert.match(policy, /form-action 'self'; base-uri 'none'; frame-ancestors 'none'/, path);
      assert.equal(headers['cache-control'], 'no-store', path);
      assert.doesNotMatch(text, /<script|https?:\/\//, path);
    }
  });

  // Spec: ONB-12
  test('shares its rate limit with the sign-ups of the API', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse('/sign-up');
    const answer = await submitForm(browser, page, filled);
    assert.match(String(answer.headers['ratelimit-policy']), /^"signUps";q=60;w=3600/);
  });

  test('is linked from the sign-in and from the home page, also for API clients', async () => {
    const browser = pages.openBrowser();
    assert.match((await browser.browse('/auth/sign-in')).text, /<a href="\/sign-up">/);
    const home = await browser.browse('/');
    for (const path of ['/docs', '/sign-up', '/auth/sign-in']) {
      assert.ok(home.text.includes(`<a href="${path}">`), path);
    }
    const apiResponse = await browser.visit('/', { headers: { accept: 'application/json' } });
    const { links } = apiResponse.json() as { links: Record<string, string> };
    assert.deepEqual(links, {
      documentation: '/docs',
      openapi: '/openapi.json',
      signUp: '/sign-up',
      account: '/auth/sign-in',
    });
    assert.equal(apiResponse.headers['vary'], 'accept');
  });

  test('a language that is chosen on the home page is remembered and overrides no application', async () => {
    const browser = pages.openBrowser();
    await browser.browse('/?lang=fr');
    assert.match((await browser.browse('/sign-up')).text, /<html lang="fr">/);
    const formPage = await browser.browse(pages.linkWith({ ui_locales: 'en' }));
    assert.match(formPage.text, /<html lang="en">/);
  });
});

describe('the sign-up in a real browser', { skip: chromiumSkipReason }, () => {
  // Spec: SVC-40
  test('is accessible in every language and works without JavaScript', async () => {
    const pages = await openSignInPages({ listens: true, clock: movableClock(Date.now()) });
    const chromium = await openChromium({ certificate: pages.certificate });
    try {
      for (const locale of ['en-GB', 'fr-FR', 'de-DE']) {
        const context = await chromium.newContext({ baseURL: pages.authUrl, locale });
        const page = await context.newPage();
        await page.goto('/');
        await assertAccessible(page, `the first page, ${locale}`);
        await page.click('a[href="/sign-up"]');
        await assertAccessible(page, `the sign-up, ${locale}`);
        await page.click('main button.primary');
        await assertAccessible(page, `the sign-up with faults, ${locale}`);
        await context.close();
      }
      const context = await chromium.newContext({
        baseURL: pages.authUrl,
        javaScriptEnabled: false,
      });
      const page = await context.newPage();
      await page.goto('/sign-up');
      for (const [name, value] of Object.entries(filled)) {
        if (name === 'persona' || name === 'country') await page.selectOption(`#${name}`, value);
        else await page.fill(`#${name}`, value);
      }
      await page.click('main button.primary');
      await page.waitForURL('**/sign-up/received');
      assert.equal(await page.textContent('h1'), 'Check your email');
      assert.deepEqual(pages.signUpInputs, [{ ...filled, language: 'en' }]);
      await context.close();
    } finally {
      await chromium.close();
      await pages.close();
    }
  });
});
