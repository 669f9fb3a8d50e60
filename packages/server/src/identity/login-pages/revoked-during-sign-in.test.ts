// Whole run: many requests at the same time, so that a race shows.
// A sign-in in progress whose authentication is revoked between two pages.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Browser, BrowserResponse } from '../../../test/support/browser/cookie-browser.ts';
import {
  followRedirects,
  openSignInPages,
  type SignInPages,
  submitForm,
} from '../../../test/support/browser/test-sign-in-pages.ts';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  createTestUser,
  otpCodeAt,
  type TestUser,
} from '../../../test/support/identity/test-users.ts';
import {
  createInterruptibleDatabase,
  type InterruptibleDatabase,
  matchOidcEntityInsert,
  type StatementFilter,
} from '../../../test/support/interrupt-before-statement.ts';

const stepMs = 30_000;

const deletesStep: StatementFilter = ({ text, values }) =>
  text.startsWith('DELETE FROM oidc_entities') && values.includes('PageStep');
const readsPending: StatementFilter = ({ text }) => text.startsWith('SELECT pending_sealed');

function secretIn({ text }: BrowserResponse): string {
  const [, key = ''] = /<code class="key">([A-Z2-7 ]+)<\/code>/.exec(text) ?? [];
  return key.replaceAll(' ', '');
}

describe('a sign-in ends if the password is replaced', () => {
  let pages: SignInPages;
  let hook: InterruptibleDatabase;
  let person: TestUser;
  let browser: Browser;

  before(async () => {
    hook = createInterruptibleDatabase(await testDatabase());
    pages = await openSignInPages({ database: hook.database });
  });
  after(() => pages.close());
  beforeEach(async () => {
    person = await createTestUser(pages.realm, { secondFactor: 'Required' });
    browser = pages.openBrowser();
  });

  /** As a reset does it, in the middle of the next request. */
  const replacePassword =
    (laterMs = 1) =>
    async () => {
      pages.clock.advance(laterMs);
      const { organizationId, userId } = person.user;
      const password = `correct ${randomUUID()} staple`;
      await pages.realm.identity.accounts.setPassword(organizationId, userId, password);
    };

  async function typePassword(): Promise<BrowserResponse> {
    const { username } = person.user;
    return submitForm(browser, await browser.browse(pages.link), {
      username,
      password: person.password,
    });
  }

  const sendCode = (page: BrowserResponse) => {
    pages.clock.advance(stepMs);
    return submitForm(browser, page, { code: otpCodeAt(secretIn(page), pages.clock.now()) });
  };

  async function assertNoSession(): Promise<void> {
    assert.ok(hook.isDone());
    const { organizationId, userId } = person.user;
    assert.deepEqual(await pages.realm.identity.sessions.list(organizationId, userId), []);
  }

  async function checkNothingIsSetUp(): Promise<void> {
    const { organizationId, userId } = person.user;
    const user = await pages.realm.identity.accounts.find(organizationId, userId);
    assert.equal(user?.secondFactor, 'Required');
  }

  test('after the right password', async () => {
    hook.before(matchOidcEntityInsert('PageStep'), replacePassword());
    assert.equal((await typePassword()).status, 410);
    await assertNoSession();
  });

  test('while the code is checked', async () => {
    const page = await followRedirects(browser, await typePassword());
    hook.before(readsPending, replacePassword(2000));
    assert.equal((await sendCode(page)).status, 410);
    await assertNoSession();
    await checkNothingIsSetUp();
  });

  // Spec: ONB-8
  test('while the code is checked, in the same second as the reset', async () => {
    pages.clock.advance(1000 - (pages.clock.now() % 1000));
    const page = await followRedirects(browser, await typePassword());
    hook.before(readsPending, replacePassword());
    pages.clock.advance(-stepMs);
    assert.equal((await sendCode(page)).status, 410);
    await assertNoSession();
    await checkNothingIsSetUp();
  });

  test('after the right code', async () => {
    const page = await followRedirects(browser, await typePassword());
    hook.before(matchOidcEntityInsert('PageStep'), replacePassword());
    assert.equal((await sendCode(page)).status, 410);
    await assertNoSession();
  });

  test('while the recovery codes are saved', async () => {
    const codesPage = await sendCode(await followRedirects(browser, await typePassword()));
    hook.before(deletesStep, replacePassword());
    assert.equal((await submitForm(browser, codesPage, { saved: 'yes' })).status, 410);
    await assertNoSession();
  });

  test('while the session of the account page starts', async () => {
    person = await createTestUser(pages.realm, { secondFactor: 'Off' });
    const formPage = await browser.browse(`${pages.base}/account`);
    hook.before(matchOidcEntityInsert('Session'), replacePassword());
    const { username } = person.user;
    const sent = await submitForm(browser, formPage, { username, password: person.password });
    assert.equal(sent.status, 410);
    await assertNoSession();
  });
});
