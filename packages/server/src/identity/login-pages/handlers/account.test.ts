import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserResponse } from '../../../../test/support/browser/cookie-browser.ts';
import {
  followRedirects,
  openSignInPages,
  readForms,
  type SignInPages,
  submitForm,
} from '../../../../test/support/browser/test-sign-in-pages.ts';
import {
  createTestUser,
  otpCodeAt,
  type TestUser,
} from '../../../../test/support/identity/test-users.ts';

describe('the account page', () => {
  let pages: SignInPages;
  let base: string;

  before(async () => {
    pages = await openSignInPages();
    base = `${pages.base}/account`;
  });
  after(() => pages.close());

  function codeOf({ otpSecret }: Pick<TestUser, 'otpSecret'>): string {
    if (otpSecret === undefined) return '';
    pages.clock.advance(30_000);
    return otpCodeAt(otpSecret, pages.clock.now());
  }

  async function signIn(
    person: TestUser,
    password = person.password,
  ): Promise<[Browser, BrowserResponse]> {
    const browser = pages.openBrowser();
    const page = await browser.browse(base);
    assert.equal(page.url.pathname, `${pages.base}/sign-in/account`, 'no user is signed in');
    const { username } = person.user;
    const sent = await submitForm(browser, page, { username, password, code: codeOf(person) });
    return [browser, await followRedirects(browser, sent)];
  }

  /** Opens a guarded page by typing the password again. */
  async function unlock(
    browser: Browser,
    person: TestUser,
    page: string,
  ): Promise<BrowserResponse> {
    const confirmationPage = await browser.browse(`${base}/${page}`);
    assert.match(confirmationPage.text, /Confirm that it is you/);
    const { password } = person;
    return followRedirects(
      browser,
      await submitForm(browser, confirmationPage, { password, code: codeOf(person) }),
    );
  }

  const isSignedIn = async (browser: Browser) => (await browser.visit(base)).status === 200;

  test('shows the user, the sessions and the recent sign-ins', async () => {
    const person = await createTestUser(pages.realm, { zoneinfo: 'Asia/Tokyo' });
    const otherBrowser = pages.openBrowser();
    const { username } = person.user;
    await submitForm(otherBrowser, await otherBrowser.browse(base), {
      username,
      password: 'wrong',
    });
    const browser = pages.openBrowser();
    const page = await browser.browse(base);
    const userAgent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Firefox/140.0';
    const sent = await submitForm(
      browser,
      page,
      { username, password: person.password },
      { headers: { 'user-agent': userAgent } },
    );
    const { status, text } = await followRedirects(browser, sent);
    assert.equal(status, 200);
    assert.match(text, /Signed in as <strong>Ada Byron<\/strong>/);
    assert.ok(text.includes(`(${username}@${pages.realm.userDomainId})`));
    assert.match(text, /This browser/);
    assert.match(text, /<h3>Firefox on Windows<span class="tag">This browser/);
    assert.match(text, /<strong>Signed in<\/strong><p>[^<]+Firefox on Windows · 127\.0\.0\.1/);
    assert.match(text, /<strong class="refused">Refused<\/strong>/);
    const local = new Intl.DateTimeFormat('en-GB', {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: 'Asia/Tokyo',
    } as const).format(pages.clock.now());
    assert.ok(text.includes(local), `${local} in the user's own zone`);
  });

  test('signs out one session, all others, and this one', async () => {
    const person = await createTestUser(pages.realm);
    const [mine] = await signIn(person);
    const [second] = await signIn(person);
    const [third] = await signIn(person);
    const other = await createTestUser(pages.realm);
    const [otherPage, theirPage] = await signIn(other);
    assert.equal(
      readForms(theirPage).some(({ action }) => action.endsWith('/end')),
      false,
    );

    const page = await mine.browse(base);
    const ends = readForms(page).filter(({ action }) => action.endsWith('/sessions/end'));
    assert.equal(ends.length, 2, 'the current session has no such button');
    const endedPage = await followRedirects(
      mine,
      await submitForm(mine, page, { session: ends[1]?.hidden['session'] ?? '' }, { to: '/end' }),
    );
    assert.match(endedPage.text, /The session is signed out/);
    const signedInStates = await Promise.all([second, third].map(isSignedIn));
    assert.equal(signedInStates.filter(Boolean).length, 1);

    const { sessions } = pages.realm.identity;
    const [foreign] = await sessions.list(pages.realm.organizationId, other.user.userId);
    await submitForm(
      mine,
      endedPage,
      { session: foreign?.sessionId ?? '' },
      { to: '/sessions/end' },
    );
    assert.equal(
      await isSignedIn(otherPage),
      true,
      'a user cannot end the session of another user',
    );

    const [fourth] = await signIn(person);
    const now = await mine.browse(base);
    const rest = await followRedirects(
      mine,
      await submitForm(mine, now, {}, { to: '/end-others' }),
    );
    assert.match(rest.text, /signed out everywhere else/);
    const all = await Promise.all([second, third, fourth, mine].map(isSignedIn));
    assert.deepEqual(all, [false, false, false, true]);

    const out = await followRedirects(mine, await submitForm(mine, rest, {}, { to: '/sign-out' }));
    assert.match(out.text, /You are signed out/);
    assert.equal(await isSignedIn(mine), false);
  });

  test('asks for the password before a change, and again after five minutes', async () => {
    const person = await createTestUser(pages.realm, { hasOneTimePassword: true });
    const [browser] = await signIn(person);
    for (const page of ['password', 'one-time-code', 'recovery-codes', 'passkeys']) {
      const response = await browser.browse(`${base}/${page}`);
      assert.match(response.text, /Confirm that it is you/, page);
    }
    const confirmPage = await browser.browse(`${base}/password`);
    assert.ok(confirmPage.text.includes('name="code"'), 'also for the code if there is one');
    for (const [fields, status] of [
      [{ password: '' }, 422],
      [{ password: 'wrong', code: codeOf(person) }, 401],
      [{ password: person.password }, 401],
      [{ password: person.password, code: '000000' }, 401],
    ] as const) {
      assert.equal((await submitForm(browser, confirmPage, fields)).status, status);
    }
    const words = `fresh words for ${randomUUID()}`;
    const early = await browser.visit(`${base}/password`, {
      form: { ...readForms(confirmPage)[0]?.hidden, password: words, repeated: words },
    });
    assert.match(early.text, /Confirm that it is you/, 'a form does not bypass it');

    assert.match((await unlock(browser, person, 'password')).text, /Change your password/);
    const passkeys = await browser.browse(`${base}/passkeys`);
    assert.match(passkeys.text, /Add a passkey/, 'one confirmation opens all protected pages');
    const [other] = await signIn(person);
    const otherPage = await other.browse(`${base}/password`);
    assert.match(otherPage.text, /Confirm that it is you/, 'only for this session');
    pages.clock.advance(5 * 60_000 + 1);
    assert.match((await browser.browse(`${base}/password`)).text, /Confirm that it is you/);
  });

  test('a new password signs out everywhere else and starts a new session', async () => {
    const person = await createTestUser(pages.realm);
    const [browser] = await signIn(person);
    const [other] = await signIn(person);
    const page = await unlock(browser, person, 'password');
    const bad = await submitForm(browser, page, { password: 'short', repeated: 'short' });
    assert.equal(bad.status, 422);
    const words = `fresh words for ${randomUUID()}`;
    const before = browser.cookies.find(({ name }) => name.includes('-session-'))?.value;
    const sent = await submitForm(browser, page, { password: words, repeated: words });
    const done = await followRedirects(browser, sent);
    assert.match(done.text, /Your password is changed/);
    const now = browser.cookies.find(({ name }) => name.includes('-session-'))?.value;
    assert.notEqual(now, before);
    assert.equal(await isSignedIn(other), false);
    const [, again] = await signIn(person, words);
    assert.equal(again.status, 200);
  });

  // Spec: ONB-7
  test('one-time codes are set up and replaced, and recovery codes are renewed', async () => {
    const person = await createTestUser(pages.realm);
    const [browser, account] = await signIn(person);
    assert.match(account.text, /Set up one-time codes first/, 'passkeys need one-time codes first');
    const [byPassword] = await signIn(person);
    const page = await unlock(browser, person, 'one-time-code');
    const [, key = ''] = /<code class="key">([^<]+)</.exec(page.text) ?? [];
    const otpSecret = key.replaceAll(' ', '');
    const codesPage = await submitForm(browser, page, { code: codeOf({ otpSecret }) });
    assert.match(codesPage.text, /Save your recovery codes/);
    const signedInBrowsers = await Promise.all([byPassword, browser].map(isSignedIn));
    assert.deepEqual(signedInBrowsers, [false, true], 'sessions without a second factor are ended');
    const enabledPage = await followRedirects(
      browser,
      await submitForm(browser, codesPage, { saved: 'yes' }),
    );
    assert.match(enabledPage.text, /One-time codes are set up/);
    assert.match(enabledPage.text, /aria-label="Replace one-time codes"/);

    const withCodes = { ...person, otpSecret };
    const [later] = await signIn(withCodes);
    const replace = await unlock(later, withCodes, 'one-time-code');
    const [, newKey = ''] = /<code class="key">([^<]+)</.exec(replace.text) ?? [];
    assert.notEqual(newKey, key);
    const [sessionBefore] = await signIn(withCodes);
    assert.equal(await isSignedIn(sessionBefore), true, 'the old codes stay valid until then');
    const fresh = { ...person, otpSecret: newKey.replaceAll(' ', '') };
    const codes = await submitForm(later, replace, { code: codeOf(fresh) });
    await followRedirects(later, await submitForm(later, codes, { saved: 'yes' }));
    const [last, lastPage] = await signIn(fresh);
    assert.equal(lastPage.status, 200);

    const renew = await unlock(last, fresh, 'recovery-codes');
    assert.match(renew.text, /will stop working/);
    const renewed = await submitForm(last, renew, {}, { to: '/renew' });
    assert.equal(renewed.text.match(/<li><code>/g)?.length, 10);
    const done = await followRedirects(last, await submitForm(last, renewed, { saved: 'yes' }));
    assert.match(done.text, /new recovery codes are active/);
  });

  test('a passkey without a valid signature is not added, and an unknown one is not removed', async () => {
    const person = await createTestUser(pages.realm, { hasOneTimePassword: true });
    const [browser] = await signIn(person);
    const page = await unlock(browser, person, 'passkeys');
    assert.match(page.text, /id="passkey-options" data-kind="new" data-options="\{&quot;/);
    assert.match(page.text, /<noscript>/);
    assert.match(String(page.headers['content-security-policy']), /script-src 'self'/);
    for (const response of ['', 'x', '{}', '[]', 'null', '{"id":"a","response":{}}']) {
      const refused = await submitForm(
        browser,
        page,
        { response, name: 'Mine' },
        { to: '/passkeys' },
      );
      assert.equal(refused.status, 422, response);
    }
    const { accounts } = pages.realm.identity;
    assert.deepEqual(await accounts.passkeys.list(person.user), []);
    const removedPage = await browser.visit(`${base}/passkeys/remove`, {
      form: { ...readForms(page)[0]?.hidden, passkey: 'nothing' },
    });
    assert.equal(removedPage.status, 303);
  });
});
