/** The keys of a conformance run: the platform's stand-in, and the acquirer's. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fail, reasonOf } from '../../runtime/command-error.ts';

const ownerOnly = 0o600;
const keyPattern = /^[A-Za-z0-9_-]{43}$/;

/** The name of a key: the thumbprint of RFC 7638. */
export function keyIdOf(x: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
}

export type OwnKey = {
  readonly x: string;
  readonly keyId: string;
  readonly privateKey: KeyObject;
};

function ownKeyOf(privateKey: KeyObject): OwnKey {
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { x, keyId: keyIdOf(x), privateKey };
}

/** A key of nobody. */
export function strangeKey(): OwnKey {
  return ownKeyOf(generateKeyPairSync('ed25519').privateKey);
}

/** Makes a key, in a file that is not there yet. */
export function makeKey(file: string): OwnKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  try {
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(file, pem, { mode: ownerOnly, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    fail(
      'usage',
      code === 'EEXIST' ? `${file} is there already.` : `${file} cannot be written: ${code}.`,
    );
  }
  return ownKeyOf(privateKey);
}

export function readKey(file: string): OwnKey {
  let pem: string;
  try {
    pem = readFileSync(file, 'utf8');
  } catch (error) {
    return fail('usage', `${file} cannot be read: ${reasonOf(error)}.`);
  }
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType === 'ed25519') return ownKeyOf(privateKey);
  } catch {
    // Said below, whatever it was.
  }
  return fail('usage', `${file} holds no private Ed25519 key.`);
}

/** The acquirer's key by its `x`. */
export function publicKeyOf(x: string): KeyObject {
  if (!keyPattern.test(x)) {
    fail('usage', 'The key of the acquirer is the x of an Ed25519 key: 43 characters.');
  }
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}
