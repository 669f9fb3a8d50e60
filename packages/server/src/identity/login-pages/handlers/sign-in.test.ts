import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
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

describe('the protection of the sign-in pages', () => {
  let pages: SignInPages;
  let person: TestUser;

  before(async () => {
    pages = await openSignInPages();
    person = await createTestUser(pages.realm, { hasOneTimePassword: true });
  });
  after(() => pages.close());

  /** Each code is good once. */
  function nextCode({ otpSecret = '' }: TestUser): string {
    pages.clock.advance(stepMs);
    return otpCodeAt(otpSecret, pages.clock.now());
  }

  async function callback(browser: Browser, sent: BrowserResponse): Promise<URL> {
    const redirectPage = await followRedirects(browser, sent);
    assert.equal(redirectPage.location?.href.split('?')[0], redirectUri, redirectPage.text);
    return redirectPage.location as URL;
  }

  const right = (person: TestUser) => ({
    username: person.user.username,
    password: person.password,
    code: nextCode(person),
  });

  // Spec: IDENT-46
  test('user name, password and code lead back to the application with an authorization code', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    assert.equal(page.status, 200);
    assert.match(page.text, /<html lang="en">/);
    assert.match(page.text, /to continue to Shop Portal/);
    for (const [name, purpose] of [
      ['username', 'username'],
      ['password', 'current-password'],
      ['code', 'one-time-code'],
    ]) {
      assert.match(page.text, new RegExp(`<label for="${name}">`));
      assert.match(page.text, new RegExp(`id="${name}"[^>]* autocomplete="${purpose}"`));
    }
    assert.match(page.text, /id="code"[^>]* inputmode="numeric"/);
    assert.equal(page.text.includes('<script'), false, 'no script');
    const sent = await submitForm(browser, page, right(person));
    assert.equal(sent.status, 303);
    const { searchParams } = await callback(browser, sent);
    assert.ok(searchParams.get('code'));
    assert.equal(searchParams.get('state'), 'a-state');
    const { sessions } = pages.realm.identity;
    const [session] = await sessions.list(pages.realm.organizationId, person.user.userId);
    assert.deepEqual(session?.methods, ['pwd', 'otp']);
  });

  test('a recovery code works in place of a one-time code, in a text field', async () => {
    const { identity } = pages.realm;
    const person = await createTestUser(pages.realm, { hasOneTimePassword: true });
    const [recovery = ''] = await identity.accounts.renewRecoveryCodes(person.user);
    const browser = pages.openBrowser();
    const first = await browser.browse(pages.link);
    const page = await browser.visit(`${first.url.pathname}?with=recovery`);
    assert.match(page.text, /id="code"[^>]* inputmode="text"/);
    const wrong = await submitForm(browser, page, { ...right(person), code: 'AAAAA-AAAAA' });
    assert.equal(wrong.status, 401);
    assert.match(wrong.text, /<label for="code">Recovery code/, 'the same field again');
    await callback(browser, await submitForm(browser, wrong, { ...right(person), code: recovery }));
    const again = pages.openBrowser();
    const refused = await submitForm(again, await again.browse(pages.link), {
      ...right(person),
      code: recovery,
    });
    assert.equal(refused.status, 401, 'once');
  });

  /** What differs from request to request for good reasons. */
  function comparable({ text }: BrowserResponse, username: string): string {
    return text
      .replaceAll(/sign-in\/[\w-]+/g, 'sign-in/uid')
      .replaceAll(/flow=[\w-]+/g, 'flow=uid')
      .replaceAll(/name="token" value="[^"]+"/g, 'token')
      .replaceAll(username, 'NAME');
  }

  test('every failure shows the same page and keeps the user name', async () => {
    const disabled = await createTestUser(pages.realm);
    const { accounts } = pages.realm.identity;
    await accounts.setStatus(pages.realm.organizationId, disabled.user.userId, 'Disabled');
    const { username } = person.user;
    const attempts: [string, Record<string, string>][] = [
      ['a wrong password', { username, password: 'wrong', code: nextCode(person) }],
      ['a wrong code', { username, password: person.password, code: '000000' }],
      ['no code', { username, password: person.password }],
      [
        'an unknown name',
        { username: `nobody-${randomUUID()}`, password: 'wrong', code: '000000' },
      ],
      [
        'a disabled user',
        { username: disabled.user.username, password: disabled.password, code: '' },
      ],
    ];
    const answers = new Set<string>();
    for (const [what, fields] of attempts) {
      const browser = pages.openBrowser();
      const response = await submitForm(browser, await browser.browse(pages.link), fields);
      assert.equal(response.status, 401, what);
      assert.match(String(response.headers['www-authenticate']), /^Form realm=/, what);
      const name = fields['username'] ?? '';
      assert.ok(response.text.includes(`value="${name}"`), `${what}: the name stays`);
      assert.equal(response.text.includes(`value="${fields['password']}"`), false, what);
      assert.match(response.text, /<title>Error · Sign in/, what);
      assert.match(response.text, /role="alert"/, what);
      answers.add(comparable(response, name));
    }
    assert.equal(answers.size, 1, 'five failures, one page');
  });

  // Spec: IDENT-37
  test('12 wrong passwords from other browsers do not lock a browser that has signed in before', async () => {
    const person = await createTestUser(pages.realm);
    const { username } = person.user;
    const signInWith = async (browser: Browser, password: string) =>
      submitForm(browser, await browser.browse(pages.linkWith({ prompt: 'login' })), {
        username,
        password,
      });
    const knownBrowser = pages.openBrowser();
    await callback(knownBrowser, await signInWith(knownBrowser, person.password));
    for (let n = 0; n < 12; n += 1) await signInWith(pages.openBrowser(), 'wrong');
    assert.equal((await signInWith(pages.openBrowser(), person.password)).status, 401);
    await callback(knownBrowser, await signInWith(knownBrowser, person.password));
    for (let n = 0; n < 10; n += 1) await signInWith(knownBrowser, 'wrong');
    assert.equal(
      (await signInWith(knownBrowser, person.password)).status,
      401,
      'it has its own lock',
    );
  });

  test('a missing field is reported next to it, and no attempt is counted', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const response = await submitForm(browser, page, { username: ' ', password: '' });
    assert.equal(response.status, 422);
    for (const name of ['username', 'password']) {
      assert.match(response.text, new RegExp(`<a href="#${name}">`));
      assert.match(response.text, new RegExp(`id="${name}"[^>]* aria-describedby="${name}-fault"`));
      assert.match(response.text, new RegExp(`id="${name}"[^>]* aria-invalid="true"`));
    }
    assert.equal(response.text.match(/ autofocus/g)?.length, 1, 'one field has the focus');
  });

  test('the user name may include the user domain, also in the login hint', async () => {
    const { userDomainId } = pages.realm;
    const { username } = person.user;
    const whole = `${username}@${userDomainId.toUpperCase()}`;
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.linkWith({ login_hint: whole }));
    assert.ok(page.text.includes(`name="username" type="text" maxlength="512"`));
    assert.ok(page.text.includes(`value="${username}"`), 'the hint without the domain');
    await callback(browser, await submitForm(browser, page, { ...right(person), username: whole }));
  });

  test('cancelling returns access_denied to the application', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const { searchParams } = await callback(
      browser,
      await submitForm(browser, page, {}, { to: '/cancel' }),
    );
    assert.equal(searchParams.get('error'), 'access_denied');
    assert.equal(searchParams.get('state'), 'a-state');
  });

  test('an IP address with too many failures must wait, and the page shows how long', async (t) => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const tooOften = async () => ({ ok: false, retryAfterSeconds: 541 }) as const;
    t.mock.method(pages.realm.identity.accounts, 'authenticate', tooOften);
    const response = await submitForm(browser, page, { username: 'jane', password: 'any' });
    assert.equal(response.status, 429);
    assert.equal(response.headers['retry-after'], '541');
    assert.match(response.text, /Too many attempts\. Try again in 10 minutes\./);
  });
});

describe('the user domain page', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  // Spec: SVC-35
  test('asks for user name and user domain, and continues to the account page of that realm', async () => {
    const browser = pages.openBrowser();
    const person = await createTestUser(pages.realm);
    const page = await browser.browse('/auth/sign-in');
    const identifier = `${person.user.username}@${pages.realm.userDomainId}`;
    const sent = await submitForm(browser, page, { identifier });
    assert.equal(sent.status, 303);
    const step = await followRedirects(browser, sent);
    assert.equal(step.url.pathname, `${pages.base}/sign-in/account`);
    assert.ok(step.text.includes(`value="${person.user.username}"`), 'the user name is filled in');
    assert.match(step.text, /to see your account/);
    const { username } = person.user;
    const account = await followRedirects(
      browser,
      await submitForm(browser, step, { username, password: person.password }),
    );
    assert.equal(account.url.pathname, `${pages.base}/account`);
    assert.match(account.text, /Ada Byron/);
  });

  // Spec: SVC-36
  test('a portal host selects the user domain without a form', async () => {
    const portal = await openSignInPages({
      settings: {
        portalDomain: 'portal.example',
        signInBrandName: 'Northbank',
        supportContact: 'help@northbank.example',
      },
    });
    try {
      const browser = portal.openBrowser();
      const { userDomainId } = portal.realm;
      const response = await browser.visit('/auth/sign-in', {
        headers: { host: `${userDomainId}.portal.example` },
      });
      assert.equal(response.location?.href, `${portal.authUrl}${portal.base}/account`);
      for (const host of ['nobody.portal.example', 'portal.example', 'localhost']) {
        const formPage = await browser.visit('/auth/sign-in', { headers: { host } });
        assert.equal(formPage.status, 200, host);
        assert.match(formPage.text, /<title>Sign in · Northbank<\/title>/);
        assert.match(formPage.text, /<a href="mailto:help@northbank\.example">/);
      }
    } finally {
      await portal.close();
    }
  });

  test('shows the error of the user name', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse('/auth/sign-in');
    for (const [identifier, says] of [
      ['', /please fill in this field/],
      ['jane', /then @ and your user domain/],
      ['@acme', /then @ and your user domain/],
      ['jane@nowhere', /no user domain with this name/],
      ['jane@../../evil', /no user domain with this name/],
    ] as const) {
      const response = await submitForm(browser, page, { identifier });
      assert.equal(response.status, 422, identifier);
      assert.match(response.text, says);
    }
  });
});
