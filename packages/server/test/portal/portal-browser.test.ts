// Whole run: pages in a browser.
// The built portal in a real browser: sign-in by the realm's pages, an ended session, two tabs, and
// no request to another origin.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { chromiumSkipReason, openChromium } from '../support/browser/chromium.ts';
import { createTestUser, type TestUser } from '../support/identity/test-users.ts';
import {
  openPortalTestServer,
  type PortalRealm,
  type PortalTestServer,
} from './portal-test-platform.ts';

/** A long limit, because the machine may be busy. */
const waitLimitMs = 90_000;

describe('the portal in a real browser', { skip: chromiumSkipReason }, () => {
  let portal: PortalTestServer;
  let realm: PortalRealm;
  let chromium: Browser | undefined;

  before(async () => {
    portal = await openPortalTestServer({ isBuilt: true });
    realm = await portal.newRealm();
    chromium = await openChromium({ certificate: portal.certificate });
  });
  after(async () => {
    await chromium?.close();
    await portal.close();
  });

  /** Runs steps in a separate browser context, and asserts that the browser reported no problem. */
  async function walk(steps: (page: Page, context: BrowserContext) => Promise<void>) {
    assert.ok(chromium !== undefined);
    const context = await chromium.newContext({
      baseURL: portal.settings.baseUrl,
      locale: 'en-GB',
    });
    context.setDefaultTimeout(waitLimitMs);
    const complaints: string[] = [];
    const requestedOrigins = new Set<string>();
    context.on('console', (message) => {
      if (/Content Security Policy/i.test(message.text())) complaints.push(message.text());
    });
    context.on('weberror', (fault) => complaints.push(String(fault.error())));
    context.on('request', (request) => requestedOrigins.add(new URL(request.url()).origin));
    try {
      await steps(await context.newPage(), context);
      assert.deepEqual(complaints, []);
      requestedOrigins.delete('null');
      assert.deepEqual(
        [...requestedOrigins],
        [portal.settings.baseUrl],
        'the browser sends requests only to the platform',
      );
    } finally {
      await context.close();
    }
  }

  async function signIn(page: Page, { user, password }: TestUser): Promise<void> {
    await page.fill('#identifier', `${user.username}@${realm.userDomainId}`);
    await page.click('main button.primary');
    await page.waitForSelector('#password');
    assert.equal(await page.inputValue('#username'), user.username);
    await page.fill('#password', password);
    await page.click('main button.primary');
  }

  const accountOf = (page: Page) => page.getByRole('button', { name: 'Ada Byron' });

  test('a sign-in with two factors opens the requested page, and a sign-out ends it', async () => {
    const person = await createTestUser(realm, { locale: 'en-GB' });
    await walk(async (page, context) => {
      await page.goto('/portal/');
      await page.waitForURL('**/auth/sign-in/**');
      await signIn(page, person);
      await accountOf(page).waitFor();
      assert.equal(new URL(page.url()).pathname.startsWith('/portal'), true);
      const cookies = await context.cookies();
      const session = cookies.find(({ name }) => name === '__Host-switchyard-session');
      assert.deepEqual(
        [session?.httpOnly, session?.secure, session?.sameSite, session?.path],
        [true, true, 'Strict', '/'],
      );
      assert.equal(await page.evaluate('document.cookie.includes("session")'), false);
      const storedTexts = await page.evaluate(() =>
        JSON.stringify({ ...localStorage, ...sessionStorage }),
      );
      assert.equal(storedTexts.includes('eyJ'), false, 'no token is kept in the browser');
      await page.reload();
      await accountOf(page).waitFor();
      await accountOf(page).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.waitForURL('**/signed-out');
      await page.goto('/portal/');
      await page.waitForSelector('#password', { state: 'attached' });
    });
  });

  test('after a sign-out in one tab, the other tab requires a sign-in and then continues', async () => {
    const person = await createTestUser(realm, { locale: 'en-GB' });
    await walk(async (page, context) => {
      await page.goto('/portal/');
      await page.waitForURL('**/auth/sign-in/**');
      await signIn(page, person);
      await accountOf(page).waitFor();
      const other = await context.newPage();
      await other.goto('/portal/');
      await accountOf(other).waitFor();
      await accountOf(other).click();
      await other.getByRole('menuitem', { name: 'Sign out' }).click();
      await other.waitForURL('**/signed-out');
      await page.reload();
      await page.waitForSelector('#password');
      await page.fill('#username', person.user.username);
      await page.fill('#password', person.password);
      await page.click('main button.primary');
      await accountOf(page).waitFor();
    });
  });

  test('an open tab of the first user reloads for the second user', async () => {
    const first = await createTestUser(realm, { locale: 'en-GB' });
    const names = { givenName: 'Grace', familyName: 'Hopper' };
    const second = await createTestUser(realm, { ...names, locale: 'en-GB' });
    await walk(async (page, context) => {
      await page.goto('/portal/');
      await page.waitForURL('**/auth/sign-in/**');
      await signIn(page, first);
      await accountOf(page).waitFor();
      const other = await context.newPage();
      await other.goto('/portal/');
      await accountOf(other).click();
      await other.getByRole('menuitem', { name: 'Sign out' }).click();
      // The other open tab detects the end of the session at once, without a user action.
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
      await other.waitForURL('**/signed-out');
      await other.goto('/portal/');
      await other.waitForSelector('#password');
      await other.fill('#username', second.user.username);
      await other.fill('#password', second.password);
      await other.click('main button.primary');
      await other.getByRole('button', { name: 'Grace Hopper' }).waitFor();
      await page.getByRole('button', { name: 'Grace Hopper' }).waitFor();
      assert.equal(await accountOf(page).count(), 0);
    });
  });

  test('a form keeps its input when the session ends and the user signs in in another tab', async () => {
    const person = await createTestUser(realm, { locale: 'en-GB' });
    const invited = `new-${randomUUID()}`;
    await walk(async (page, context) => {
      await page.goto('/portal/users');
      await page.waitForURL('**/auth/sign-in/**');
      await signIn(page, person);
      await page.getByRole('button', { name: 'Invite a user' }).click();
      const form = page.getByRole('dialog', { name: 'Invite a user' });
      await form.getByLabel('User name').fill(invited);
      await form.getByLabel('Email address').fill('grace@shop.example');
      portal.clock.advance(16 * 60_000);
      await form.getByRole('button', { name: 'Send the invitation' }).click();
      const ended = page.getByRole('dialog', { name: 'Your session has ended' });
      const [beside] = await Promise.all([
        context.waitForEvent('page'),
        ended.getByRole('link', { name: 'Open a new tab to sign in' }).click(),
      ]);
      await beside.waitForSelector('#password');
      await beside.fill('#username', person.user.username);
      await beside.fill('#password', person.password);
      await beside.click('main button.primary');
      await accountOf(beside).waitFor();
      await ended.waitFor({ state: 'hidden' });
      assert.equal(await form.getByLabel('User name').inputValue(), invited);
      await form.getByRole('button', { name: 'Send the invitation' }).click();
      await page.waitForURL('**/portal/users/*');
    });
  });

  test('after 15 minutes without activity the session ends, and the page says so', async () => {
    const person = await createTestUser(realm, { locale: 'en-GB' });
    await walk(async (page) => {
      await page.goto('/portal/');
      await page.waitForURL('**/auth/sign-in/**');
      await signIn(page, person);
      await accountOf(page).waitFor();
      portal.clock.advance(16 * 60_000);
      await page.reload();
      await page.waitForSelector('#password');
    });
  });
});
