// The timing does not show whether a user exists: the same statements and hashes for every failed sign-in.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  newOtpSecret,
  openTestAccounts,
  type TestAccounts,
  testOrigin,
  testPassword,
} from '../../../../test/support/identity/test-accounts.ts';
import { testPasswordHasher } from '../../../../test/support/identity/test-password-hasher.ts';
import { type Database, systemIdGenerator } from '../../../platform/index.ts';
import { maxFailures } from './authenticate-sql.ts';

const wrong = { password: 'nine tills under one roof' };

describe('the work of a failed sign-in', () => {
  let database: Database;
  let setup: TestAccounts;
  /** The calls to the database and to the hash function, in order. */
  const work: string[] = [];

  before(async () => {
    database = await testDatabase();
    setup = await openTestAccounts(database, {
      database: {
        ...database,
        query(statement, values) {
          work.push(String(statement).replace(/\s+/g, ' '));
          return database.query(statement, values);
        },
        transaction(fn) {
          work.push('transaction');
          return database.transaction(fn);
        },
      },
      passwordHasher: {
        ...testPasswordHasher,
        hash(text) {
          work.push('hash');
          return testPasswordHasher.hash(text);
        },
        verify(passwordHash, text) {
          // The hashed text may differ, the number of hashes may not.
          work.push('verify');
          return testPasswordHasher.verify(passwordHash, text);
        },
      },
    });
  });

  async function workOf(act: () => Promise<unknown>): Promise<string[]> {
    work.length = 0;
    await act();
    return [...work];
  }

  // Spec: IDENT-38
  test('is equal for unknown, wrong, locked, disabled, without password, and wrong code', async () => {
    const user = await setup.createUser();
    const locked = await setup.createUser();
    for (let index = 0; index < maxFailures; index += 1) await setup.signIn(locked, wrong);
    const disabled = await setup.createUser();
    await setup.accounts.setStatus(setup.organizationId, disabled.userId, 'Disabled');
    const withoutPassword = await setup.createUser({ password: undefined });
    const factor = await setup.createUser({ otpSecret: newOtpSecret() });
    const pending = await setup.createUser({ secondFactor: 'Required' });
    const work = await workOf(() => setup.signIn(user, wrong));
    assert.equal(work.length, 3);
    assert.equal(work.filter((step) => step === 'verify').length, 1);
    const cases: [string, () => Promise<{ ok: boolean }>][] = [
      ['unknown', () => setup.signIn({ ...user, username: 'nobody' })],
      ['a name that no user can have', () => setup.signIn({ ...user, username: '\0' })],
      [
        'another organisation',
        () => setup.signIn(user, { organizationId: systemIdGenerator.uuid() }),
      ],
      ['locked, right', () => setup.signIn(locked)],
      ['locked, wrong', () => setup.signIn(locked, wrong)],
      ['disabled', () => setup.signIn(disabled)],
      ['without a password', () => setup.signIn(withoutPassword)],
      ['a huge password', () => setup.signIn(user, { password: 'x'.repeat(1_000_000) })],
      ['no code', () => setup.signIn(factor)],
      ['a wrong code', () => setup.signIn(factor, { otp: '000000' })],
      ['a wrong recovery code', () => setup.signIn(factor, { otp: 'AAAAA-AAAAA' })],
      [
        'a code of an unknown user',
        () => setup.signIn({ ...user, username: 'nobody' }, { otp: '000000' }),
      ],
      ['not set up', () => setup.signIn(pending, { kind: 'password-grant' })],
    ];
    for (const [name, act] of cases) {
      let answer: unknown;
      const done = await workOf(async () => {
        answer = await act();
      });
      assert.deepEqual(done, work, name);
      assert.deepEqual(answer, { ok: false }, name);
    }
  });

  test('a password reset request inserts one encrypted row for every input', async () => {
    const user = await setup.createUser();
    const { emailLinks: links } = setup.accounts;
    const payloads: unknown[] = [];
    for (const name of [user.username, user.email, 'nobody', '\0', 'x'.repeat(10_000)]) {
      const before = setup.mailRecorder.queuedJobs.length;
      const done = await workOf(() =>
        links.requestPasswordReset(setup.organizationId, name, testOrigin),
      );
      assert.deepEqual(done, [], 'only a job is inserted');
      const written = setup.mailRecorder.queuedJobs.slice(before);
      assert.equal(written.length, 1);
      assert.deepEqual(Object.keys(written[0]?.payload ?? {}), ['sealed']);
      payloads.push(written[0]?.payload);
    }
    assert.equal(JSON.stringify(payloads).includes(user.username), false);
  });

  test('stores no unknown user name, no password and no code', async () => {
    const user = await setup.createUser({ otpSecret: newOtpSecret() });
    await setup.signIn({ ...user, username: 'typed-a-password-here' }, { otp: '424242' });
    await setup.signIn(user, { otp: '424242' });
    const records = await database.query(
      'SELECT * FROM sign_in_records WHERE organization_id = $1',
      [setup.organizationId],
    );
    assert.ok(records.some((record) => record['outcome'] === 'UnknownUser'));
    const text = JSON.stringify(records);
    for (const secret of ['typed-a-password-here', testPassword, '424242']) {
      assert.equal(text.includes(secret), false, secret);
    }
    const unknown = records.filter((record) => record['outcome'] === 'UnknownUser');
    assert.ok(unknown.every((record) => record['user_id'] === null));
  });
});
