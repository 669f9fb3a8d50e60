// Authentication by password and second factor: success, failure, locks and concurrent attempts.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { hash, parseOptions } from '@node-rs/argon2';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  newOtpSecret,
  openTestAccounts,
  otpCode,
  type TestAccounts,
  testPassword,
} from '../../../../test/support/identity/test-accounts.ts';
import { testPasswordHasher } from '../../../../test/support/identity/test-password-hasher.ts';
import { type Database, systemIdGenerator } from '../../../platform/index.ts';
import { createPasswordHasher } from '../passwords/password-hashing.ts';
import type { SignInKind, User } from '../types.ts';
import { lockDurationMs, maxFailures } from './authenticate-sql.ts';

const refused = { ok: false };
const wrong = { password: 'nine tills under one roof' };

async function times<Result>(count: number, act: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let index = 0; index < count; index += 1) results.push(await act());
  return results;
}

describe('a sign-in', () => {
  let database: Database;
  let setup: TestAccounts;

  before(async () => {
    database = await testDatabase();
    setup = await openTestAccounts(database);
  });

  const accepted = (answers: readonly { ok: boolean }[]) => answers.filter(({ ok }) => ok).length;

  async function withCode(): Promise<{ user: User; otp(): string }> {
    const otpSecret = newOtpSecret();
    const user = await setup.createUser({ otpSecret });
    return { user, otp: () => otpCode(otpSecret, setup.clock.now()) };
  }

  const addPasskey = (user: User) =>
    database.query(
      `INSERT INTO user_passkeys (organization_id, user_id, credential_id, public_key, counter,
         transports, name, created_at) VALUES ($1, $2, 'key', '', 0, '[]', 'key', now())`,
      [user.organizationId, user.userId],
    );

  async function failedAttempts({ userId }: User): Promise<unknown> {
    const [row] = await database.query('SELECT failed_attempts FROM users WHERE user_id = $1', [
      userId,
    ]);
    return row?.['failed_attempts'];
  }

  describe('with a password alone', () => {
    test('succeeds in upper and lower case of the user name', async () => {
      const user = await setup.createUser();
      const answer = await setup.signIn({ ...user, username: user.username.toUpperCase() });
      assert.ok(answer.ok);
      assert.equal(answer.user.userId, user.userId);
      assert.deepEqual(answer.methods, ['pwd']);
      assert.equal('needs' in answer, false);
      const storedHash = await setup.accounts.findByName(setup.organizationId, user.username);
      assert.equal(storedHash?.lastSignInAt, setup.clock.now());
    });

    test('fails equally for wrong, unknown, disabled, without a password, and of another organisation', async () => {
      const user = await setup.createUser();
      const disabled = await setup.createUser();
      await setup.accounts.setStatus(setup.organizationId, disabled.userId, 'Disabled');
      const withoutPassword = await setup.createUser({ password: undefined });
      const elsewhere = await openTestAccounts(database);
      assert.deepEqual(await setup.signIn(user, wrong), refused);
      assert.deepEqual(await setup.signIn({ ...user, username: 'nobody' }), refused);
      assert.deepEqual(await setup.signIn(disabled), refused);
      assert.deepEqual(await setup.signIn(withoutPassword), refused);
      assert.deepEqual(await setup.signIn(withoutPassword, { password: '' }), refused);
      assert.deepEqual(await elsewhere.signIn(user), refused);
    });

    test('accepts any text as name, password and code', async () => {
      const user = await setup.createUser();
      for (const name of ['', '\0', 'а', '\ud800', "' OR 1=1 --", `${user.username}\0`]) {
        assert.deepEqual(await setup.signIn({ ...user, username: name }), refused);
      }
      assert.deepEqual(await setup.signIn({ ...user, username: 'x'.repeat(1_000_000) }), refused);
      for (const text of [
        '',
        '\0',
        `${testPassword}\0`,
        '\ud800',
        'x'.repeat(5_000_000),
        ` ${testPassword}`,
      ]) {
        assert.deepEqual(await setup.signIn(user, { password: text }), refused);
      }
      for (const otp of ['\0', '\ud800', '1'.repeat(1_000_000)]) {
        assert.deepEqual(await setup.signIn({ ...user, username: 'nobody' }, { otp }), refused);
      }
      assert.ok((await setup.signIn(user)).ok);
    });

    test('a password with NUL and accents is compared in full', async () => {
      const text = 'caf\u00e9\0noir sept caisses';
      const user = await setup.createUser({ password: text });
      assert.ok((await setup.signIn(user, { password: text })).ok);
      assert.ok((await setup.signIn(user, { password: text.normalize('NFD') })).ok);
      assert.equal((await setup.signIn(user, { password: 'caf\u00e9' })).ok, false);
    });

    test('a hash with outdated parameters is replaced at the sign-in', async () => {
      const passwordHasher = createPasswordHasher(systemIdGenerator.secret());
      const production = await openTestAccounts(database, { passwordHasher });
      const user = await production.createUser();
      const old = await hash(testPassword, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
      const set = 'UPDATE users SET password_hash = $2 WHERE user_id = $1';
      await database.query(set, [user.userId, old]);
      assert.equal((await production.signIn(user, wrong)).ok, false);
      assert.ok((await production.signIn(user)).ok);
      const [row] = await database.query<{ password_hash: string }>(
        'SELECT password_hash FROM users WHERE user_id = $1',
        [user.userId],
      );
      const made = parseOptions(row?.password_hash ?? '');
      assert.deepEqual([made.memoryCost, made.timeCost, made.parallelism], [19_456, 2, 1]);
      assert.equal(made.algorithm, 2);
      assert.ok((await production.signIn(user)).ok);
    });

    test('a password that is changed during the check is rejected', async () => {
      let duringAttempt = async (): Promise<void> => {};
      const slow = await openTestAccounts(database, {
        passwordHasher: {
          ...testPasswordHasher,
          async verify(...asked) {
            const fits = await testPasswordHasher.verify(...asked);
            await duringAttempt();
            return fits;
          },
        },
      });
      const user = await slow.createUser();
      duringAttempt = () =>
        slow.accounts.setPassword(slow.organizationId, user.userId, 'eight tills under one roof');
      assert.deepEqual(await slow.signIn(user), refused);
      duringAttempt = async () => {
        await slow.accounts.setStatus(slow.organizationId, user.userId, 'Disabled');
      };
      const newer = { password: 'eight tills under one roof' };
      assert.deepEqual(await slow.signIn(user, newer), refused);
    });
  });

  describe('with a second factor', () => {
    test('requires the code, and accepts each code once', async () => {
      const { user, otp } = await withCode();
      for (const kind of ['page', 'password-grant', 'device'] satisfies SignInKind[]) {
        assert.deepEqual(await setup.signIn(user, { kind }), refused);
        assert.deepEqual(await setup.signIn(user, { kind, otp: '' }), refused);
      }
      const answer = await setup.signIn(user, { otp: otp() });
      assert.ok(answer.ok);
      assert.deepEqual(answer.methods, ['pwd', 'otp']);
      assert.deepEqual(await setup.signIn(user, { otp: otp() }), refused);
      setup.clock.advance(30_000);
      assert.ok((await setup.signIn(user, { otp: otp(), kind: 'password-grant' })).ok);
    });

    test('rejects an older code than the last one, and a wrong password uses no code up', async () => {
      const { user, otp } = await withCode();
      const older = otp();
      setup.clock.advance(30_000);
      assert.equal((await setup.signIn(user, { ...wrong, otp: otp() })).ok, false);
      assert.ok((await setup.signIn(user, { otp: otp() })).ok);
      assert.equal((await setup.signIn(user, { otp: older })).ok, false);
    });

    // Spec: IDENT-39
    test('of many concurrent sign-ins with the same code, one succeeds', async () => {
      const { user, otp } = await withCode();
      for (let round = 0; round < 5; round += 1) {
        const code = otp();
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => setup.signIn(user, { otp: code })),
        );
        assert.equal(accepted(answers), 1, `round ${round}`);
        setup.clock.advance(lockDurationMs);
      }
    });

    test('rejects the code of another user', async () => {
      const ann = await withCode();
      const bob = await withCode();
      assert.equal((await setup.signIn(bob.user, { otp: ann.otp() })).ok, false);
    });

    test('if it is not set up yet, continues with the set-up on pages and fails elsewhere', async () => {
      const user = await setup.createUser({ secondFactor: 'Required' });
      const answer = await setup.signIn(user);
      assert.ok(answer.ok);
      assert.equal(answer.needs, 'enrolment');
      assert.deepEqual(await setup.signIn(user, { kind: 'password-grant' }), refused);
      assert.deepEqual(await setup.signIn(user, { kind: 'device', otp: '123456' }), refused);
      assert.deepEqual(await setup.signIn(user, wrong), refused);
    });

    // Spec: IDENT-41
    test('production requires it of a manager although it was off, and not of an operator', async () => {
      const strict = await openTestAccounts(database, { environment: 'production' });
      const merchantId = systemIdGenerator.uuid();
      const at = { entityType: 'merchant', entityId: merchantId } as const;
      const manager = await strict.createUser({
        ...at,
        groups: [`${merchantId}_merchant_manager`],
      });
      const operator = await strict.createUser({ ...at, groups: [`${merchantId}_org_operator`] });
      assert.equal(manager.secondFactor, 'Required');
      assert.equal(operator.secondFactor, 'Off');
      await database.query("UPDATE users SET second_factor = 'Off' WHERE user_id = $1", [
        manager.userId,
      ]);
      const answer = await strict.signIn(manager);
      assert.equal(answer.ok && answer.needs, 'enrolment');
      assert.deepEqual(await strict.signIn(manager, { kind: 'password-grant' }), refused);
      assert.ok((await strict.signIn(operator, { kind: 'password-grant' })).ok);
    });

    test('requires a passkey if no code was entered, only on pages', async () => {
      const { user, otp } = await withCode();
      await addPasskey(user);
      const answer = await setup.signIn(user);
      assert.ok(answer.ok);
      assert.deepEqual([answer.needs, answer.methods], ['passkey', ['pwd']]);
      assert.deepEqual(await setup.signIn(user, wrong), refused);
      assert.deepEqual(await setup.signIn(user, { kind: 'password-grant' }), refused);
      assert.deepEqual(await setup.signIn(user, { otp: '000000' }), refused);
      const full = await setup.signIn(user, { otp: otp() });
      assert.equal(full.ok && full.needs === undefined, true);
    });
  });

  describe('that fails', () => {
    // Spec: IDENT-36
    test('ten times locks for 30 minutes, and the right password then fails like a wrong one', async () => {
      const user = await setup.createUser();
      await times(maxFailures - 1, () => setup.signIn(user, wrong));
      assert.ok((await setup.signIn(user)).ok, 'nine failures cause no lock');
      await times(maxFailures, () => setup.signIn(user, wrong));
      assert.deepEqual(await setup.signIn(user), refused);
      assert.deepEqual(await setup.signIn(user, wrong), refused, 'the eleventh');
      setup.clock.advance(lockDurationMs - 1);
      assert.deepEqual(await setup.signIn(user), refused);
      setup.clock.advance(1);
      assert.ok((await setup.signIn(user)).ok);
    });

    test('failed sign-ins of unknown sources do not lock a known source', async () => {
      const user = await setup.createUser();
      const from = (source: string) => ({ origin: { address: '192.0.2.7', source } });
      const knownOrigin = from('browser own');
      assert.ok((await setup.signIn(user, knownOrigin)).ok);
      await times(maxFailures + 2, () => setup.signIn(user, { ...wrong, ...from('browser new') }));
      assert.deepEqual(await setup.signIn(user), refused);
      assert.deepEqual(await setup.signIn(user, from('browser new')), refused);
      assert.ok((await setup.signIn(user, knownOrigin)).ok, 'it is counted separately');
      assert.deepEqual(
        await setup.signIn(user),
        refused,
        'its success does not end the lock of other sources',
      );
      const neighbour = await setup.createUser();
      await times(maxFailures, () => setup.signIn(neighbour, { ...wrong, ...knownOrigin }));
      assert.deepEqual(
        await setup.signIn(neighbour, knownOrigin),
        refused,
        'it is known only for one user',
      );
    });

    test('a known source has as many attempts as all unknown sources together', async () => {
      const user = await setup.createUser();
      const knownOrigin = { origin: { address: '192.0.2.7', source: 'browser own' } };
      assert.ok((await setup.signIn(user, knownOrigin)).ok);
      await times(maxFailures - 1, () => setup.signIn(user, { ...wrong, ...knownOrigin }));
      assert.ok((await setup.signIn(user, knownOrigin)).ok, 'nine failures cause no lock');
      await times(maxFailures, () => setup.signIn(user, { ...wrong, ...knownOrigin }));
      assert.deepEqual(await setup.signIn(user, knownOrigin), refused);
      assert.ok((await setup.signIn(user)).ok, 'it does not lock other sources');
      setup.clock.advance(lockDurationMs);
      assert.ok((await setup.signIn(user, knownOrigin)).ok);
    });

    test('a failure makes no source known, and a new password deletes all known sources', async () => {
      const { user } = await withCode();
      const knownOrigin = { origin: { address: '192.0.2.7', source: 'browser own' } };
      const countKnownSources = async () =>
        (await database.query('SELECT 1 FROM user_known_sources WHERE user_id = $1', [user.userId]))
          .length;
      await setup.signIn(user, { ...knownOrigin, otp: '000000' });
      assert.equal(await countKnownSources(), 0, 'a failure makes no source known');
      const other = await setup.createUser();
      assert.ok((await setup.signIn(other, knownOrigin)).ok);
      await setup.accounts.setPassword(setup.organizationId, other.userId, `new ${other.userId}`);
      const storedSources = await database.query(
        'SELECT 1 FROM user_known_sources WHERE user_id = $1',
        [other.userId],
      );
      assert.equal(storedSources.length, 0);
    });

    test('the last used sources of each user stay known', async () => {
      const user = await setup.createUser();
      for (let n = 0; n < 25; n += 1) {
        setup.clock.advance(1000);
        const origin = { address: '192.0.2.7', source: `browser ${n}` };
        assert.ok((await setup.signIn(user, { origin })).ok);
      }
      const storedSources = await database.query(
        'SELECT 1 FROM user_known_sources WHERE user_id = $1',
        [user.userId],
      );
      assert.equal(storedSources.length, 20);
    });

    test('the count starts again after a lock has ended', async () => {
      const user = await setup.createUser();
      await times(maxFailures, () => setup.signIn(user, wrong));
      setup.clock.advance(lockDurationMs);
      await times(maxFailures - 1, () => setup.signIn(user, wrong));
      assert.ok((await setup.signIn(user)).ok);
    });

    test('wrong and missing codes count too, and no code is used up during a lock', async () => {
      const { user, otp } = await withCode();
      await times(5, () => setup.signIn(user, { otp: '000000' }));
      await times(5, () => setup.signIn(user));
      assert.deepEqual(await setup.signIn(user, { otp: otp() }), refused);
      const [row] = await database.query(
        'SELECT last_step FROM user_one_time_passwords WHERE user_id = $1',
        [user.userId],
      );
      assert.equal(row?.['last_step'], 0);
    });

    test('the right password alone does not reset the count of wrong codes', async () => {
      const { user, otp } = await withCode();
      await addPasskey(user);
      await times(maxFailures - 1, () => setup.signIn(user, { otp: '000000' }));
      assert.ok((await setup.signIn(user)).ok);
      assert.equal((await setup.signIn(user, { otp: '000000' })).ok, false);
      assert.equal((await setup.signIn(user, { otp: otp() })).ok, false);
    });

    test('concurrent attempts are all counted, and at most ten are checked', async () => {
      const user = await setup.createUser();
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          // The right code is in the middle: an attacker gets ten guesses, not forty.
          setup.signIn(user, index === 30 ? {} : wrong),
        ),
      );
      assert.equal(await failedAttempts(user), maxFailures);
      assert.equal(accepted(answers), 0);
    });

    test('too often from one IP address is rejected without a check; other addresses are not affected', async () => {
      const limits = { failures: 5, mails: 5, windowSeconds: 600 };
      const guarded = await openTestAccounts(database, { limits });
      const user = await guarded.createUser();
      await times(20, () => guarded.signIn(user));
      await times(5, () => guarded.signIn({ ...user, username: 'nobody' }));
      const answer = await guarded.signIn(user);
      assert.ok(!answer.ok);
      assert.ok((answer.retryAfterSeconds ?? 0) > 0 && (answer.retryAfterSeconds ?? 0) <= 600);
      const elsewhere = { address: '198.51.100.1' };
      assert.ok((await guarded.signIn(user, { origin: elsewhere })).ok);
    });
  });
});
