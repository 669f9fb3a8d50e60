// Ed25519 signing keys, derived from the master key so that every process has the same keys.
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign } from 'node:crypto';
import { deriveKey } from './derive-key.ts';

/** The bytes before the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A public key in its published form (RFC 8037). */
export type PublicSigningKey = {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly alg: 'EdDSA';
  readonly use: 'sig';
};

export type SigningKey = {
  readonly key: PublicSigningKey;
  /** The signature in base64url. */
  sign(text: string): string;
};

/** The public key for its coordinate. Its `kid` is the thumbprint of RFC 7638. */
export function publicSigningKey(x: string): PublicSigningKey {
  const kid = hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}

/** The key pair of a seed of 32 bytes; `x` is the public key in base64url. */
export function createEd25519KeyPair(seed: Buffer): { privateKey: KeyObject; x: string } {
  const der = Buffer.concat([pkcs8Prefix, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { privateKey, x };
}

/** @example const { key, sign } = createSigningKey(masterKey, 'audit checkpoints'); */
export function createSigningKey(masterKey: Buffer, purpose: string): SigningKey {
  const { privateKey, x } = createEd25519KeyPair(deriveKey(masterKey, purpose));
  return {
    key: publicSigningKey(x),
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('base64url'),
  };
}
