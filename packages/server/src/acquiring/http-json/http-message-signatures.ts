// Signs requests to HTTP acquirers and verifies responses (RFC 9421, Ed25519, ADR 0033).
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
import { publicSigningKey } from '../../platform/index.ts';

/** Signs with the platform's key of one link. */
export type LinkSigner = { keyId: string /** Base64. */; sign(text: string): string };

export type SignedRequest = {
  headers: Record<string, string>;
  /** The response signature must cover this request signature. */
  signature: string;
};

const digestOf = (body: string | Buffer) => spiContentDigest(hash('sha256', body, 'base64'));

/** @example const { headers } = signRequest(signer, { path, body, now, nonce }); */
export function signRequest(
  signer: LinkSigner,
  request: { path: string; body: string; now: number; nonce: string },
): SignedRequest {
  const digest = digestOf(request.body);
  const created = Math.floor(request.now / 1000);
  const parameters = { created, keyId: signer.keyId, nonce: request.nonce };
  const input = spiSignatureInput(spiRequestComponents, parameters);
  const base = spiSignatureBase(input, {
    '"@method"': 'POST',
    '"@path"': request.path,
    '"content-digest"': digest,
  });
  if (base === undefined) throw new Error('a request names a component without a value');
  const signature = `:${signer.sign(base)}:`;
  return {
    signature,
    headers: {
      'content-digest': digest,
      'signature-input': `${spiSignatureLabel}=${input}`,
      signature: `${spiSignatureLabel}=${signature}`,
    },
  };
}

export type ReceivedAnswer = {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
};

const headerOf = (answer: ReceivedAnswer, name: string): string | undefined => {
  const value = answer.headers[name];
  return typeof value === 'string' ? value : undefined;
};

export type AnswerVerifier = {
  /** True if the acquirer signed this response to this request. */
  isGenuine(answer: ReceivedAnswer, requestSignature: string, now: number): boolean;
};

/**
 * @param keys public keys of the acquirer (JWK `x`); two during key rotation
 * @throws Error if a key is invalid
 */
export function createAnswerVerifier(keys: readonly string[]): AnswerVerifier {
  const byId = new Map<string, KeyObject>();
  for (const x of keys) {
    const { kty, crv, kid } = publicSigningKey(x);
    byId.set(kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' }));
  }
  return {
    isGenuine(answer, requestSignature, now) {
      const signature = readSpiSignature({
        signatureInput: headerOf(answer, 'signature-input'),
        signature: headerOf(answer, 'signature'),
      });
      const digest = digestOf(answer.body);
      if (signature === undefined || headerOf(answer, 'content-digest') !== digest) return false;
      if (!coversSpiComponents(signature, spiAnswerComponents)) return false;
      const key = byId.get(signature.keyId);
      if (key === undefined || !isFreshSpiSignature(signature, now)) return false;
      const base = spiSignatureBase(signature.input, {
        '"@status"': String(answer.status),
        '"content-digest"': digest,
        [spiAnswerComponents[2]]: requestSignature,
      });
      if (base === undefined) return false;
      return verify(null, Buffer.from(base), key, Buffer.from(signature.signature, 'base64'));
    },
  };
}
