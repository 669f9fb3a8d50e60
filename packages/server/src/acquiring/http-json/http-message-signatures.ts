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
export type RequestSigner = { keyId: string /** Base64. */; sign(text: string): string };

export type SignedRequest = {
  headers: Record<string, string>;
  /** The response signature must cover this request signature. */
  signature: string;
};

const contentDigest = (body: string | Buffer) => spiContentDigest(hash('sha256', body, 'base64'));

/** @example const { headers } = signRequest(signer, { path, body, now, nonce }); */
export function signRequest(
  signer: RequestSigner,
  request: { path: string; body: string; now: number; nonce: string },
): SignedRequest {
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

const getHeader = (answer: ReceivedResponse, name: string): string | undefined => {
  const value = answer.headers[name];
  return typeof value === 'string' ? value : undefined;
};

export type ResponseVerifier = {
  /** True if the acquirer signed this response to this request. */
  isValidSignature(answer: ReceivedResponse, requestSignature: string, now: number): boolean;
};

/**
 * @param keys public keys of the acquirer (JWK `x`); two during key rotation
 * @throws Error if a key is invalid
 */
export function createResponseVerifier(keys: readonly string[]): ResponseVerifier {
  const keysById = new Map<string, KeyObject>();
  for (const x of keys) {
    const { kty, crv, kid } = publicSigningKey(x);
    keysById.set(kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' }));
  }
  return {
    isValidSignature(answer, requestSignature, now) {
      const signature = readSpiSignature({
        signatureInput: getHeader(answer, 'signature-input'),
        signature: getHeader(answer, 'signature'),
      });
      const bodyDigest = contentDigest(answer.body);
      if (signature === undefined || getHeader(answer, 'content-digest') !== bodyDigest)
        return false;
      if (!coversSpiComponents(signature, spiAnswerComponents)) return false;
      const key = keysById.get(signature.keyId);
      if (key === undefined || !isFreshSpiSignature(signature, now)) return false;
      const signatureBase = spiSignatureBase(signature.input, {
        '"@status"': String(answer.status),
        '"content-digest"': bodyDigest,
        [spiAnswerComponents[2]]: requestSignature,
      });
      if (signatureBase === undefined) return false;
      return verify(
        null,
        Buffer.from(signatureBase),
        key,
        Buffer.from(signature.signature, 'base64'),
      );
    },
  };
}
