// The password policy with the real word lists in their worker thread.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  openTestAccounts,
  type TestAccounts,
} from '../../../../test/support/identity/test-accounts.ts';
import type { User } from '../types.ts';
import { createPasswordStrength } from './password-strength.ts';

describe('the password policy', () => {
  const strength = createPasswordStrength();
  let setup: TestAccounts;
  let user: User;

  before(async () => {
    setup = await openTestAccounts(await testDatabase(), { passwordStrength: strength });
    user = await setup.createUser({
      username: 'marguerite.dubois',
      email: 'm.dubois@boulangerie-soleil.example',
      givenName: 'Marguerite',
      familyName: 'Dubois',
      password: undefined,
    });
  });
  after(() => setup.accounts.close());

  const faultOf = (password: string, hasSecondFactor = false) =>
    setup.accounts.findPasswordViolation(password, user, hasSecondFactor);

  test('checks the length first, and requires less with a second factor', async () => {
    assert.equal(await faultOf('k2!8xQz0pLmn'), 'too_short');
    assert.equal(await faultOf('k2!8xQz0pLmn', true), undefined);
    assert.equal(await faultOf('k2!8xQz0pLm', true), 'too_short');
    assert.equal(await faultOf('x'.repeat(129)), 'too_long');
  });

  // Spec: IDENT-35
  test('rejects common passwords in two languages', async () => {
    const common = [
      'aaaaaaaaaaaaaaaa',
      '123456789012345',
      'passwordpassword',
      'P@ssw0rd123456',
      'qwertyuiopasdfgh',
      'azertyuiopqsdfgh',
      'iloveyouiloveyou',
      'motdepasse12345',
      'abcdefghijklmnop',
      'p@ssw0rd$'.repeat(14),
    ];
    for (const password of common)
      assert.equal(await faultOf(password, true), 'too_common', password);
  });

  test('rejects passwords made of words of the user, the realm and the product', async () => {
    const ownPolicy = [
      'Marguerite-Dubois',
      'dubois.marguerite1',
      'boulangerie-soleil',
      'Switchyard-2027!',
      `${setup.userDomainId}-1`,
      'DuboisDuboisDubois12',
    ];
    for (const password of ownPolicy)
      assert.equal(await faultOf(password, true), 'too_common', password);
  });

  test('accepts long memorable passwords without special characters', async () => {
    const fine = [
      'seven tills under one roof',
      'le chat mange la souris',
      'correct horse battery staple',
      '日本語のとても長いパスワードです',
      'gdkmxw qpzrtn vblsch',
      `${'a'.repeat(100)} vq8 zkw tills`,
    ];
    for (const password of fine) assert.equal(await faultOf(password), undefined, password);
  });

  test('checks many passwords concurrently, and the longest in bounded time', async () => {
    const hard = Array.from({ length: 128 }, (_, index) =>
      String.fromCodePoint(33 + ((index * 37) % 94)),
    );
    const pending = Array.from({ length: 6 }, () => faultOf(hard.join('')));
    assert.deepEqual(await Promise.all(pending), Array.from({ length: 6 }).fill(undefined));
  });

  test('applies to new users, changed passwords and email links', async () => {
    await assert.rejects(setup.createUser({ password: 'passwordpassword' }), /easy to guess/);
    const { accounts, organizationId } = setup;
    await assert.rejects(
      accounts.setPassword(organizationId, user.userId, 'Marguerite-Dubois'),
      /easy to guess/,
    );
    await accounts.setPassword(organizationId, user.userId, 'seven tills under one roof');
  });

  test('checks only the length of random passwords', async () => {
    const made = (password: string) => setup.createUser({ password, passwordIsRandom: true });
    await made('passwordpassword');
    await assert.rejects(made('k2!8xQz0pLmn'), /needs at least 15 characters/);
  });

  test('works again after its thread was stopped', async () => {
    await strength.close();
    assert.equal(await faultOf('passwordpassword'), 'too_common');
  });

  test('a full queue of password checks answers 503', async () => {
    const ends = await Promise.allSettled(
      Array.from({ length: 40 }, async () => strength.isCommon('seven tills under one roof', [])),
    );
    const full = ends.filter((end) => end.status === 'rejected');
    assert.equal(full.length, 8);
    for (const { reason } of full) assert.match(String(reason), /overloaded/);
  });
});
