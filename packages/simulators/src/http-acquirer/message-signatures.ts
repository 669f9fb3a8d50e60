// Verifies the signatures of requests and signs answers.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  coversSpiComponents,
  isFreshSpiSignature,
  readSpiSignature,
  spiAnswerComponents,
  spiContentDigest,
  spiRequestComponents,
  spiSignatureBase,
  spiSignatureInputHeader,
  spiSignatureLabel,
} from '@switchyard/contract';

/** The identifier of a key: its thumbprint (RFC 7638). */
export function keyIdOf(x: string): string {
  return hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url');
}

export function publicKeyOf(x: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

const keyFile = 'signing-key.pem';
const OWNER_ONLY = 0o600;

export type SigningKey = { x: string; keyId: string; privateKey: KeyObject };

/** The signing key in a directory; created if it does not exist. */
export function loadSigningKey(directory: string): SigningKey {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, keyFile);
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    writeFileSync(path, pem, { mode: OWNER_ONLY, flag: 'wx' });
  }
  const privateKey = createPrivateKey(readFileSync(path));
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { x, keyId: keyIdOf(x), privateKey };
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const headerText = (headers: Headers, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

/** Nonces of requests, kept as long as their signatures are fresh. */
const noncesMax = 200_000;
const nonceMs = 600_000;

export type SignedRequest = { method: string; path: string; headers: Headers; body: Buffer };

export type SignatureCheck =
  | { isGenuine: true; signature: string }
  | { isGenuine: false; detail: string };

/** @example const check = createSignatureVerifier([platformKeyX]); */
export function createSignatureVerifier(platformKeys: readonly string[]) {
  const keys = new Map(platformKeys.map((x) => [keyIdOf(x), publicKeyOf(x)]));
  let young = new Set<string>();
  let elder = new Set<string>();
  let rotatedAt = 0;

  function isReplayed(nonce: string, now: number): boolean {
    if (now - rotatedAt > nonceMs || young.size >= noncesMax) {
      elder = young;
      young = new Set();
      rotatedAt = now;
    }
    if (young.has(nonce) || elder.has(nonce)) return true;
    young.add(nonce);
    return false;
  }

  return ({ method, path, headers, body }: SignedRequest, now: number): SignatureCheck => {
    const rejected = (detail: string): SignatureCheck => ({ isGenuine: false, detail });
    const signature = readSpiSignature({
      signatureInput: headerText(headers, 'signature-input'),
      signature: headerText(headers, 'signature'),
    });
    if (signature === undefined) return rejected('the request has no signature of the SPI');
    const digest = spiContentDigest(hash('sha256', body, 'base64'));
    if (headerText(headers, 'content-digest') !== digest)
      return rejected('the content digest does not match the body');
    const coversAll = coversSpiComponents(signature, spiRequestComponents);
    if (!coversAll) return rejected('the signature does not cover method, path and body');
    const key = keys.get(signature.keyId);
    if (key === undefined) return rejected('the key identifier is unknown');
    if (!isFreshSpiSignature(signature, now))
      return rejected('the signature is too old or too new');
    const base = spiSignatureBase(signature.input, {
      '"@method"': method,
      '"@path"': path,
      '"content-digest"': digest,
    });
    const bytes = Buffer.from(signature.signature, 'base64');
    if (base === undefined || !verify(null, Buffer.from(base), key, bytes)) {
      return rejected('the signature is not valid');
    }
    if (signature.nonce === undefined) return rejected('the signature has no nonce');
    if (isReplayed(signature.nonce, now)) return rejected('the nonce was used before');
    return { isGenuine: true, signature: `:${signature.signature}:` };
  };
}

/** The headers that sign an answer to a request. */
export function signAnswer(
  signingKey: SigningKey,
  answer: { status: number; body: string; requestSignature: string; now: number },
): Record<string, string> {
  const digest = spiContentDigest(hash('sha256', answer.body, 'base64'));
  const created = Math.floor(answer.now / 1000);
  const input = spiSignatureInputHeader(spiAnswerComponents, { created, keyId: signingKey.keyId });
  const base = spiSignatureBase(input, {
    '"@status"': String(answer.status),
    '"content-digest"': digest,
    [spiAnswerComponents[2]]: answer.requestSignature,
  });
  if (base === undefined) throw new Error('an answer names a component without a value');
  const signature = sign(null, Buffer.from(base), signingKey.privateKey).toString('base64');
  return {
    'content-digest': digest,
    'signature-input': `${spiSignatureLabel}=${input}`,
    signature: `${spiSignatureLabel}=:${signature}:`,
  };
}
