// Email links: single use, limited lifetime, one purpose, and no hint whether a user exists.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  openTestAccounts,
  type TestAccounts,
  testOrigin,
  testPassword,
} from '../../../../test/support/identity/test-accounts.ts';
import { linkTokenIn } from '../../../../test/support/mail/mail-recorder.ts';
import type { Database } from '../../../platform/index.ts';
import type { User } from '../types.ts';

const hourMs = 3_600_000;
const newer = 'eight tills under one roof';

describe('email links', () => {
  let database: Database;
  let setup: TestAccounts;

  before(async () => {
    database = await testDatabase();
    setup = await openTestAccounts(database);
  });

  const deliver = () => setup.mailRecorder.deliver();
  const open = (link: string) => setup.accounts.emailLinks.find(setup.organizationId, link);
  const use = (link: string, text?: string) =>
    setup.accounts.emailLinks.redeem(setup.organizationId, link, text);

  async function invited(facts: Parameters<TestAccounts['createUser']>[0] = {}) {
    const user = await setup.createUser({ password: undefined, ...facts });
    await setup.accounts.emailLinks.sendInvitation(user);
    const mails = await deliver();
    return { user, mails, link: linkTokenIn(mails) };
  }

  async function resetLink(user: User): Promise<string> {
    await setup.accounts.emailLinks.requestPasswordReset(
      setup.organizationId,
      user.username,
      testOrigin,
    );
    return linkTokenIn(await deliver());
  }

  test('an invitation sets the first password and verifies the email address', async () => {
    const { user, mails, link } = await invited({ email: 'Bob@Shop.example' });
    assert.equal(mails.length, 1);
    assert.equal(mails[0]?.to, 'Bob@Shop.example');
    const address = `https://localhost:8443/auth/realms/${setup.userDomainId}/links/${link}`;
    assert.ok(mails[0]?.text.includes(`\n${address}\n`));
    assert.ok(mails[0]?.html.includes(`<a href="${address}">`));
    const opened = await open(link);
    assert.deepEqual([opened?.user.userId, opened?.purpose], [user.userId, 'activate']);
    const done = await use(link, testPassword);
    assert.equal(done?.emailVerified, true);
    assert.equal(done?.hasPassword, true);
    assert.ok((await setup.signIn(user)).ok);
    assert.equal(await open(link), undefined);
    assert.equal(await use(link, newer), undefined);
  });

  test('opening a link does not use it up, and neither does a forbidden password', async () => {
    const { link } = await invited();
    for (let index = 0; index < 3; index += 1) assert.ok(await open(link));
    await assert.rejects(use(link, 'too short'), /field_invalid/);
    await assert.rejects(use(link), /field_required/);
    assert.ok(await use(link, testPassword));
  });

  // Spec: SVC-42 LIM-2 IDENT-45
  test('an invitation link is valid for 24 hours, a reset link for one hour', async () => {
    const invitation = await invited();
    const user = await setup.createUser();
    const reset = await resetLink(user);
    setup.clock.advance(hourMs - 1);
    assert.ok(await open(reset));
    setup.clock.advance(1);
    assert.equal(await open(reset), undefined);
    assert.equal(await use(reset, newer), undefined);
    setup.clock.advance(23 * hourMs - 1);
    assert.ok(await open(invitation.link));
    setup.clock.advance(1);
    assert.equal(await open(invitation.link), undefined);
  });

  // Spec: IDENT-45
  test('of many concurrent requests with one link, one succeeds', async () => {
    const { link } = await invited();
    const ends = await Promise.all(Array.from({ length: 8 }, () => use(link, testPassword)));
    assert.equal(ends.filter((end) => end !== undefined).length, 1);
  });

  test('a reset changes the password, ends sessions and other links, and sends the user an email', async () => {
    const user = await setup.createUser();
    const first = await resetLink(user);
    const second = await resetLink(user);
    assert.notEqual(first, second);
    setup.endedUserIds.length = 0;
    assert.ok(await use(second, newer));
    assert.deepEqual(setup.endedUserIds, [user.userId]);
    assert.equal(await use(first, testPassword), undefined);
    assert.equal((await setup.signIn(user)).ok, false);
    assert.ok((await setup.signIn(user, { password: newer })).ok);
    const mails = await deliver();
    assert.deepEqual(
      mails.map(({ subject }) => subject),
      ['Your password was changed · Switchyard'],
    );
  });

  test('a password reset unlocks the account and does not remove the second factor', async () => {
    const user = await setup.createUser({ secondFactor: 'Required' });
    for (let index = 0; index < 10; index += 1) await setup.signIn(user, { password: 'x' });
    assert.equal((await setup.signIn(user)).ok, false);
    assert.ok(await use(await resetLink(user), newer));
    const answer = await setup.signIn(user, { password: newer });
    assert.equal(answer.ok && answer.needs, 'enrolment');
  });

  test('a reset is requested by user name or email address, and the response does not show whether it exists', async () => {
    await deliver();
    const { emailLinks: links } = setup.accounts;
    const user = await setup.createUser({ email: 'carol@shop.example' });
    const twin = await setup.createUser({ email: 'Carol@shop.example' });
    const disabledUser = await setup.createUser({ email: 'carol@shop.example' });
    await setup.accounts.setStatus(setup.organizationId, disabledUser.userId, 'Disabled');
    for (const name of ['nobody', 'nobody@shop.example', '\0', '', '%', disabledUser.username]) {
      assert.equal(
        await links.requestPasswordReset(setup.organizationId, name, testOrigin),
        undefined,
      );
    }
    assert.deepEqual(await deliver(), []);
    await links.requestPasswordReset(setup.organizationId, 'CAROL@shop.example', testOrigin);
    const mails = await deliver();
    assert.equal(mails.length, 2);
    for (const { username } of [user, twin]) {
      assert.equal(mails.filter(({ text }) => text.includes(username)).length, 1);
    }
  });

  test('a user gets at most three reset links per hour, concurrent or not', async () => {
    const user = await setup.createUser();
    const { emailLinks: links } = setup.accounts;
    const requests = Array.from({ length: 6 }, () =>
      links.requestPasswordReset(setup.organizationId, user.username, testOrigin),
    );
    await Promise.all(requests);
    assert.equal((await deliver()).length, 3);
    setup.clock.advance(hourMs);
    await links.requestPasswordReset(setup.organizationId, user.username, testOrigin);
    assert.equal((await deliver()).length, 1);
  });

  test('concurrent invitations are all counted', async () => {
    const user = await setup.createUser({ password: undefined });
    const ends = await Promise.allSettled(
      Array.from({ length: 16 }, () => setup.accounts.emailLinks.sendInvitation(user)),
    );
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 10);
    assert.equal((await deliver()).length, 10);
    for (const end of ends) {
      if (end.status === 'rejected') assert.match(String(end.reason), /rate_limited/);
    }
  });

  test('reset requests per IP address are limited without a different response', async () => {
    const limits = { failures: 5, mails: 2, windowSeconds: 600 };
    const guarded = await openTestAccounts(database, { limits });
    const user = await guarded.createUser();
    for (let index = 0; index < 4; index += 1) {
      const { emailLinks: links } = guarded.accounts;
      await links.requestPasswordReset(guarded.organizationId, user.username, testOrigin);
    }
    assert.equal((await guarded.mailRecorder.deliver()).length, 2);
  });

  test('a new email address takes effect when its link is followed, and the old address gets an email', async () => {
    const user = await setup.createUser({ email: 'old@shop.example', emailVerified: true });
    const reset = await resetLink(user);
    await setup.accounts.emailLinks.changeEmail(user, 'first@shop.example');
    const first = linkTokenIn(await deliver());
    await setup.accounts.emailLinks.changeEmail(user, 'new@shop.example');
    const [mail] = await deliver();
    assert.equal(mail?.to, 'new@shop.example');
    const find = () => setup.accounts.find(user.organizationId, user.userId);
    assert.equal((await find())?.email, 'old@shop.example');
    assert.equal(await use(first), undefined, 'a newer change was requested');
    const link = linkTokenIn(mail === undefined ? [] : [mail]);
    assert.equal((await open(link))?.purpose, 'email');
    assert.equal((await use(link))?.email, 'new@shop.example');
    assert.equal((await find())?.emailVerified, true);
    assert.equal(await use(reset, newer), undefined, 'it was sent to the old address');
    const emails = await deliver();
    assert.deepEqual(
      emails.map(({ to, subject }) => [to, subject]),
      [['old@shop.example', 'Your email address was changed · Switchyard']],
    );
    await assert.rejects(setup.accounts.emailLinks.changeEmail(user, 'x'), /field_invalid/);
  });

  test('a link works only in its organisation and for an enabled user', async () => {
    const { user, link } = await invited();
    const elsewhere = await openTestAccounts(database);
    const { emailLinks: links } = elsewhere.accounts;
    assert.equal(await links.find(elsewhere.organizationId, link), undefined);
    assert.equal(await links.redeem(elsewhere.organizationId, link, testPassword), undefined);
    await setup.accounts.setStatus(setup.organizationId, user.userId, 'Disabled');
    assert.equal(await open(link), undefined);
    assert.equal(await use(link, testPassword), undefined);
    for (const text of ['', '\0', 'x'.repeat(43), 'x'.repeat(100_000), `${link}x`]) {
      assert.equal(await open(text), undefined);
      assert.equal(await use(text, testPassword), undefined);
    }
  });

  // Spec: IDENT-45
  test('the database contains only the hash of a link, and no job a readable link', async () => {
    const user = await setup.createUser({ password: undefined });
    await setup.accounts.emailLinks.sendInvitation(user);
    const jobs = JSON.stringify(setup.mailRecorder.queuedJobs);
    const link = linkTokenIn(await deliver());
    assert.equal(link.length, 43);
    assert.equal(jobs.includes(link), false);
    assert.equal(jobs.includes(user.email), false);
    const rows = await database.query(
      "SELECT *, encode(link_hash, 'escape') AS text FROM user_links WHERE user_id = $1",
      [user.userId],
    );
    assert.equal(rows.length, 1);
    assert.equal(JSON.stringify(rows).includes(link), false);
  });

  test('an email is not sent if its link has expired', async () => {
    const user = await setup.createUser({ password: undefined });
    await setup.accounts.emailLinks.sendInvitation(user);
    setup.clock.advance(24 * hourMs);
    assert.deepEqual(await deliver(), []);
  });
});
