/** The keys of an acquirer conformance check: the test key of the platform, and the acquirer's key. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { fail } from '../../runtime/command-error.ts';
import { createNewFile, readInputFile } from '../../session/private-files.ts';

const keyPattern = /^[A-Za-z0-9_-]{43}$/;

/** The key id: the thumbprint of the key (RFC 7638). */
export function keyIdOf(x: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
}

export type SigningKey = {
  readonly x: string;
  readonly keyId: string;
  readonly privateKey: KeyObject;
};

function toSigningKey(privateKey: KeyObject): SigningKey {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { x, keyId: keyIdOf(x), privateKey };
}

/** A key that the acquirer does not know. */
export function createUnknownKey(): SigningKey {
  return toSigningKey(generateKeyPairSync('ed25519').privateKey);
}

/** Creates a private key in a new file. */
export function createSigningKey(file: string): SigningKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  createNewFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return toSigningKey(privateKey);
}

export function readSigningKey(file: string): SigningKey {
  const pem = readInputFile(file);
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType === 'ed25519') return toSigningKey(privateKey);
  } catch {
    // The error below covers this and other key types.
  }
  return fail(
    'usage',
    `${file} does not contain an Ed25519 private key. Create one: switchyard acquirer key <file>`,
  );
}

/** The public key of the acquirer from the `x` of its JWK. */
export function parsePublicKey(x: string): KeyObject {
  if (!keyPattern.test(x)) {
    fail(
      'usage',
      '--acquirer-key must be the x of an Ed25519 public key: 43 characters of base64url.',
    );
  }
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}
