import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Browser, Seen } from '../../../../test/browser.ts';
import { codeAt, createPerson, type Person } from '../../../../test/people.ts';
import {
  followed,
  openSignInPages,
  redirectUri,
  type SignInPages,
  submit,
} from '../../../../test/sign-in-pages.ts';

const stepMs = 30_000;

describe('signing in', () => {
  let pages: SignInPages;
  let person: Person;

  before(async () => {
    pages = await openSignInPages();
    person = await createPerson(pages.realm, { hasOneTimePassword: true });
  });
  after(() => pages.close());

  /** Each code is good once. */
  function nextCode({ otpSecret = '' }: Person): string {
    pages.clock.advance(stepMs);
    return codeAt(otpSecret, pages.clock.now());
  }

  async function callback(browser: Browser, sent: Seen): Promise<URL> {
    const back = await followed(browser, sent);
    assert.equal(back.location?.href.split('?')[0], redirectUri, back.text);
    return back.location as URL;
  }

  const right = (who: Person) => ({
    username: who.user.username,
    password: who.password,
    code: nextCode(who),
  });

  test('name, password and code lead back to the application with a code', async () => {
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
    const sent = await submit(browser, page, right(person));
    assert.equal(sent.status, 303);
    const { searchParams } = await callback(browser, sent);
    assert.ok(searchParams.get('code'));
    assert.equal(searchParams.get('state'), 'a-state');
    const { sessions } = pages.realm.identity;
    const [session] = await sessions.list(pages.realm.organizationId, person.user.userId);
    assert.deepEqual(session?.methods, ['pwd', 'otp']);
  });

  test('a recovery code serves in place of a one-time code, typed into a field for letters', async () => {
    const { identity } = pages.realm;
    const who = await createPerson(pages.realm, { hasOneTimePassword: true });
    const [recovery = ''] = await identity.accounts.renewRecoveryCodes(who.user);
    const browser = pages.openBrowser();
    const first = await browser.browse(pages.link);
    const page = await browser.visit(`${first.url.pathname}?with=recovery`);
    assert.match(page.text, /id="code"[^>]* inputmode="text"/);
    const wrong = await submit(browser, page, { ...right(who), code: 'AAAAA-AAAAA' });
    assert.equal(wrong.status, 401);
    assert.match(wrong.text, /<label for="code">Recovery code/, 'the same field again');
    await callback(browser, await submit(browser, wrong, { ...right(who), code: recovery }));
    const again = pages.openBrowser();
    const refused = await submit(again, await again.browse(pages.link), {
      ...right(who),
      code: recovery,
    });
    assert.equal(refused.status, 401, 'once');
  });

  /** What differs from request to request for good reasons. */
  function comparable({ text }: Seen, username: string): string {
    return text
      .replaceAll(/sign-in\/[\w-]+/g, 'sign-in/uid')
      .replaceAll(/flow=[\w-]+/g, 'flow=uid')
      .replaceAll(/name="token" value="[^"]+"/g, 'token')
      .replaceAll(username, 'NAME');
  }

  test('whatever is wrong, the page says the same and keeps the name', async () => {
    const disabled = await createPerson(pages.realm);
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
      const seen = await submit(browser, await browser.browse(pages.link), fields);
      assert.equal(seen.status, 401, what);
      assert.match(String(seen.headers['www-authenticate']), /^Form realm=/, what);
      const name = fields['username'] ?? '';
      assert.ok(seen.text.includes(`value="${name}"`), `${what}: the name stays`);
      assert.equal(seen.text.includes(`value="${fields['password']}"`), false, what);
      assert.match(seen.text, /<title>Error · Sign in/, what);
      assert.match(seen.text, /role="alert"/, what);
      answers.add(comparable(seen, name));
    }
    assert.equal(answers.size, 1, 'five refusals, one page');
  });

  test('12 wrong passwords from anywhere do not lock a browser out that has signed in before', async () => {
    const who = await createPerson(pages.realm);
    const { username } = who.user;
    const signInWith = async (browser: Browser, password: string) =>
      submit(browser, await browser.browse(pages.linkWith({ prompt: 'login' })), {
        username,
        password,
      });
    const own = pages.openBrowser();
    await callback(own, await signInWith(own, who.password));
    for (let n = 0; n < 12; n += 1) await signInWith(pages.openBrowser(), 'wrong');
    assert.equal((await signInWith(pages.openBrowser(), who.password)).status, 401);
    await callback(own, await signInWith(own, who.password));
    for (let n = 0; n < 10; n += 1) await signInWith(own, 'wrong');
    assert.equal((await signInWith(own, who.password)).status, 401, 'it has a lock of its own');
  });

  test('what is missing is named beside its field, and nothing is counted', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const seen = await submit(browser, page, { username: ' ', password: '' });
    assert.equal(seen.status, 422);
    for (const name of ['username', 'password']) {
      assert.match(seen.text, new RegExp(`<a href="#${name}">`));
      assert.match(seen.text, new RegExp(`id="${name}"[^>]* aria-describedby="${name}-fault"`));
      assert.match(seen.text, new RegExp(`id="${name}"[^>]* aria-invalid="true"`));
    }
    assert.equal(seen.text.match(/ autofocus/g)?.length, 1, 'one field has the focus');
  });

  test('the user domain may stand behind the name, and the hint of the application before it', async () => {
    const { userDomainId } = pages.realm;
    const { username } = person.user;
    const whole = `${username}@${userDomainId.toUpperCase()}`;
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.linkWith({ login_hint: whole }));
    assert.ok(page.text.includes(`name="username" type="text" maxlength="512"`));
    assert.ok(page.text.includes(`value="${username}"`), 'the hint without the domain');
    await callback(browser, await submit(browser, page, { ...right(person), username: whole }));
  });

  test('who cancels goes back to the application with a denial', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const { searchParams } = await callback(
      browser,
      await submit(browser, page, {}, { to: '/cancel' }),
    );
    assert.equal(searchParams.get('error'), 'access_denied');
    assert.equal(searchParams.get('state'), 'a-state');
  });

  test('an address that fails too often waits, and is told how long', async (t) => {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const tooOften = async () => ({ ok: false, retryAfterSeconds: 541 }) as const;
    t.mock.method(pages.realm.identity.accounts, 'authenticate', tooOften);
    const seen = await submit(browser, page, { username: 'jane', password: 'any' });
    assert.equal(seen.status, 429);
    assert.equal(seen.headers['retry-after'], '541');
    assert.match(seen.text, /Too many attempts\. Try again in 10 minutes\./);
  });
});

describe('the general entry', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  test('asks for name and user domain, and goes on to the account page of that realm', async () => {
    const browser = pages.openBrowser();
    const person = await createPerson(pages.realm);
    const page = await browser.browse('/auth/sign-in');
    const identifier = `${person.user.username}@${pages.realm.userDomainId}`;
    const sent = await submit(browser, page, { identifier });
    assert.equal(sent.status, 303);
    const step = await followed(browser, sent);
    assert.equal(step.url.pathname, `${pages.base}/sign-in/account`);
    assert.ok(step.text.includes(`value="${person.user.username}"`), 'asked once');
    assert.match(step.text, /to see your account/);
    const { username } = person.user;
    const account = await followed(
      browser,
      await submit(browser, step, { username, password: person.password }),
    );
    assert.equal(account.url.pathname, `${pages.base}/account`);
    assert.match(account.text, /Ada Byron/);
  });

  test('a host of the portal selects the domain, and nobody is asked', async () => {
    const portal = await openSignInPages({
      settings: {
        portalDomain: 'portal.example',
        signInName: 'Northbank',
        supportContact: 'help@northbank.example',
      },
    });
    try {
      const browser = portal.openBrowser();
      const { userDomainId } = portal.realm;
      const seen = await browser.visit('/auth/sign-in', {
        headers: { host: `${userDomainId}.portal.example` },
      });
      assert.equal(seen.location?.href, `${portal.authUrl}${portal.base}/account`);
      for (const host of ['nobody.portal.example', 'portal.example', 'localhost']) {
        const asked = await browser.visit('/auth/sign-in', { headers: { host } });
        assert.equal(asked.status, 200, host);
        assert.match(asked.text, /<title>Sign in · Northbank<\/title>/);
        assert.match(asked.text, /<a href="mailto:help@northbank\.example">/);
      }
    } finally {
      await portal.close();
    }
  });

  test('says what is wrong with the name', async () => {
    const browser = pages.openBrowser();
    const page = await browser.browse('/auth/sign-in');
    for (const [identifier, says] of [
      ['', /please fill in this field/],
      ['jane', /then @ and your user domain/],
      ['@acme', /then @ and your user domain/],
      ['jane@nowhere', /no user domain with this name/],
      ['jane@../../evil', /no user domain with this name/],
    ] as const) {
      const seen = await submit(browser, page, { identifier });
      assert.equal(seen.status, 422, identifier);
      assert.match(seen.text, says);
    }
  });
});
