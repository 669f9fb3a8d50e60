import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decryptBytes, encryptBytes } from './authenticated-encryption.ts';
import { deriveKey } from './derive-key.ts';

const master = randomBytes(32);
const key = deriveKey(master, 'test');

describe('seal', () => {
  test('what is sealed opens with the same key in the same place', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.string(), (bytes, place) => {
        const plaintext = Buffer.from(bytes);
        assert.deepEqual(decryptBytes(key, encryptBytes(key, plaintext, place), place), plaintext);
      }),
    );
  });

  test('one changed byte, another place or another key breaks it', () => {
    const sealed = encryptBytes(key, Buffer.from('4000000000000010'), 'tenant|row');
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Buffer.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      assert.throws(() => decryptBytes(key, changed, 'tenant|row'), `byte ${index}`);
    }
    assert.throws(() => decryptBytes(key, sealed, 'tenant|other'), /seal is broken/);
    assert.throws(
      () => decryptBytes(deriveKey(master, 'x'), sealed, 'tenant|row'),
      /no key at hand/,
    );
    assert.throws(() => decryptBytes(key, sealed.subarray(0, 20), 'tenant|row'), /no sealed bytes/);
  });

  test('while keys change, the one that sealed is found', () => {
    const old = deriveKey(master, 'old');
    assert.equal(
      decryptBytes([key, old], encryptBytes(old, Buffer.from('x'), 'a'), 'a').toString(),
      'x',
    );
  });

  test('the same text never looks the same twice', () => {
    assert.notDeepEqual(
      encryptBytes(key, Buffer.from('x'), 'a'),
      encryptBytes(key, Buffer.from('x'), 'a'),
    );
  });
});

describe('derived keys', () => {
  test('they differ by purpose and stay the same for ever', () => {
    assert.notDeepEqual(deriveKey(master, 'a'), deriveKey(master, 'b'));
    // A known answer: a change here would lock every stored card.
    assert.equal(
      deriveKey(Buffer.alloc(32, 1), 'vault-data').toString('hex'),
      '2662f3ec85ce23092e55acccb03aa40279a999f3c1aa73c2aac7c52dd7f95f98',
    );
    assert.throws(() => deriveKey(Buffer.alloc(16), 'a'), RangeError);
    assert.throws(() => deriveKey(master, ''), RangeError);
  });
});
