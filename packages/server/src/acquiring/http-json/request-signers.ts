// Derives the request signing keys of HTTP acquirer links from the master key; no key is stored.
import { createSigningKey, type PublicSigningKey } from '../../platform/index.ts';
import type { LinkSigner } from './http-message-signatures.ts';

type Link = { organizationId: string; linkId: string; keyVersion: number };

export type LinkSigners = {
  signer(link: Link): LinkSigner;
  /** Public keys for the acquirer: the current key and the next key for rotation. */
  published(link: Link): { current: PublicSigningKey; next: PublicSigningKey };
};

/** @example const signers = createLinkSigners(masterKey); signers.published({ organizationId, linkId, keyVersion: 1 }); */
export function createLinkSigners(masterKey: Buffer): LinkSigners {
  const keyOf = ({ organizationId, linkId, keyVersion }: Link) =>
    createSigningKey(masterKey, `acquirer link|${organizationId}|${linkId}|${keyVersion}`);
  return {
    signer(link) {
      const { key, sign } = keyOf(link);
      return {
        keyId: key.kid,
        sign: (text) => Buffer.from(sign(text), 'base64url').toString('base64'),
      };
    },
    published: (link) => ({
      current: keyOf(link).key,
      next: keyOf({ ...link, keyVersion: link.keyVersion + 1 }).key,
    }),
  };
}
