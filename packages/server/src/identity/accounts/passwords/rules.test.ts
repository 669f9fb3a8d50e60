// Length and normalization of passwords: pure, so tested without a database.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { passwordLengthFault, preparedPassword } from './rules.ts';

describe('the length of a password', () => {
  test('counts code points of the prepared form', () => {
    assert.equal(passwordLengthFault('x'.repeat(14), false), 'too_short');
    assert.equal(passwordLengthFault('x'.repeat(15), false), undefined);
    assert.equal(passwordLengthFault('x'.repeat(11), true), 'too_short');
    assert.equal(passwordLengthFault('x'.repeat(12), true), undefined);
    assert.equal(passwordLengthFault('x'.repeat(128), false), undefined);
    assert.equal(passwordLengthFault('x'.repeat(129), false), 'too_long');
    assert.equal(passwordLengthFault('🔑'.repeat(128), false), undefined);
    assert.equal(passwordLengthFault('🔑'.repeat(14), false), 'too_short');
    assert.equal(passwordLengthFault('e\u0301'.repeat(14), false), 'too_short');
    assert.equal(passwordLengthFault('x'.repeat(10_000_000), false), 'too_long');
  });

  test('one text typed on two machines is one password', () => {
    assert.equal(preparedPassword('cafe\u0301\u00a0noir'), 'café noir');
    assert.notEqual(preparedPassword('ﬁn'), 'fin');
    assert.notEqual(preparedPassword('a\0b'), preparedPassword('a'));
  });
});
