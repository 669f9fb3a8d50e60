// Set-up of one-time passwords, and the ten recovery codes for a lost phone.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  newOtpSecret,
  openTestAccounts,
  otpCode,
  type TestAccounts,
  testOrigin,
} from '../../../../test/support/identity/test-accounts.ts';
import type { Database } from '../../../platform/index.ts';
import type { User } from '../types.ts';

describe('the set-up of one-time passwords', () => {
  let database: Database;
  let setup: TestAccounts;

  before(async () => {
    database = await testDatabase();
    setup = await openTestAccounts(database);
  });

  const now = () => setup.clock.now();
  const find = ({ organizationId, userId }: User) => setup.accounts.find(organizationId, userId);

  async function enrolled(): Promise<{ user: User; secret: string; recoveryCodes: string[] }> {
    const user = await setup.createUser({ secondFactor: 'Required' });
    const { secret } = await setup.accounts.beginOtpEnrolment(user);
    const done = await setup.accounts.confirmOtpEnrolment(user, otpCode(secret, now()), testOrigin);
    setup.clock.advance(60_000);
    return { user, secret, recoveryCodes: done?.recoveryCodes ?? [] };
  }

  test('is complete when the user enters a code of the secret', async () => {
    const user = await setup.createUser({ secondFactor: 'Required' });
    const { secret, uri } = await setup.accounts.beginOtpEnrolment(user);
    assert.match(secret, /^[A-Z2-7]{32}$/);
    assert.equal(new URL(uri).searchParams.get('secret'), secret);
    assert.ok(decodeURIComponent(uri).includes(`Switchyard ${setup.userDomainId}:`));
    assert.equal((await find(user))?.secondFactor, 'Required');
    assert.equal(await setup.accounts.confirmOtpEnrolment(user, '000000', testOrigin), undefined);
    const code = otpCode(secret, now());
    const done = await setup.accounts.confirmOtpEnrolment(user, code, testOrigin);
    assert.equal(new Set(done?.recoveryCodes).size, 10);
    assert.equal((await find(user))?.secondFactor, 'On');
    assert.equal(
      setup.endedUserIds.at(-1),
      user.userId,
      'sessions without a second factor are ended',
    );
    assert.equal((await setup.signIn(user, { otp: code })).ok, false, 'the code is used up');
    setup.clock.advance(30_000);
    assert.ok((await setup.signIn(user, { otp: otpCode(secret, now()) })).ok);
    const [mail] = await setup.mailRecorder.deliver();
    assert.equal(mail?.subject, 'A second factor was set up · Switchyard');
  });

  // Spec: IDENT-40
  test('stores neither the secret nor the recovery codes in plain text', async () => {
    const { user, secret, recoveryCodes } = await enrolled();
    const rows = await database.query(
      `SELECT o.*, encode(o.secret_sealed, 'escape') AS sealed_text, r.*,
         encode(r.code_hash, 'escape') AS hash_text
       FROM user_one_time_passwords AS o JOIN user_recovery_codes AS r
         ON r.organization_id = o.organization_id AND r.user_id = o.user_id
       WHERE o.user_id = $1`,
      [user.userId],
    );
    assert.equal(rows.length, 10);
    const text = JSON.stringify(rows);
    for (const each of [secret, ...recoveryCodes]) assert.equal(text.includes(each), false);
  });

  test('returns the same secret again to the same sign-in, and to no other', async () => {
    const user = await setup.createUser({ secondFactor: 'Required' });
    const first = await setup.accounts.beginOtpEnrolment(user, 'sign-in 1');
    assert.deepEqual(await setup.accounts.beginOtpEnrolment(user, 'sign-in 1'), first);
    const second = await setup.accounts.beginOtpEnrolment(user, 'sign-in 2');
    assert.notEqual(second.secret, first.secret);
    assert.notEqual((await setup.accounts.beginOtpEnrolment(user)).secret, second.secret);
    assert.notEqual((await setup.accounts.beginOtpEnrolment(user)).secret, second.secret);
    const old = otpCode(first.secret, now());
    assert.equal(await setup.accounts.confirmOtpEnrolment(user, old, testOrigin), undefined);
  });

  test('starts again with a new secret after an hour', async () => {
    const user = await setup.createUser({ secondFactor: 'Required' });
    const { secret } = await setup.accounts.beginOtpEnrolment(user, 'sign-in 1');
    setup.clock.advance(3_600_000);
    assert.equal(
      await setup.accounts.confirmOtpEnrolment(user, otpCode(secret, now()), testOrigin),
      undefined,
    );
    assert.notEqual((await setup.accounts.beginOtpEnrolment(user, 'sign-in 1')).secret, secret);
    const nothing = await setup.createUser();
    assert.equal(
      await setup.accounts.confirmOtpEnrolment(nothing, '123456', testOrigin),
      undefined,
    );
  });

  test('of a new phone keeps the old secret valid until the new one is confirmed', async () => {
    const { user, secret, recoveryCodes } = await enrolled();
    const newer = await setup.accounts.beginOtpEnrolment(user);
    assert.ok((await setup.signIn(user, { otp: otpCode(secret, now()) })).ok);
    assert.equal((await setup.signIn(user, { otp: otpCode(newer.secret, now()) })).ok, false);
    assert.ok(
      await setup.accounts.confirmOtpEnrolment(user, otpCode(newer.secret, now()), testOrigin),
    );
    setup.clock.advance(30_000);
    assert.equal((await setup.signIn(user, { otp: otpCode(secret, now()) })).ok, false);
    assert.equal((await setup.signIn(user, { otp: recoveryCodes[0] ?? '' })).ok, false);
    assert.ok((await setup.signIn(user, { otp: otpCode(newer.secret, now()) })).ok);
  });

  test('returns valid recovery codes once for concurrent confirmations', async () => {
    for (let round = 0; round < 8; round += 1) {
      const user = await setup.createUser({ secondFactor: 'Required' });
      const { secret } = await setup.accounts.beginOtpEnrolment(user);
      const code = otpCode(secret, now());
      const ends = await Promise.all(
        Array.from({ length: 6 }, () => setup.accounts.confirmOtpEnrolment(user, code, testOrigin)),
      );
      const [done, ...others] = ends.filter((end) => end !== undefined);
      assert.equal(others.length, 0);
      assert.ok((await setup.signIn(user, { otp: done?.recoveryCodes[0] ?? '' })).ok);
      setup.clock.advance(30_000);
      assert.ok((await setup.signIn(user, { otp: otpCode(secret, now()) })).ok);
    }
  });

  test('a recovery code works once, also for concurrent sign-ins', async () => {
    const { user, recoveryCodes } = await enrolled();
    const [first = '', second = ''] = recoveryCodes;
    const answer = await setup.signIn(user, { otp: first.toLowerCase().replace('-', ' ') });
    assert.ok(answer.ok);
    assert.deepEqual(answer.methods, ['pwd', 'rc']);
    assert.equal((await setup.signIn(user, { otp: first })).ok, false);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => setup.signIn(user, { otp: second })),
    );
    assert.equal(answers.filter(({ ok }) => ok).length, 1);
  });

  test('a recovery code works only for its user, and a wrong password does not use it up', async () => {
    const ann = await enrolled();
    const bob = await setup.createUser({ otpSecret: newOtpSecret() });
    const otp = ann.recoveryCodes[0] ?? '';
    assert.equal((await setup.signIn(bob, { otp })).ok, false);
    assert.equal((await setup.signIn(ann.user, { otp, password: 'x' })).ok, false);
    assert.ok((await setup.signIn(ann.user, { otp })).ok);
  });

  test('new recovery codes replace the old ones', async () => {
    const { user, recoveryCodes } = await enrolled();
    const newer = await setup.accounts.renewRecoveryCodes(user);
    assert.equal(newer.length, 10);
    assert.equal((await setup.signIn(user, { otp: recoveryCodes[0] ?? '' })).ok, false);
    assert.ok((await setup.signIn(user, { otp: newer[9] ?? '' })).ok);
  });
});
