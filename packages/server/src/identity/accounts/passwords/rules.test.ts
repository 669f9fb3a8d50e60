// Length and normalization of passwords: pure, so tested without a database.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { findLengthViolation, normalizePassword } from './rules.ts';

describe('the length and form of a password', () => {
  test('counts code points of the normalized form', () => {
    assert.equal(findLengthViolation('x'.repeat(14), false), 'too_short');
    assert.equal(findLengthViolation('x'.repeat(15), false), undefined);
    assert.equal(findLengthViolation('x'.repeat(11), true), 'too_short');
    assert.equal(findLengthViolation('x'.repeat(12), true), undefined);
    assert.equal(findLengthViolation('x'.repeat(128), false), undefined);
    assert.equal(findLengthViolation('x'.repeat(129), false), 'too_long');
    assert.equal(findLengthViolation('🔑'.repeat(128), false), undefined);
    assert.equal(findLengthViolation('🔑'.repeat(14), false), 'too_short');
    assert.equal(findLengthViolation('e\u0301'.repeat(14), false), 'too_short');
    assert.equal(findLengthViolation('x'.repeat(10_000_000), false), 'too_long');
  });

  test('the same text from different keyboards is the same password', () => {
    assert.equal(normalizePassword('cafe\u0301\u00a0noir'), 'café noir');
    assert.notEqual(normalizePassword('ﬁn'), 'fin');
    assert.notEqual(normalizePassword('a\0b'), normalizePassword('a'));
  });
});
