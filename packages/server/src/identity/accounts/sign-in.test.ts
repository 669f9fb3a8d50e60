// The door for secrets: who comes in, who does not, and that nobody can tell why.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { openTestAccounts, password, type TestAccounts } from '../../../test/accounts.ts';
import { testDatabase } from '../../../test/database.ts';
import type { Database } from '../../platform/index.ts';
import type { Attempt, SignInKind } from './types.ts';

const origin = { address: '192.0.2.7', userAgent: 'test', requestId: 'r', clientId: 'web' };
const otpSecret = new Secret({ size: 20 }).base32;
const codeAt = (ms: number): string =>
  TOTP.generate({ secret: Secret.fromBase32(otpSecret), timestamp: ms });

describe('a sign-in', () => {
  let database: Database;
  let scene: TestAccounts;
  let attempt: (
    facts: Partial<Attempt> & { username: string },
  ) => ReturnType<TestAccounts['accounts']['authenticate']>;

  before(async () => {
    database = await testDatabase();
    scene = await openTestAccounts(database);
    attempt = (facts) =>
      scene.accounts.authenticate({
        organizationId: scene.organizationId,
        password,
        origin,
        kind: 'page',
        ...facts,
      });
  });

  test('with the right password', async () => {
    const user = await scene.createUser();
    const answer = await attempt({ username: user.username.toUpperCase() });
    assert.ok(answer.ok);
    assert.equal(answer.user.userId, user.userId);
    assert.deepEqual(answer.methods, ['pwd']);
    assert.equal(answer.needs, undefined);
  });

  test('with password and code; a code is good once', async () => {
    const user = await scene.createUser({ secondFactor: 'Required', otpSecret });
    for (const kind of ['page', 'password-grant', 'device'] satisfies SignInKind[]) {
      assert.deepEqual(await attempt({ username: user.username, kind }), { ok: false });
    }
    const otp = codeAt(scene.clock.now());
    const answer = await attempt({ username: user.username, otp });
    assert.ok(answer.ok);
    assert.deepEqual(answer.methods, ['pwd', 'otp']);
    assert.deepEqual(await attempt({ username: user.username, otp }), { ok: false });
  });
});
