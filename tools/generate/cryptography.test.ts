// The inventory of cryptography sees what a source uses, and what it is for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cryptographyDocument, findCryptographyUses } from './cryptography.ts';

const sealing = `// Seals what is stored. More of it.
import { createCipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { hash } from '@node-rs/argon2';
const algorithm = 'aes-256-gcm';
`;

test('each use of cryptography is listed with algorithms and purpose', () => {
  const [use, ...more] = findCryptographyUses([
    { path: 'a.ts', text: sealing },
    {
      path: 'b.ts',
      text: "// Nothing of it.\nimport { join } from 'node:path';\nconst a = 'sha256';",
    },
    { path: 'c.ts', text: "// Types alone.\nimport { type KeyObject } from 'node:crypto';" },
  ]);
  assert.deepEqual(more, []);
  assert.deepEqual(use, {
    path: 'a.ts',
    names: ['createCipheriv', 'hash', 'randomBytes'],
    algorithms: ['aes-256-gcm', 'argon2id'],
    purpose: 'Seals what is stored.',
  });
});

test('the inventory contains the encryption of cards, passwords and tokens', () => {
  const text = cryptographyDocument();
  for (const file of [
    'crypto/authenticated-encryption.ts',
    'accounts/passwords/password-hashing.ts',
    'pin/src/block-ciphers.ts',
  ]) {
    assert.ok(text.includes(file), file);
  }
  assert.doesNotMatch(text, /\.test\.ts/);
});
