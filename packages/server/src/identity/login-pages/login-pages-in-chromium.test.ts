// Whole run: pages in a browser.
// The sign-in in a real browser: with and without JavaScript, in two languages, light and dark.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { assertAccessible } from '../../../test/support/browser/accessibility-check.ts';
import {
  chromiumSkipReason,
  openChromium,
  reasonToSkip,
} from '../../../test/support/browser/chromium.ts';
import {
  openSignInPages,
  redirectUri,
  type SignInPages,
} from '../../../test/support/browser/test-sign-in-pages.ts';
import { movableClock } from '../../../test/support/identity/test-realm.ts';
import {
  createTestUser,
  otpCodeAt,
  type TestUser,
} from '../../../test/support/identity/test-users.ts';
import { linkTokenIn } from '../../../test/support/mail/mail-recorder.ts';

const callback = `${redirectUri}?**`;
/** Long enough for a busy machine. */
const waitLimitMs = 90_000;

test('without a browser the tests are skipped, unless a browser is required', () => {
  assert.match(String(reasonToSkip(undefined, undefined)), /no Chromium/);
  assert.match(String(reasonToSkip(undefined, '0')), /no Chromium/);
  assert.equal(reasonToSkip(undefined, '1'), false, 'then they fail');
  assert.equal(reasonToSkip('/usr/bin/chromium', undefined), false);
});

describe('in a real browser', { skip: chromiumSkipReason }, () => {
  let pages: SignInPages;
  let chromium: Browser | undefined;

  before(async () => {
    pages = await openSignInPages({ listens: true, clock: movableClock(Date.now()) });
    // The application is another site, and the content security policy must allow the redirect.
    const hosts = {
      names: [new URL(redirectUri).host],
      at: `127.0.0.1:${new URL(pages.authUrl).port}`,
    };
    chromium = await openChromium({ certificate: pages.certificate, hosts });
  });
  after(async () => {
    await chromium?.close();
    await pages.close();
  });

  /** The status of an answer, and a walk that was in a field before the page was all there. */
  const noComplaints = ['Failed to load resource', 'Autofocus processing was blocked'];

  /** Runs a walk in a window of its own, and looks at what the browser complained of. */
  async function walk(
    options: BrowserContextOptions,
    steps: (page: Page, context: BrowserContext) => Promise<void>,
  ): Promise<void> {
    assert.ok(chromium !== undefined);
    const context = await chromium.newContext({ baseURL: pages.authUrl, ...options });
    context.setDefaultTimeout(waitLimitMs);
    try {
      const complaints: string[] = [];
      const requestedOrigins = new Set<string>();
      context.on('console', (message) => {
        if (!noComplaints.some((text) => message.text().startsWith(text))) {
          complaints.push(message.text());
        }
      });
      context.on('weberror', (fault) => complaints.push(String(fault.error())));
      context.on('request', (request) => requestedOrigins.add(new URL(request.url()).origin));
      await steps(await context.newPage(), context);
      assert.deepEqual(complaints, []);
      requestedOrigins.delete('null');
      requestedOrigins.delete(new URL(redirectUri).origin);
      assert.deepEqual([...requestedOrigins], [pages.authUrl], 'no request to another host');
    } finally {
      await context.close();
    }
  }

  function codeOf(secret: string): string {
    pages.clock.advance(30_000);
    return otpCodeAt(secret, pages.clock.now());
  }

  const keyOn = async (page: Page): Promise<string> =>
    ((await page.textContent('.key')) ?? '').replaceAll(' ', '');

  async function send(page: Page, fields: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const [name, value] of Object.entries(fields)) await page.fill(`#${name}`, value);
    await page.click('main button.primary');
  }

  async function saveCodes(page: Page): Promise<void> {
    await page.locator('.codes code').nth(9).waitFor();
    assert.equal(await page.locator('.codes code').count(), 10);
    await page.check('#saved');
    await page.click('main button.primary');
  }

  const personWith = (facts: Parameters<typeof createTestUser>[1]): Promise<TestUser> =>
    createTestUser(pages.realm, facts);

  for (const locale of ['en-GB', 'fr-FR']) {
    test(`every page of a sign-in is accessible, in ${locale}`, async () => {
      const person = await personWith({ secondFactor: 'Required' });
      const { username } = person.user;
      const { password } = person;
      await walk({ locale }, async (page) => {
        const colorScheme = (name: string) => assertAccessible(page, `${name}, ${locale}`);
        await page.goto('/auth/sign-in');
        await colorScheme('the entry');
        await send(page, { identifier: username });
        await colorScheme('the entry with a fault');
        await page.goto(pages.link);
        await colorScheme('the sign-in');
        await send(page, { username, password: 'wrong' });
        await colorScheme('the sign-in with a fault');
        await page.click('a[href$="with=recovery"]');
        await colorScheme('the sign-in with a recovery code');
        await send(page, { username, password });
        await colorScheme('the enrolment');
        await send(page, { code: '000000' });
        await colorScheme('the enrolment with a fault');
        await send(page, { code: codeOf(await keyOn(page)) });
        await colorScheme('the recovery codes');
        await saveCodes(page);
        await page.waitForURL(callback);
        assert.ok(
          new URL(page.url()).searchParams.get('code'),
          'the browser is back at the application',
        );
        for (const [name, path] of [
          ['a stale sign-in', `${pages.base}/sign-in/stale`],
          ['a used link', `${pages.base}/links/used`],
          ['a bad client', `${pages.base}/protocol/openid-connect/auth?client_id=nobody`],
          ['the sign-out', `${pages.base}/protocol/openid-connect/logout`],
        ] as const) {
          await page.goto(path);
          await colorScheme(name);
        }
        await page.click('main button.primary');
        await colorScheme('the end of the sign-out');
      });
    });

    test(`the account page and its linked pages are accessible, in ${locale}`, async () => {
      const person = await personWith({ hasOneTimePassword: true });
      const { otpSecret = '', password } = person;
      const { username } = person.user;
      await walk({ locale }, async (page) => {
        const colorScheme = (name: string) => assertAccessible(page, `${name}, ${locale}`);
        const account = `${pages.base}/account`;
        await page.goto(account);
        await send(page, { username, password, code: codeOf(otpSecret) });
        await page.waitForURL(`**${account}`);
        await colorScheme('the account');
        await page.goto(`${account}/password`);
        await colorScheme('the confirmation');
        await send(page, { password: 'wrong', code: '000000' });
        await colorScheme('the confirmation with a fault');
        await send(page, { password, code: codeOf(otpSecret) });
        await colorScheme('the new password');
        await send(page, { password: 'short', repeated: 'other' });
        await colorScheme('the new password with a fault');
        for (const path of ['one-time-code', 'recovery-codes', 'passkeys']) {
          await page.goto(`${account}/${path}`);
          await colorScheme(path);
        }
        await page.goto(account);
        await page.click('.title button');
        await page.waitForURL('**/signed-out');
        await colorScheme('the end');
        await page.goto(`${pages.base}/forgotten-password`);
        await colorScheme('the forgotten password');
        await send(page, { identifier: username });
        await colorScheme('the mail on its way');
        await page.goto(`${pages.base}/links/${linkTokenIn(await pages.mailRecorder.deliver())}`);
        await colorScheme('the link');
      });
    });
  }

  for (const javaScriptEnabled of [true, false]) {
    const how = javaScriptEnabled ? 'with JavaScript' : 'without JavaScript';

    test(`first password, one-time codes, sign-in, reset and account page, ${how}`, async () => {
      const person = await personWith({ secondFactor: 'Required', password: undefined });
      const { username } = person.user;
      await pages.realm.identity.accounts.emailLinks.sendInvitation(person.user);
      const invitation = linkTokenIn(await pages.mailRecorder.deliver());
      const first = `fresh words for ${randomUUID()}`;
      const second = `other words for ${randomUUID()}`;
      await walk({ javaScriptEnabled, locale: 'en-GB' }, async (page) => {
        await page.goto(`${pages.base}/links/${invitation}`);
        await send(page, { password: first, repeated: first });
        const secret = await keyOn(page);
        await send(page, { code: codeOf(secret) });
        await saveCodes(page);
        await page.getByRole('heading', { name: 'Your account is ready' }).waitFor();

        await page.goto(pages.link);
        await send(page, { username, password: first, code: codeOf(secret) });
        await page.waitForURL(callback);

        await page.goto(pages.linkWith({ prompt: 'login' }));
        await page.getByRole('link', { name: 'Forgotten your password?' }).click();
        await send(page, { identifier: username });
        const reset = linkTokenIn(await pages.mailRecorder.deliver());
        await page.goto(`${pages.base}/links/${reset}`);
        await send(page, { password: second, repeated: second });
        await page.getByRole('link', { name: 'Sign in' }).click();
        await send(page, { username, password: second, code: codeOf(secret) });
        await page.waitForURL(`**${pages.base}/account`);
        await page.getByRole('link', { name: 'Create new recovery codes' }).click();
        await send(page, { password: second, code: codeOf(secret) });
        await send(page);
        await saveCodes(page);
        await page.getByText('new recovery codes are active').waitFor();
        await page.getByRole('button', { name: 'Sign out', exact: true }).click();
        await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
      });
    });
  }

  // Spec: IDENT-46
  test('the keyboard is enough, and an unchecked box loses no codes', async () => {
    const person = await personWith({ secondFactor: 'Required' });
    await walk({ locale: 'en-GB' }, async (page) => {
      await page.goto(pages.link);
      const { keyboard } = page;
      // The page focuses the field after it is rendered.
      await page.locator('#username:focus').waitFor();
      await keyboard.type(person.user.username);
      await keyboard.press('Tab');
      await keyboard.type(person.password);
      await keyboard.press('Enter');
      const secret = await keyOn(page);
      await page.focus('#code');
      await keyboard.type(codeOf(secret));
      await keyboard.press('Enter');
      await page.locator('.codes').waitFor();
      await page.focus('#saved');
      await keyboard.press('Tab');
      await keyboard.press('Enter');
      assert.equal(await page.locator('.codes code').count(), 10, 'the browser requires the box');
      await page.focus('#saved');
      await keyboard.press('Space');
      await keyboard.press('Tab');
      await keyboard.press('Enter');
      await page.waitForURL(callback);
    });
  });

  test('a passkey is added, used in place of a code, and removed', async () => {
    const person = await personWith({ hasOneTimePassword: true });
    const { otpSecret = '', password } = person;
    const { username } = person.user;
    await walk({ locale: 'en-GB' }, async (page, context) => {
      const devtools = await context.newCDPSession(page);
      await devtools.send('WebAuthn.enable');
      const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasUserVerification: true,
          hasResidentKey: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      await page.goto(`${pages.base}/account/passkeys`);
      await send(page, { username, password, code: codeOf(otpSecret) });
      await page.goto(`${pages.base}/account/passkeys`);
      await send(page, { password, code: codeOf(otpSecret) });
      await page.fill('#name', 'Work laptop');
      await page.getByRole('button', { name: 'Add a passkey' }).click();
      await page.getByText('The passkey is added.').waitFor();

      await page.goto(pages.linkWith({ prompt: 'login' }));
      await send(page, { username, password });
      await page.getByRole('heading', { name: 'Use your passkey' }).waitFor();
      await assertAccessible(page, 'the passkey');
      await page.getByRole('button', { name: 'Use passkey' }).click();
      await page.waitForURL(callback);
      const { sessions } = pages.realm.identity;
      const [session] = await sessions.list(pages.realm.organizationId, person.user.userId);
      assert.deepEqual(session?.methods, ['pwd', 'hwk']);

      await devtools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
      await page.goto(`${pages.base}/account/passkeys`);
      await page.getByRole('button', { name: 'Remove: Work laptop' }).click();
      await page.getByText('The passkey is removed.').waitFor();
    });
  });

  test('without JavaScript the passkey page offers an alternative', async () => {
    const person = await personWith({ hasOneTimePassword: true });
    const { otpSecret = '', password } = person;
    const { username } = person.user;
    const { passkeys } = pages.realm.identity.accounts;
    await walk({ locale: 'en-GB', javaScriptEnabled: false }, async (page) => {
      await page.goto(`${pages.base}/account/passkeys`);
      await send(page, { username, password, code: codeOf(otpSecret) });
      await page.goto(`${pages.base}/account/passkeys`);
      await send(page, { password, code: codeOf(otpSecret) });
      await page.locator('noscript .summary').waitFor();
      assert.equal(await page.locator('#passkey-button').isVisible(), false);
      assert.deepEqual(await passkeys.list(person.user), []);
    });
  });
});
