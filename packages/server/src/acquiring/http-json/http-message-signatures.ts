// Signs requests to HTTP acquirers and verifies responses (RFC 9421, Ed25519, ADR 0033). Keys are derived, not stored.
import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import {
  coversSpiComponents,
  isFreshSpiSignature,
  readSpiSignature,
  spiAnswerComponents,
  spiContentDigest,
  spiRequestComponents,
  spiSignatureBase,
  spiSignatureInput,
  spiSignatureLabel,
} from '@switchyard/contract';
import { createSigningKey, type PublicSigningKey, publicSigningKey } from '../../platform/index.ts';

export type RequestSigner = { keyId: string /** Base64. */; sign(text: string): string };

type LinkKeyId = { organizationId: string; linkId: string; keyVersion: number };

export type RequestSigners = {
  signerFor(link: LinkKeyId): RequestSigner;
  /** Public keys for the acquirer: the current key and the next key for rotation. */
  publicKeysFor(link: LinkKeyId): { current: PublicSigningKey; next: PublicSigningKey };
};

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

const contentDigest = (body: string | Buffer) => spiContentDigest(hash('sha256', body, 'base64'));

export function signRequest(
  signer: RequestSigner,
  request: { path: string; body: string; now: number; nonce: string },
) {
  const bodyDigest = contentDigest(request.body);
  const created = Math.floor(request.now / 1000);
  const parameters = { created, keyId: signer.keyId, nonce: request.nonce };
  const signatureInput = spiSignatureInput(spiRequestComponents, parameters);
  const signatureBase = spiSignatureBase(signatureInput, {
    '"@method"': 'POST',
    '"@path"': request.path,
    '"content-digest"': bodyDigest,
  });
  if (signatureBase === undefined) throw new Error('a request names a component without a value');
  const signature = `:${signer.sign(signatureBase)}:`;
  return {
    /** The response signature must cover this request signature. */
    signature,
    headers: {
      'content-digest': bodyDigest,
      'signature-input': `${spiSignatureLabel}=${signatureInput}`,
      signature: `${spiSignatureLabel}=${signature}`,
    },
  };
}

export type ReceivedResponse = {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
};

export type ResponseVerifier = ReturnType<typeof createResponseVerifier>;

/**
 * @param keys public keys of the acquirer (JWK `x`); two during key rotation
 * @throws Error if a key is invalid
 */
export function createResponseVerifier(keys: readonly string[]) {
  const keysById = new Map<string, KeyObject>();
  for (const x of keys) {
    const { kty, crv, kid } = publicSigningKey(x);
    keysById.set(kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' }));
  }
  return {
    isValidSignature(
      { status, headers, body }: ReceivedResponse,
      requestSignature: string,
      now: number,
    ): boolean {
      const header = (name: string) =>
        typeof headers[name] === 'string' ? headers[name] : undefined;
      const signature = readSpiSignature({
        signatureInput: header('signature-input'),
        signature: header('signature'),
      });
      const bodyDigest = contentDigest(body);
      if (signature === undefined || header('content-digest') !== bodyDigest) return false;
      if (!coversSpiComponents(signature, spiAnswerComponents)) return false;
      const key = keysById.get(signature.keyId);
      if (key === undefined || !isFreshSpiSignature(signature, now)) return false;
      const signatureBase = spiSignatureBase(signature.input, {
        '"@status"': String(status),
        '"content-digest"': bodyDigest,
        [spiAnswerComponents[2]]: requestSignature,
      });
      if (signatureBase === undefined) return false;
      const bytes = Buffer.from(signature.signature, 'base64');
      return verify(null, Buffer.from(signatureBase), key, bytes);
    },
  };
}
