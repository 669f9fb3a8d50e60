import assert from 'node:assert/strict';
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

/** The key as the page writes it, in groups of four. */
function secretIn({ text }: Seen): string {
  const [, key = ''] = /<code class="key">([A-Z2-7 ]+)<\/code>/.exec(text) ?? [];
  return key.replaceAll(' ', '');
}

function codesIn({ text }: Seen): string[] {
  return [...text.matchAll(/<li><code>([0-9A-Z-]+)<\/code><\/li>/g)].map(([, code = '']) => code);
}

describe('setting up one-time codes in a sign-in', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  function codeOf(secret: string): string {
    pages.clock.advance(stepMs);
    return codeAt(secret, pages.clock.now());
  }

  async function begin(browser: Browser): Promise<{ person: Person; page: Seen }> {
    const person = await createPerson(pages.realm, { secondFactor: 'Required' });
    const first = await browser.browse(pages.link);
    const sent = await submit(browser, first, {
      username: person.user.username,
      password: person.password,
    });
    return { person, page: await followed(browser, sent) };
  }

  test('shows picture and key, asks for a code, shows ten codes once, and the sign-in goes on', async () => {
    const browser = pages.openBrowser();
    const { person, page } = await begin(browser);
    assert.match(page.url.pathname, /\/one-time-code$/);
    assert.match(page.text, /<img class="picture" src="data:image\/svg\+xml;base64,/);
    assert.match(page.text, /alt="QR code that contains the key below"/);
    const secret = secretIn(page);
    assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.ok(page.text.includes(`secret=${secret}`), 'a link for the phone itself');
    assert.equal((await browser.visit(page.url)).text.includes(secret.slice(0, 4)), true, 'again');

    const wrong = await submit(browser, page, { code: '000000' });
    assert.equal(wrong.status, 422);
    assert.equal(secretIn(wrong), secret, 'the same key: it may be scanned already');
    assert.match(wrong.text, /<a href="#code">/);

    const shown = await submit(browser, wrong, { code: ` ${codeOf(secret)} ` });
    assert.equal(shown.status, 200);
    assert.equal(codesIn(shown).length, 10);
    assert.equal(shown.text.includes('hreflang'), false, 'no way out of the page by accident');

    const again = await followed(browser, await browser.visit(page.url));
    assert.deepEqual(codesIn(again), [], 'shown once');
    assert.match(again.text, /already shown/);

    const unsaved = await submit(browser, shown, {});
    assert.equal(unsaved.status, 422);
    assert.match(unsaved.text, /Confirm that you have saved the codes/);
    const back = await followed(browser, await submit(browser, shown, { saved: 'yes' }));
    assert.equal(back.location?.href.split('?')[0], redirectUri);
    const { sessions, accounts } = pages.realm.identity;
    const { organizationId } = pages.realm;
    const [session] = await sessions.list(organizationId, person.user.userId);
    assert.deepEqual(session?.methods, ['pwd', 'otp']);
    assert.equal((await accounts.find(organizationId, person.user.userId))?.secondFactor, 'On');

    const late = await submit(browser, shown, { saved: 'yes' });
    assert.equal(late.status, 410, 'once');
  });

  test('who did not save the codes makes new ones, and the old ones end', async () => {
    const browser = pages.openBrowser();
    const { person, page } = await begin(browser);
    const secret = secretIn(page);
    const shown = await submit(browser, page, { code: codeOf(secret) });
    const [old = ''] = codesIn(shown);
    const gone = await browser.visit(page.url.pathname.replace('one-time-code', 'recovery-codes'));
    const renewed = await submit(browser, gone, {}, { to: '/renew' });
    const [code = ''] = codesIn(renewed);
    assert.equal(codesIn(renewed).length, 10);
    await followed(browser, await submit(browser, renewed, { saved: 'yes' }));
    const { username } = person.user;
    for (const [recovery, status] of [
      [old, 401],
      [code, 303],
    ] as const) {
      const next = pages.openBrowser();
      const fields = { username, password: person.password, code: recovery };
      const sent = await submit(next, await next.browse(pages.link), fields);
      assert.equal(sent.status, status);
    }
  });

  test('is for the browser that typed the password, and nobody gets around it', async () => {
    const browser = pages.openBrowser();
    const { page } = await begin(browser);
    const base = page.url.pathname.replace('/one-time-code', '');
    const other = pages.openBrowser();
    assert.equal((await other.visit(page.url)).status, 410, 'another browser');
    for (const path of ['recovery-codes', 'passkey']) {
      const seen = await browser.visit(`${base}/${path}`);
      assert.equal(seen.location?.pathname, base, path);
    }
    const saved = await submit(browser, page, { saved: 'yes' }, { to: '/one-time-code' });
    assert.equal(saved.status, 422, 'no code is a wrong code');
    const fresh = pages.openBrowser();
    const first = await fresh.browse(pages.link);
    const early = await fresh.visit(`${first.url.pathname}/one-time-code`);
    assert.equal(early.location?.pathname, first.url.pathname, 'the password comes first');
  });

  test('ends where the user has set up codes meanwhile: a password is no way past them', async () => {
    const waiting = pages.openBrowser();
    const { person, page } = await begin(waiting);
    const own = pages.openBrowser();
    const fields = { username: person.user.username, password: person.password };
    const sent = await submit(own, await own.browse(pages.link), fields);
    const mine = await followed(own, sent);
    const theirs = await waiting.visit(page.url);
    const secret = secretIn(await own.visit(mine.url));
    const shown = await submit(own, mine, { code: codeOf(secret) });
    assert.equal(codesIn(shown).length, 10, shown.text);

    assert.equal((await waiting.visit(page.url)).status, 410);
    const late = await submit(waiting, theirs, { code: codeOf(secretIn(theirs)) });
    assert.equal(late.status, 410);
    const next = pages.openBrowser();
    const again = { ...fields, code: codeOf(secret) };
    const { location } = await submit(next, await next.browse(pages.link), again);
    assert.ok(location !== undefined, 'the codes that were set up are the ones that count');
  });

  test('ends where the user is stopped meanwhile, and after a quarter of an hour', async () => {
    const browser = pages.openBrowser();
    const { person, page } = await begin(browser);
    const { organizationId, identity } = pages.realm;
    await identity.accounts.setStatus(organizationId, person.user.userId, 'Disabled');
    const stopped = await submit(browser, page, { code: codeOf(secretIn(page)) });
    assert.equal(stopped.location?.pathname, page.url.pathname.replace('/one-time-code', ''));
    assert.equal(
      (await identity.accounts.find(organizationId, person.user.userId))?.secondFactor,
      'Required',
    );

    const slow = pages.openBrowser();
    const { page: late } = await begin(slow);
    pages.clock.advance(15 * 60_000 + 1);
    const seen = await submit(slow, late, { code: codeOf(secretIn(late)) });
    assert.equal(seen.location?.pathname, late.url.pathname.replace('/one-time-code', ''));
  });
});
