// Passkeys, tested with an authenticator of this project that shares no code with the library.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  type Authenticator,
  createAuthenticator,
} from '../../../../test/support/browser/webauthn-authenticator.ts';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  newOtpSecret,
  openTestAccounts,
  otpCode,
  type TestAccounts,
  testOrigin,
} from '../../../../test/support/identity/test-accounts.ts';
import type { Database } from '../../../platform/index.ts';
import { maxFailures } from '../sign-in/authenticate-sql.ts';
import type { User } from '../types.ts';

const site = 'https://localhost:8443';
const rp = { id: 'localhost', name: 'Switchyard', origin: site };

describe('a passkey', () => {
  let database: Database;
  let setup: TestAccounts;

  before(async () => {
    database = await testDatabase();
    setup = await openTestAccounts(database);
  });

  const passkeys = () => setup.accounts.passkeys;

  async function register(user: User, key: Authenticator, name?: string): Promise<boolean> {
    const options = await passkeys().registrationOptions(user, rp);
    return passkeys().register(user, key.create(options), rp, name);
  }

  async function withKey(facts: { counts?: boolean } = {}) {
    const user = await setup.createUser({ secondFactor: 'Required' });
    const key = createAuthenticator(site, facts);
    assert.ok(await register(user, key));
    return { user, key };
  }

  async function use(user: User, key: Authenticator, faults: Parameters<typeof key.get>[1] = {}) {
    const options = await passkeys().authenticationOptions(user, rp);
    return passkeys().authenticate(user, key.get(options, faults), rp, testOrigin);
  }

  test('is registered, required after the password, and completes the sign-in', async () => {
    const { user, key } = await withKey();
    const passkey = await setup.accounts.find(user.organizationId, user.userId);
    assert.equal(passkey?.secondFactor, 'On');
    const half = await setup.signIn(user);
    assert.equal(half.ok && half.needs, 'passkey');
    setup.clock.advance(1_000);
    assert.equal(await use(user, key), true);
    assert.equal(await use(user, key), true);
    const [listed] = await passkeys().list(user);
    assert.deepEqual(listed, {
      credentialId: key.id,
      name: 'Passkey',
      createdAt: setup.clock.now() - 1_000,
      lastUsedAt: setup.clock.now(),
    });
    const [last] = await setup.accounts.signInHistory.list(user, { limit: 1 });
    assert.deepEqual(
      [last?.kind, last?.outcome, last?.methods],
      ['passkey', 'Success', ['pwd', 'hwk']],
    );
    const mails = await setup.mailRecorder.deliver();
    assert.equal(mails.at(-1)?.subject, 'A second factor was set up · Switchyard');
  });

  // Spec: ONB-8
  test('is not registered with a challenge from before a reset, but with one from after it', async () => {
    const user = await setup.createUser({ secondFactor: 'Required' });
    const { organizationId, userId } = user;
    const { accounts, clock } = setup;
    const resets = [
      () => accounts.resetSecondFactor(organizationId, userId),
      () => accounts.setPassword(organizationId, userId, 'eight tills under two roofs'),
    ];
    for (const reset of resets) {
      const key = createAuthenticator(site);
      const options = await passkeys().registrationOptions(user, rp);
      clock.advance(1_500);
      await reset();
      clock.advance(1_500);
      assert.equal(await passkeys().register(user, key.create(options), rp), false);
      assert.equal((await accounts.find(organizationId, userId))?.secondFactor, 'Required');
    }
    assert.ok(await register(user, createAuthenticator(site)));
  });

  test('is requested with options that fit a second factor', async () => {
    const { user, key } = await withKey();
    const again = await passkeys().registrationOptions(user, rp);
    assert.deepEqual(
      again.excludeCredentials?.map(({ id }) => id),
      [key.id],
    );
    assert.equal(again.attestation, 'none');
    assert.equal(Buffer.from(again.user.id, 'base64url').toString(), user.userId);
    const options = await passkeys().authenticationOptions(user, rp);
    assert.deepEqual(options.allowCredentials, [
      { id: key.id, transports: ['usb'], type: 'public-key' },
    ]);
    assert.ok(Buffer.from(options.challenge, 'base64url').length >= 16);
  });

  test('a challenge is valid once, for its user and purpose, for five minutes', async () => {
    const { user, key } = await withKey();
    const other = await withKey();
    const options = await passkeys().authenticationOptions(user, rp);
    const answer = key.get(options);
    assert.equal(await passkeys().authenticate(other.user, answer, rp, testOrigin), false);
    assert.equal(await passkeys().authenticate(user, answer, rp, testOrigin), true);
    assert.equal(await passkeys().authenticate(user, answer, rp, testOrigin), false);
    const late = await passkeys().authenticationOptions(user, rp);
    setup.clock.advance(300_000);
    assert.equal(await passkeys().authenticate(user, key.get(late), rp, testOrigin), false);
    const creation = await passkeys().registrationOptions(user, rp);
    const misused = key.get(options, { challenge: creation.challenge });
    assert.equal(await passkeys().authenticate(user, misused, rp, testOrigin), false);
    const ownPasskey = key.get(options, { challenge: Buffer.alloc(32, 7).toString('base64url') });
    assert.equal(await passkeys().authenticate(user, ownPasskey, rp, testOrigin), false);
  });

  test('of many concurrent requests with one response, one succeeds', async () => {
    const { user, key } = await withKey();
    const options = await passkeys().authenticationOptions(user, rp);
    const answer = key.get(options);
    const ends = await Promise.all(
      Array.from({ length: 8 }, () => passkeys().authenticate(user, answer, rp, testOrigin)),
    );
    assert.equal(ends.filter((end) => end).length, 1);
  });

  test('is rejected from another site, for another site, without user presence, or with another key', async () => {
    const { user, key } = await withKey();
    assert.equal(await use(user, key, { origin: 'https://localhost.evil.example' }), false);
    assert.equal(await use(user, key, { origin: 'http://localhost:8443' }), false);
    assert.equal(await use(user, key, { rpId: 'evil.example' }), false);
    assert.equal(await use(user, key, { isAbsent: true }), false);
    const options = await passkeys().authenticationOptions(user, rp);
    const forged = { ...createAuthenticator(site).get(options), id: key.id, rawId: key.id };
    assert.equal(await passkeys().authenticate(user, forged, rp, testOrigin), false);
    assert.equal(await use(user, createAuthenticator(site)), false);
    assert.equal(await use(user, key), true);
  });

  test('is rejected if its counter does not increase; authenticators without a counter are accepted', async () => {
    const { user, key } = await withKey();
    assert.equal(await use(user, key, { counter: 7 }), true);
    assert.equal(await use(user, key, { counter: 7 }), false);
    assert.equal(await use(user, key, { counter: 6 }), false);
    assert.equal(await use(user, key, { counter: 0 }), false);
    assert.equal(await use(user, key, { counter: 8 }), true);
    const phone = await withKey({ counts: false });
    assert.equal(await use(phone.user, phone.key), true);
    assert.equal(await use(phone.user, phone.key), true);
  });

  test('is not registered from another site, without user presence, or twice', async () => {
    const user = await setup.createUser();
    const key = createAuthenticator(site);
    const refusals = [
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { isAbsent: true },
    ];
    for (const faults of refusals) {
      const options = await passkeys().registrationOptions(user, rp);
      assert.equal(await passkeys().register(user, key.create(options, faults), rp), false);
    }
    const options = await passkeys().registrationOptions(user, rp);
    assert.ok(await passkeys().register(user, key.create(options), rp, ' My\nkey '));
    assert.equal(await passkeys().register(user, key.create(options), rp), false);
    assert.equal(await register(user, key), false);
    assert.deepEqual(
      (await passkeys().list(user)).map(({ name }) => name),
      ['My key'],
    );
  });

  test('rejects every malformed response', async () => {
    const { user, key } = await withKey();
    const options = await passkeys().authenticationOptions(user, rp);
    const good = key.get(options);
    const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const answers: unknown[] = [
      undefined,
      null,
      7,
      'x',
      [],
      {},
      { response: null },
      { response: { clientDataJSON: 7 } },
      { response: { clientDataJSON: '%%%' } },
      { response: { clientDataJSON: text(null) } },
      { response: { clientDataJSON: text({ challenge: 7 }) } },
      { response: { clientDataJSON: text({ challenge: '\0' }) } },
      { ...good, response: { clientDataJSON: good.response.clientDataJSON } },
    ];
    for (const answer of answers) {
      assert.equal(await passkeys().authenticate(user, answer, rp, testOrigin), false);
      assert.equal(await passkeys().register(user, answer, rp), false);
      // Thirteen failures would lock the user.
      await database.query('UPDATE users SET failed_attempts = 0 WHERE user_id = $1', [
        user.userId,
      ]);
    }
    const creation = await passkeys().registrationOptions(user, rp);
    const odd = createAuthenticator(site).create(creation);
    const transports = [{}, '\0', 'x'.repeat(10_000), 'nfc'];
    const answer = { ...odd, response: { ...odd.response, transports } };
    assert.equal(await passkeys().register(user, answer, rp), true);
    const currentSessionId = await passkeys().authenticationOptions(user, rp);
    const listed = currentSessionId.allowCredentials?.find(({ id }) => id === odd.id);
    assert.deepEqual(listed?.transports, ['nfc']);
  });

  test('locks the user after ten failures, as with codes', async () => {
    const { user, key } = await withKey();
    const other = createAuthenticator(site);
    for (let index = 0; index < maxFailures; index += 1)
      assert.equal(await use(user, other), false);
    assert.equal(await use(user, key), false);
    assert.equal((await setup.signIn(user)).ok, false);
  });

  test('a user has at most ten passkeys', async () => {
    const user = await setup.createUser();
    for (let index = 0; index < 10; index += 1) {
      assert.ok(await register(user, createAuthenticator(site)));
    }
    assert.equal(await register(user, createAuthenticator(site)), false);
  });

  test('after the last factor is removed, a new one is required; one-time passwords count as a factor', async () => {
    const find = (user: User) => setup.accounts.find(user.organizationId, user.userId);
    const { user, key } = await withKey();
    const second = createAuthenticator(site);
    assert.ok(await register(user, second));
    assert.equal(await passkeys().remove(user, 'x'), false);
    const ends = await Promise.all([key.id, second.id].map((id) => passkeys().remove(user, id)));
    assert.deepEqual(ends, [true, true]);
    assert.equal((await find(user))?.secondFactor, 'Required');
    const half = await setup.signIn(user);
    assert.equal(half.ok && half.needs, 'enrolment');
    const otpSecret = newOtpSecret();
    const factors = await setup.createUser({ otpSecret });
    assert.ok(await register(factors, key));
    assert.ok(await passkeys().remove(factors, key.id));
    assert.equal((await find(factors))?.secondFactor, 'On');
    const otp = otpCode(otpSecret, setup.clock.now());
    assert.ok((await setup.signIn(factors, { otp })).ok);
  });

  test('a recovery code replaces a lost passkey', async () => {
    const { user } = await withKey();
    const [code = ''] = await setup.accounts.renewRecoveryCodes(user);
    const answer = await setup.signIn(user, { otp: code });
    assert.deepEqual(answer.ok && answer.methods, ['pwd', 'rc']);
  });
});
