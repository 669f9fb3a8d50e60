// One-time passwords with the test vectors of RFC 6238, and recovery codes in typed variants.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { systemIdGenerator } from '../../../platform/index.ts';
import { createOneTimePasswords, parseOtpSecret } from './one-time-passwords.ts';

const masterKey = randomBytes(32);
const passwords = createOneTimePasswords(masterKey, systemIdGenerator);
const owner = { organizationId: 'o', userId: 'u' };

/** Appendix B, SHA-1; the last six of the eight digits are used. */
const secret = Buffer.from('12345678901234567890');
const vectors: [seconds: number, code: string][] = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
];

describe('a one-time password', () => {
  test('matches the test vectors of RFC 6238', () => {
    for (const [seconds, code] of vectors) {
      const step = passwords.findMatchingStep(secret, code.slice(2), seconds * 1000);
      assert.equal(step, Math.floor(seconds / 30), code);
    }
  });

  test('is valid one step before and after, and no longer', () => {
    const [seconds, code] = [1_111_111_111, '050471'];
    const step = Math.floor(seconds / 30);
    const stepAt = (shift: number) =>
      passwords.findMatchingStep(secret, code, (step + shift) * 30_000 + 1);
    assert.deepEqual([-2, -1, 0, 1, 2].map(stepAt), [undefined, step, step, step, undefined]);
  });

  test('has six digits, and spaces are ignored', () => {
    const at = 59_000;
    assert.equal(passwords.findMatchingStep(secret, ' 287 082 ', at), 1);
    for (const code of [
      '94287082',
      '28708',
      '2870822',
      '28708a',
      '',
      '２８７０８２',
      '-87082',
      '2e5',
    ]) {
      assert.equal(passwords.findMatchingStep(secret, code, at), undefined, code);
    }
    assert.equal(passwords.findMatchingStep(secret, `287082${' '.repeat(100_000)}`, at), undefined);
    assert.equal(passwords.findMatchingStep(undefined, '287082', at), undefined);
  });

  test('has a secret that can be decrypted only for its user', () => {
    const made = passwords.newSecret();
    assert.equal(made.length, 20);
    const sealed = passwords.sealSecret(made, owner);
    assert.deepEqual(passwords.openSecret(sealed, owner), made);
    assert.throws(() => passwords.openSecret(sealed, { ...owner, userId: 'v' }));
    assert.throws(() => passwords.openSecret(sealed, { ...owner, organizationId: 'p' }));
    const others = createOneTimePasswords(randomBytes(32), systemIdGenerator);
    assert.throws(() => others.openSecret(sealed, owner));
  });

  test('has a base32 secret and a URI for authenticator apps', () => {
    assert.equal(passwords.toBase32(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
    assert.deepEqual(parseOtpSecret('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'), secret);
    assert.equal(parseOtpSecret('GEZDGNBVGY3TQOJQ'), undefined);
    assert.equal(parseOtpSecret('not base32!'), undefined);
    const uri = new URL(passwords.toOtpauthUri(secret, 'Switchyard demo', 'ann@shop.example'));
    assert.equal(uri.protocol, 'otpauth:');
    assert.equal(decodeURIComponent(uri.pathname), '/Switchyard demo:ann@shop.example');
    assert.equal(uri.searchParams.get('secret'), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
    assert.equal(uri.searchParams.get('digits'), '6');
    assert.equal(uri.searchParams.get('period'), '30');
  });
});

describe('recovery codes', () => {
  test('are ten different codes without ambiguous characters', () => {
    const codes = passwords.newRecoveryCodes();
    assert.equal(new Set(codes).size, 10);
    for (const code of codes) {
      assert.match(code, /^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/);
      assert.ok(passwords.isRecoveryCode(code));
    }
  });

  test('have one hash for all typed variants, and a different hash for another user', () => {
    const hash = passwords.hashRecoveryCode('0A1BC-DEFGH', owner);
    for (const typed of ['0a1bcdefgh', ' 0A1BC DEFGH', 'oAlBc-deFgh', '0aIbc-defgh']) {
      assert.deepEqual(passwords.hashRecoveryCode(typed, owner), hash, typed);
    }
    assert.notDeepEqual(passwords.hashRecoveryCode('0A1BC-DEFGH', { ...owner, userId: 'v' }), hash);
    const others = createOneTimePasswords(randomBytes(32), systemIdGenerator);
    assert.notDeepEqual(others.hashRecoveryCode('0A1BC-DEFGH', owner), hash);
    for (const code of ['', '123456', '0A1BC-DEFG', '0A1BC-DEFGHJ', 'U'.repeat(10)]) {
      assert.equal(passwords.isRecoveryCode(code), false, code);
    }
  });
});
