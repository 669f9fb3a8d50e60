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
import { type SpiSignatureFault, signSpiMessage, verifySpiMessage } from '@switchyard/contract';

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

/** Nonces of requests, kept as long as their signatures are fresh. */
const noncesMax = 200_000;
const nonceMs = 600_000;

export type SignedRequest = { method: string; path: string; headers: Headers; body: Buffer };

export type SignatureCheck =
  | { isGenuine: true; signature: string }
  | { isGenuine: false; detail: string };

const faultTexts: Readonly<Record<SpiSignatureFault, string>> = {
  missing: 'the request has no signature of the SPI',
  digest_wrong: 'the content digest does not match the body',
  components_missing: 'the signature does not cover method, path and body',
  key_unknown: 'the key identifier is unknown',
  stale: 'the signature is too old or too new',
  wrong: 'the signature is not valid',
};

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
    const parts = { method, path, sha256: hash('sha256', body, 'base64') };
    const verification = verifySpiMessage(parts, headers, {
      now,
      verify(keyId, text, signature) {
        const key = keys.get(keyId);
        return key && verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64'));
      },
    });
    if (verification.fault !== undefined) return rejected(faultTexts[verification.fault]);
    const { nonce, signature } = verification;
    if (nonce === undefined) return rejected('the signature has no nonce');
    if (isReplayed(nonce, now)) return rejected('the nonce was used before');
    return { isGenuine: true, signature };
  };
}

/** The headers that sign an answer to a request. */
export function signAnswer(
  signingKey: SigningKey,
  answer: { status: number; body: string; requestSignature: string; now: number },
): Record<string, string> {
  const { status, requestSignature } = answer;
  const { headers } = signSpiMessage(
    { status, requestSignature, sha256: hash('sha256', answer.body, 'base64') },
    { created: Math.floor(answer.now / 1000), keyId: signingKey.keyId },
    (text) => sign(null, Buffer.from(text), signingKey.privateKey).toString('base64'),
  );
  return headers;
}
