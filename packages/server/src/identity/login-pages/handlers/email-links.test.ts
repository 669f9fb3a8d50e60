import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Browser, Seen } from '../../../../test/browser.ts';
import { codeAt, createPerson, type Person } from '../../../../test/people.ts';
import { linkIn } from '../../../../test/post-office.ts';
import {
  followed,
  openSignInPages,
  type SignInPages,
  submit,
} from '../../../../test/sign-in-pages.ts';

describe('links by mail', () => {
  let pages: SignInPages;

  before(async () => {
    pages = await openSignInPages();
  });
  after(() => pages.close());

  const pathOf = (link: string) => `${pages.base}/links/${link}`;
  const newWords = () => `fresh words for ${randomUUID()}`;

  async function askFor(browser: Browser, identifier: string): Promise<Seen> {
    const page = await browser.browse(`${pages.base}/forgotten-password`);
    return submit(browser, page, { identifier });
  }

  async function resetLink(person: Person): Promise<string> {
    await askFor(pages.openBrowser(), person.user.username);
    return linkIn(await pages.post.deliver());
  }

  async function canSignIn(person: Person, password: string): Promise<boolean> {
    const browser = pages.openBrowser();
    const page = await browser.browse(pages.link);
    const { username } = person.user;
    return (await submit(browser, page, { username, password })).status === 303;
  }

  test('whoever asks gets the same page, and mail goes to those who exist', async () => {
    const person = await createPerson(pages.realm, { email: `${randomUUID()}@shop.example` });
    const browser = pages.openBrowser();
    const known = await askFor(browser, person.user.username);
    assert.equal((await pages.post.deliver()).length, 1);
    const byMail = await askFor(browser, ` ${person.user.email} `);
    assert.equal((await pages.post.deliver()).length, 1);
    const unknown = await askFor(browser, `nobody-${randomUUID()}`);
    assert.equal((await pages.post.deliver()).length, 0);
    assert.deepEqual([known.status, known.text], [unknown.status, unknown.text]);
    assert.deepEqual([known.status, known.text], [byMail.status, byMail.text]);
    assert.match(known.text, /If there is an account with this name, we have sent a link/);
    const empty = await askFor(browser, ' ');
    assert.equal(empty.status, 422);
  });

  test('the way back leads to the sign-in that asked', async () => {
    const browser = pages.openBrowser();
    const first = await browser.browse(pages.link);
    const [, path = ''] = /href="([^"]+forgotten-password[^"]*)"/.exec(first.text) ?? [];
    const page = await browser.browse(path);
    assert.ok(page.text.includes(`href="${first.url.pathname}"`));
    const sent = await submit(browser, page, { identifier: 'anybody' });
    assert.ok(sent.text.includes(`href="${first.url.pathname}"`));
  });

  test('a reset sets the password once, a look before it uses nothing up', async () => {
    const person = await createPerson(pages.realm);
    const before = pages.openBrowser();
    const page = await before.browse(`${pages.base}/sign-in/account`);
    const { username } = person.user;
    await followed(before, await submit(before, page, { username, password: person.password }));

    const link = await resetLink(person);
    const scanner = pages.openBrowser();
    for (let look = 0; look < 3; look += 1) {
      assert.equal((await scanner.visit(pathOf(link))).status, 200);
    }
    assert.equal((await scanner.visit(pathOf(link), { method: 'HEAD' })).status, 200);

    const browser = pages.openBrowser();
    const asked = await browser.browse(pathOf(link));
    assert.match(asked.text, /Choose a new password/);
    assert.ok(asked.text.includes(`value="${username}"`), 'for password managers');
    assert.equal(asked.text.match(/autocomplete="new-password"/g)?.length, 2);
    assert.equal(asked.headers['referrer-policy'], 'no-referrer');
    assert.equal(asked.headers['cache-control'], 'no-store');

    const password = newWords();
    for (const [fields, says] of [
      [{ password: '', repeated: '' }, /please fill in this field/],
      [{ password: 'short', repeated: 'short' }, /at least 15 characters/],
      [{ password: 'passwordpassword', repeated: 'passwordpassword' }, /Too easy to guess/],
      [{ password, repeated: `${password}x` }, /not the same/],
      [{ password: 'x'.repeat(600), repeated: 'x' }, /Too long/],
    ] as const) {
      const seen = await submit(browser, asked, fields);
      assert.equal(seen.status, 422);
      assert.match(seen.text, says);
      assert.equal(seen.text.includes('value="short"'), false, 'no password comes back');
    }
    const done = await submit(browser, asked, { password, repeated: password });
    assert.equal(done.status, 200, done.text);
    assert.match(done.text, /Your password is saved/);
    assert.equal(await canSignIn(person, password), true);
    assert.equal(await canSignIn(person, person.password), false);
    assert.equal((await before.visit(`${pages.base}/account`)).status, 303, 'signed out elsewhere');

    const again = await submit(browser, asked, { password, repeated: password });
    assert.equal(again.status, 410);
    assert.ok(again.text.includes(`href="${pages.base}/forgotten-password"`), 'the way to another');
  });

  test('an expired, unknown or foreign link says so', async () => {
    const person = await createPerson(pages.realm);
    const link = await resetLink(person);
    const other = await openSignInPages();
    try {
      const seen = await other.openBrowser().visit(`${other.base}/links/${link}`);
      assert.equal(seen.status, 410, 'in another realm');
    } finally {
      await other.close();
    }
    const browser = pages.openBrowser();
    const page = await browser.browse(pathOf(link));
    pages.clock.advance(3_600_001);
    for (const seen of [
      await browser.visit(pathOf(link)),
      await browser.visit(pathOf('x'.repeat(43))),
      await browser.visit(pathOf('short')),
      await submit(browser, page, { password: newWords(), repeated: newWords() }),
    ]) {
      assert.equal(seen.status, 410);
      assert.match(seen.text, /This link no longer works/);
      assert.match(seen.text, /Request ID <code>[0-9a-f-]{36}<\/code>/);
    }
  });

  test('an activation sets the first password and one-time codes in one go', async () => {
    const person = await createPerson(pages.realm, {
      secondFactor: 'Required',
      password: undefined,
    });
    await pages.realm.identity.accounts.emailLinks.sendInvitation(person.user);
    const link = linkIn(await pages.post.deliver());
    const browser = pages.openBrowser();
    pages.clock.advance(23 * 3_600_000);
    const asked = await browser.browse(pathOf(link));
    assert.match(asked.text, /Choose your password/);
    assert.match(asked.text, /At least 12 characters/);
    const password = newWords();
    const sent = await submit(browser, asked, { password, repeated: password });
    const page = await followed(browser, sent);
    assert.equal(page.url.pathname, `${pages.base}/activation/one-time-code`);
    const [, key = ''] = /<code class="key">([^<]+)</.exec(page.text) ?? [];
    const secret = key.replaceAll(' ', '');
    const code = codeAt(secret, pages.clock.now());
    const shown = await submit(browser, page, { code });
    assert.match(shown.text, /Save your recovery codes/);
    const ready = await submit(browser, shown, { saved: 'yes' });
    assert.match(ready.text, /Your account is ready/);
    const stranger = pages.openBrowser();
    const none = await stranger.visit(page.url);
    assert.equal(none.location?.pathname, `${pages.base}/activation`, 'of this browser alone');

    pages.clock.advance(30_000);
    const first = pages.openBrowser();
    const { username } = person.user;
    const login = await submit(first, await first.browse(pages.link), {
      username,
      password,
      code: codeAt(secret, pages.clock.now()),
    });
    assert.equal(login.status, 303);
  });

  test('an activation without a second factor is ready at once', async () => {
    const person = await createPerson(pages.realm, { password: undefined });
    await pages.realm.identity.accounts.emailLinks.sendInvitation(person.user);
    const browser = pages.openBrowser();
    const asked = await browser.browse(pathOf(linkIn(await pages.post.deliver())));
    const password = newWords();
    const done = await submit(browser, asked, { password, repeated: password });
    assert.match(done.text, /Your account is ready/);
    const realm = pages.base.slice('/auth/realms/'.length);
    const way = `/portal/sign-in?domain=${realm}&amp;to=%2Fportal`;
    assert.ok(done.text.includes(way), 'to the portal, which knows the user domain');
    assert.equal(await canSignIn(person, password), true);
  });

  test('a changed address is confirmed by a button, not by a look', async () => {
    const person = await createPerson(pages.realm);
    const { accounts } = pages.realm.identity;
    const { organizationId, userId } = person.user;
    await accounts.emailLinks.changeEmail(person.user, 'new@shop.example');
    const path = pathOf(linkIn(await pages.post.deliver()));
    const browser = pages.openBrowser();
    const page = await browser.browse(path);
    assert.match(page.text, /Confirm your email address/);
    assert.equal((await accounts.find(organizationId, userId))?.email, person.user.email);
    const done = await submit(browser, page, {});
    assert.match(done.text, /Your address is confirmed/);
    assert.equal((await accounts.find(organizationId, userId))?.email, 'new@shop.example');
    assert.equal((await browser.visit(path)).status, 410);
  });
});
