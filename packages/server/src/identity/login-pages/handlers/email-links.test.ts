// Whole run: devices, accounts or nodes are prepared for each test.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserResponse } from '../../../../test/support/browser/cookie-browser.ts';
import {
  followRedirects,
  openSignInPages,
  type SignInPages,
  submitForm,
} from '../../../../test/support/browser/test-sign-in-pages.ts';
import {
  createTestUser,
  otpCodeAt,
  type TestUser,
} from '../../../../test/support/identity/test-users.ts';
import { linkTokenIn } from '../../../../test/support/mail/mail-recorder.ts';

describe('email links', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  const pathOf = (link: string) => `${pages.base}/links/${link}`;
  const newWords = () => `fresh words for ${randomUUID()}`;

  async function askFor(browser: Browser, identifier: string): Promise<BrowserResponse> {
    const page = await browser.browse(`${pages.base}/forgotten-password`);
    return submitForm(browser, page, { identifier });
  }

  async function resetLink(person: TestUser): Promise<string> {
    await askFor(pages.openBrowser(), person.user.username);
    return linkTokenIn(await pages.mailRecorder.deliver());
  }

  async function canSignIn(person: TestUser, password: string): Promise<boolean> {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const { username } = person.user;
    return (await submitForm(browser, page, { username, password })).status === 303;
  }

  test('every request gets the same page, and only existing users get an email', async () => {
    const person = await createTestUser(pages.realm, { email: `${randomUUID()}@shop.example` });
    const browser = pages.openBrowser();
    const existingResponse = await askFor(browser, person.user.username);
    assert.equal((await pages.mailRecorder.deliver()).length, 1);
    const byMail = await askFor(browser, ` ${person.user.email} `);
    assert.equal((await pages.mailRecorder.deliver()).length, 1);
    const unknown = await askFor(browser, `nobody-${randomUUID()}`);
    assert.equal((await pages.mailRecorder.deliver()).length, 0);
    assert.deepEqual(
      [existingResponse.status, existingResponse.text],
      [unknown.status, unknown.text],
    );
    assert.deepEqual(
      [existingResponse.status, existingResponse.text],
      [byMail.status, byMail.text],
    );
    assert.match(
      existingResponse.text,
      /If there is an account with this name, we have sent a link/,
    );
    const empty = await askFor(browser, ' ');
    assert.equal(empty.status, 422);
  });

  test('the link back leads to the sign-in that the user came from', async () => {
    const browser = pages.openBrowser();
    const first = await browser.browse(pages.link);
    const [, path = ''] = /href="([^"]+forgotten-password[^"]*)"/.exec(first.text) ?? [];
    const page = await browser.browse(path);
    assert.ok(page.text.includes(`href="${first.url.pathname}"`));
    const sent = await submitForm(browser, page, { identifier: 'anybody' });
    assert.ok(sent.text.includes(`href="${first.url.pathname}"`));
  });

  test('a reset link sets the password once, and opening it does not use it up', async () => {
    const person = await createTestUser(pages.realm);
    const before = pages.openBrowser();
    const page = await before.browse(`${pages.base}/sign-in/account`);
    const { username } = person.user;
    await followRedirects(
      before,
      await submitForm(before, page, { username, password: person.password }),
    );

    const link = await resetLink(person);
    const scanner = pages.openBrowser();
    for (let openedPage = 0; openedPage < 3; openedPage += 1) {
      assert.equal((await scanner.visit(pathOf(link))).status, 200);
    }
    assert.equal((await scanner.visit(pathOf(link), { method: 'HEAD' })).status, 200);

    const browser = pages.openBrowser();
    const formPage = await browser.browse(pathOf(link));
    assert.match(formPage.text, /Choose a new password/);
    assert.ok(formPage.text.includes(`value="${username}"`), 'for password managers');
    assert.equal(formPage.text.match(/autocomplete="new-password"/g)?.length, 2);
    assert.equal(formPage.headers['referrer-policy'], 'no-referrer');
    assert.equal(formPage.headers['cache-control'], 'no-store');

    const password = newWords();
    for (const [fields, says] of [
      [{ password: '', repeated: '' }, /please fill in this field/],
      [{ password: 'short', repeated: 'short' }, /at least 15 characters/],
      [{ password: 'passwordpassword', repeated: 'passwordpassword' }, /Too easy to guess/],
      [{ password, repeated: `${password}x` }, /not the same/],
      [{ password: 'x'.repeat(600), repeated: 'x' }, /Too long/],
    ] as const) {
      const response = await submitForm(browser, formPage, fields);
      assert.equal(response.status, 422);
      assert.match(response.text, says);
      assert.equal(
        response.text.includes('value="short"'),
        false,
        'the page does not contain the password',
      );
    }
    const done = await submitForm(browser, formPage, { password, repeated: password });
    assert.equal(done.status, 200, done.text);
    assert.match(done.text, /Your password is saved/);
    assert.equal(await canSignIn(person, password), true);
    assert.equal(await canSignIn(person, person.password), false);
    assert.equal(
      (await before.visit(`${pages.base}/account`)).status,
      303,
      'signed out in other browsers',
    );

    const again = await submitForm(browser, formPage, { password, repeated: password });
    assert.equal(again.status, 410);
    assert.ok(
      again.text.includes(`href="${pages.base}/forgotten-password"`),
      'a link to request another one',
    );
  });

  test('an expired, unknown or foreign link shows an error page', async () => {
    const person = await createTestUser(pages.realm);
    const link = await resetLink(person);
    const other = await openSignInPages();
    try {
      const response = await other.openBrowser().visit(`${other.base}/links/${link}`);
      assert.equal(response.status, 410, 'in another realm');
    } finally {
      await other.close();
    }
    const browser = pages.openBrowser();
    const page = await browser.browse(pathOf(link));
    pages.clock.advance(3_600_001);
    for (const response of [
      await browser.visit(pathOf(link)),
      await browser.visit(pathOf('x'.repeat(43))),
      await browser.visit(pathOf('short')),
      await submitForm(browser, page, { password: newWords(), repeated: newWords() }),
    ]) {
      assert.equal(response.status, 410);
      assert.match(response.text, /This link no longer works/);
      assert.match(response.text, /Request ID <code>[0-9a-f-]{36}<\/code>/);
    }
  });

  test('an activation sets the first password and then one-time codes', async () => {
    const person = await createTestUser(pages.realm, {
      secondFactor: 'Required',
      password: undefined,
    });
    await pages.realm.identity.accounts.emailLinks.sendInvitation(person.user);
    const link = linkTokenIn(await pages.mailRecorder.deliver());
    const browser = pages.openBrowser();
    pages.clock.advance(23 * 3_600_000);
    const formPage = await browser.browse(pathOf(link));
    assert.match(formPage.text, /Choose your password/);
    assert.match(formPage.text, /At least 12 characters/);
    const password = newWords();
    const sent = await submitForm(browser, formPage, { password, repeated: password });
    const page = await followRedirects(browser, sent);
    assert.equal(page.url.pathname, `${pages.base}/activation/one-time-code`);
    const [, key = ''] = /<code class="key">([^<]+)</.exec(page.text) ?? [];
    const secret = key.replaceAll(' ', '');
    const code = otpCodeAt(secret, pages.clock.now());
    const codesPage = await submitForm(browser, page, { code });
    assert.match(codesPage.text, /Save your recovery codes/);
    const ready = await submitForm(browser, codesPage, { saved: 'yes' });
    assert.match(ready.text, /Your account is ready/);
    const otherBrowser = pages.openBrowser();
    const otherResponse = await otherBrowser.visit(page.url);
    assert.equal(
      otherResponse.location?.pathname,
      `${pages.base}/activation`,
      'only in this browser',
    );

    pages.clock.advance(30_000);
    const first = pages.openBrowser();
    const { username } = person.user;
    const login = await submitForm(first, await first.browse(pages.link), {
      username,
      password,
      code: otpCodeAt(secret, pages.clock.now()),
    });
    assert.equal(login.status, 303);
  });

  test('an activation without a second factor is complete after the password', async () => {
    const person = await createTestUser(pages.realm, { password: undefined });
    await pages.realm.identity.accounts.emailLinks.sendInvitation(person.user);
    const browser = pages.openBrowser();
    const formPage = await browser.browse(pathOf(linkTokenIn(await pages.mailRecorder.deliver())));
    const password = newWords();
    const done = await submitForm(browser, formPage, { password, repeated: password });
    assert.match(done.text, /Your account is ready/);
    const realm = pages.base.slice('/auth/realms/'.length);
    const way = `/portal/sign-in?domain=${realm}&amp;to=%2Fportal`;
    assert.ok(done.text.includes(way), 'a link to the portal with the user domain');
    assert.equal(await canSignIn(person, password), true);
  });

  test('a new email address is confirmed with a button, not by opening the link', async () => {
    const person = await createTestUser(pages.realm);
    const { accounts } = pages.realm.identity;
    const { organizationId, userId } = person.user;
    await accounts.emailLinks.changeEmail(person.user, 'new@shop.example');
    const path = pathOf(linkTokenIn(await pages.mailRecorder.deliver()));
    const browser = pages.openBrowser();
    const page = await browser.browse(path);
    assert.match(page.text, /Confirm your email address/);
    assert.equal((await accounts.find(organizationId, userId))?.email, person.user.email);
    const done = await submitForm(browser, page, {});
    assert.match(done.text, /Your address is confirmed/);
    assert.equal((await accounts.find(organizationId, userId))?.email, 'new@shop.example');
    assert.equal((await browser.visit(path)).status, 410);
  });
});
