import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decryptBytes, encryptBytes } from './authenticated-encryption.ts';
import { deriveKey } from './derive-key.ts';

const master = randomBytes(32);
const key = deriveKey(master, 'test');

describe('authenticated encryption', () => {
  test('the same key and associated data decrypt the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (bytes, context) => {
        const plaintext = Buffer.from(bytes);
        assert.deepEqual(
          decryptBytes(key, encryptBytes(key, plaintext, context), context),
          plaintext,
        );
      }),
    );
  });

  test('a changed byte, other associated data or another key fails', () => {
    const sealed = encryptBytes(key, Buffer.from('4000000000000010'), 'tenant|row');
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      assert.throws(() => decryptBytes(key, changed, 'tenant|row'), `byte ${index}`);
    }
    assert.throws(() => decryptBytes(key, sealed, 'tenant|other'), /decryption failed/);
    assert.throws(
      () => decryptBytes(deriveKey(master, 'x'), sealed, 'tenant|row'),
      /none of the given keys/,
    );
    assert.throws(
      () => decryptBytes(key, sealed.subarray(0, 20), 'tenant|row'),
      /no valid encryption header/,
    );
  });

  test('during a key rotation the matching key is found', () => {
    const old = deriveKey(master, 'old');
    assert.equal(
      decryptBytes([key, old], encryptBytes(old, Buffer.from('x'), 'a'), 'a').toString(),
      'x',
    );
  });

  test('the same plaintext never has the same ciphertext', () => {
    assert.notDeepEqual(
      encryptBytes(key, Buffer.from('x'), 'a'),
      encryptBytes(key, Buffer.from('x'), 'a'),
    );
  });
});

describe('derived keys', () => {
  test('keys differ by purpose and are reproducible', () => {
    assert.notDeepEqual(deriveKey(master, 'a'), deriveKey(master, 'b'));
    // Known ciphertext: a change of the format would make every stored card unreadable.
    assert.equal(
      deriveKey(Buffer.alloc(32, 1), 'vault-data').toString('hex'),
      '2662f3ec85ce23092e55acccb03aa40279a999f3c1aa73c2aac7c52dd7f95f98',
    );
    assert.throws(() => deriveKey(Buffer.alloc(16), 'a'), RangeError);
    assert.throws(() => deriveKey(master, ''), RangeError);
  });
});
