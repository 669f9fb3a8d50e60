// The key that signs checkpoints: derived from the master key, so that every process has the same.
import { createPrivateKey, createPublicKey, hash, sign } from 'node:crypto';
import { type AuditCheckpoint, type AuditKey, auditCheckpointText } from '@switchyard/contract';
import { deriveKey } from '../platform/index.ts';

/** What stands before the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410). */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

export type Signer = {
  readonly key: AuditKey;
  sign(content: Omit<AuditCheckpoint, 'keyId' | 'signature'>): AuditCheckpoint;
};

/** The public key as it is published; its name is the thumbprint of RFC 7638. */
export function publicKeyOf(x: string): AuditKey {
  const kid = hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' };
}

export function createSigner(masterKey: Buffer): Signer {
  const seed = deriveKey(masterKey, 'audit checkpoints');
  const der = Buffer.concat([pkcs8Head, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  const key = publicKeyOf(String(x));
  return {
    key,
    sign(content) {
      const unsigned = { ...content, keyId: key.kid };
      const text = Buffer.from(auditCheckpointText(unsigned));
      return { ...unsigned, signature: sign(null, text, privateKey).toString('base64url') };
    },
  };
}
