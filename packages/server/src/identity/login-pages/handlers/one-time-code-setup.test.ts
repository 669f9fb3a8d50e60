import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserResponse } from '../../../../test/support/browser/cookie-browser.ts';
import {
  followRedirects,
  openSignInPages,
  redirectUri,
  type SignInPages,
  submitForm,
} from '../../../../test/support/browser/test-sign-in-pages.ts';
import {
  createTestUser,
  otpCodeAt,
  type TestUser,
} from '../../../../test/support/identity/test-users.ts';

const stepMs = 30_000;

/** The key as the page shows it, in groups of four. */
function secretIn({ text }: BrowserResponse): string {
  const [, key = ''] = /<code class="key">([A-Z2-7 ]+)<\/code>/.exec(text) ?? [];
  return key.replaceAll(' ', '');
}

function codesIn({ text }: BrowserResponse): string[] {
  return [...text.matchAll(/<li><code>([0-9A-Z-]+)<\/code><\/li>/g)].map(([, code = '']) => code);
}

describe('the set-up of one-time codes in a sign-in', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  function codeOf(secret: string): string {
    pages.clock.advance(stepMs);
    return otpCodeAt(secret, pages.clock.now());
  }

  async function begin(browser: Browser): Promise<{ person: TestUser; page: BrowserResponse }> {
    const person = await createTestUser(pages.realm, { secondFactor: 'Required' });
    const first = await browser.browse(pages.link);
    const sent = await submitForm(browser, first, {
      username: person.user.username,
      password: person.password,
    });
    return { person, page: await followRedirects(browser, sent) };
  }

  test('shows QR code and key, requires a code, shows ten recovery codes once, and continues the sign-in', async () => {
    const browser = pages.openBrowser();
    const { person, page } = await begin(browser);
    assert.match(page.url.pathname, /\/one-time-code$/);
    assert.match(page.text, /<img class="picture" src="data:image\/svg\+xml;base64,/);
    assert.match(page.text, /alt="QR code that contains the key below"/);
    const secret = secretIn(page);
    assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.ok(page.text.includes(`secret=${secret}`), 'a link for the same phone');
    assert.equal((await browser.visit(page.url)).text.includes(secret.slice(0, 4)), true, 'again');

    const wrong = await submitForm(browser, page, { code: '000000' });
    assert.equal(wrong.status, 422);
    assert.equal(secretIn(wrong), secret, 'the same key, because it may be scanned already');
    assert.match(wrong.text, /<a href="#code">/);

    const codesPage = await submitForm(browser, wrong, { code: ` ${codeOf(secret)} ` });
    assert.equal(codesPage.status, 200);
    assert.equal(codesIn(codesPage).length, 10);
    assert.equal(codesPage.text.includes('hreflang'), false, 'no language links on the page');

    const again = await followRedirects(browser, await browser.visit(page.url));
    assert.deepEqual(codesIn(again), [], 'shown once');
    assert.match(again.text, /already shown/);

    const unsaved = await submitForm(browser, codesPage, {});
    assert.equal(unsaved.status, 422);
    assert.match(unsaved.text, /Confirm that you have saved the codes/);
    const redirected = await followRedirects(
      browser,
      await submitForm(browser, codesPage, { saved: 'yes' }),
    );
    assert.equal(redirected.location?.href.split('?')[0], redirectUri);
    const { sessions, accounts } = pages.realm.identity;
    const { organizationId } = pages.realm;
    const [session] = await sessions.list(organizationId, person.user.userId);
    assert.deepEqual(session?.methods, ['pwd', 'otp']);
    assert.equal((await accounts.find(organizationId, person.user.userId))?.secondFactor, 'On');

    const late = await submitForm(browser, codesPage, { saved: 'yes' });
    assert.equal(late.status, 410, 'once');
  });

  test('the user can create new codes, and the old ones become invalid', async () => {
    const browser = pages.openBrowser();
    const { person, page } = await begin(browser);
    const secret = secretIn(page);
    const codesPage = await submitForm(browser, page, { code: codeOf(secret) });
    const [old = ''] = codesIn(codesPage);
    const goneResponse = await browser.visit(
      page.url.pathname.replace('one-time-code', 'recovery-codes'),
    );
    const renewed = await submitForm(browser, goneResponse, {}, { to: '/renew' });
    const [code = ''] = codesIn(renewed);
    assert.equal(codesIn(renewed).length, 10);
    await followRedirects(browser, await submitForm(browser, renewed, { saved: 'yes' }));
    const { username } = person.user;
    for (const [recovery, status] of [
      [old, 401],
      [code, 303],
    ] as const) {
      const next = pages.openBrowser();
      const fields = { username, password: person.password, code: recovery };
      const sent = await submitForm(next, await next.browse(pages.link), fields);
      assert.equal(sent.status, status);
    }
  });

  test('works only in the browser that entered the password, and cannot be bypassed', async () => {
    const browser = pages.openBrowser();
    const { page } = await begin(browser);
    const base = page.url.pathname.replace('/one-time-code', '');
    const other = pages.openBrowser();
    assert.equal((await other.visit(page.url)).status, 410, 'another browser');
    for (const path of ['recovery-codes', 'passkey']) {
      const response = await browser.visit(`${base}/${path}`);
      assert.equal(response.location?.pathname, base, path);
    }
    const saved = await submitForm(browser, page, { saved: 'yes' }, { to: '/one-time-code' });
    assert.equal(saved.status, 422, 'a missing code is a wrong code');
    const fresh = pages.openBrowser();
    const first = await fresh.browse(pages.link);
    const early = await fresh.visit(`${first.url.pathname}/one-time-code`);
    assert.equal(early.location?.pathname, first.url.pathname, 'the password comes first');
  });

  test('ends if the user has set up codes elsewhere: the password alone is not enough then', async () => {
    const waiting = pages.openBrowser();
    const { person, page } = await begin(waiting);
    const ownBrowser = pages.openBrowser();
    const fields = { username: person.user.username, password: person.password };
    const sent = await submitForm(ownBrowser, await ownBrowser.browse(pages.link), fields);
    const ownSecret = await followRedirects(ownBrowser, sent);
    const otherSecret = await waiting.visit(page.url);
    const secret = secretIn(await ownBrowser.visit(ownSecret.url));
    const codesPage = await submitForm(ownBrowser, ownSecret, { code: codeOf(secret) });
    assert.equal(codesIn(codesPage).length, 10, codesPage.text);

    assert.equal((await waiting.visit(page.url)).status, 410);
    const late = await submitForm(waiting, otherSecret, { code: codeOf(secretIn(otherSecret)) });
    assert.equal(late.status, 410);
    const next = pages.openBrowser();
    const again = { ...fields, code: codeOf(secret) };
    const { location } = await submitForm(next, await next.browse(pages.link), again);
    assert.ok(location !== undefined, 'the codes that were set up first are valid');
  });

  test('ends if the user is disabled, and after 15 minutes', async () => {
    const browser = pages.openBrowser();
    const { person, page } = await begin(browser);
    const { organizationId, identity } = pages.realm;
    await identity.accounts.setStatus(organizationId, person.user.userId, 'Disabled');
    const stopped = await submitForm(browser, page, { code: codeOf(secretIn(page)) });
    assert.equal(stopped.location?.pathname, page.url.pathname.replace('/one-time-code', ''));
    assert.equal(
      (await identity.accounts.find(organizationId, person.user.userId))?.secondFactor,
      'Required',
    );

    const slow = pages.openBrowser();
    const { page: late } = await begin(slow);
    pages.clock.advance(15 * 60_000 + 1);
    const response = await submitForm(slow, late, { code: codeOf(secretIn(late)) });
    assert.equal(response.location?.pathname, late.url.pathname.replace('/one-time-code', ''));
  });
});
