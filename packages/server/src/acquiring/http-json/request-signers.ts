// Derives the request signing keys of HTTP acquirer links from the master key; no key is stored.
import { createSigningKey, type PublicSigningKey } from '../../platform/index.ts';
import type { RequestSigner } from './http-message-signatures.ts';

type LinkKeyId = { organizationId: string; linkId: string; keyVersion: number };

export type RequestSigners = {
  signerFor(link: LinkKeyId): RequestSigner;
  /** Public keys for the acquirer: the current key and the next key for rotation. */
  publicKeysFor(link: LinkKeyId): { current: PublicSigningKey; next: PublicSigningKey };
};

/** @example const signers = createLinkSigners(masterKey); signers.published({ organizationId, linkId, keyVersion: 1 }); */
export function createRequestSigners(masterKey: Buffer): RequestSigners {
  const deriveKey = ({ organizationId, linkId, keyVersion }: LinkKeyId) =>
    createSigningKey(masterKey, `acquirer link|${organizationId}|${linkId}|${keyVersion}`);
  return {
    signerFor(link) {
      const { key, sign } = deriveKey(link);
      return {
        keyId: key.kid,
        sign: (text) => Buffer.from(sign(text), 'base64url').toString('base64'),
      };
    },
    publicKeysFor: (link) => ({
      current: deriveKey(link).key,
      next: deriveKey({ ...link, keyVersion: link.keyVersion + 1 }).key,
    }),
  };
}
