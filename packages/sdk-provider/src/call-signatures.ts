/** Signatures of the platform's calls (Standard Webhooks 1.0, `v1` and `v1a`). */
import { createHmac, createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto';
import { providerCallHeaders, providerClockToleranceSeconds } from '@switchyard/contract';
import { systemClock } from '@switchyard/sdk-core';

const secretPrefix = 'whsec_';
const publicKeyPrefix = 'whpk_';
const keyBytesMin = 24;
const keyBytesMax = 64;
const ed25519Bytes = 32;
const idMaxChars = 256;
const signatureHeaderMaxChars = 4096;
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * The headers of a request, in the form of Node's `request.headers`.
 *
 * @example
 * const headers: CallHeaders = request.headers;
 */
export type CallHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * A call to verify. `text` is the signed text: the exact bytes of the body, or for a GET the result
 * of `providerCallText`.
 *
 * @example
 * const call: CallToVerify = { headers: request.headers, text: body, secrets: ['whsec_…'] };
 */
export type CallToVerify = {
  readonly headers: CallHeaders;
  readonly text: string | Uint8Array;
  /** `whsec_…` secrets of the service or `whpk_…` public keys; one of them must match. */
  readonly secrets: readonly string[];
  /** Milliseconds since 1970; default: the system clock. */
  readonly now?: number;
  /** How far the call's timestamp may differ from the clock, in seconds; default 300. */
  readonly toleranceSeconds?: number;
};

/**
 * What is wrong with the signature of a call.
 *
 * @example
 * const fault: CallSignatureFault = 'signature_wrong';
 */
export type CallSignatureFault =
  | 'headers_missing'
  | 'timestamp_invalid'
  | 'timestamp_stale'
  | 'signature_wrong';

/**
 * Whether the platform signed a call.
 *
 * @example
 * const verdict: CallVerification = { isGenuine: false, fault: 'timestamp_stale' };
 */
export type CallVerification =
  | { readonly isGenuine: true; readonly id: string }
  | { readonly isGenuine: false; readonly fault: CallSignatureFault };

/**
 * A secret without a valid `whsec_` or `whpk_` key in base64. The error never contains its value.
 *
 * @example
 * try { signCall(call); } catch (error) { if (error instanceof SecretError) ask(); }
 */
export class SecretError extends Error {
  override name = 'SecretError';
}

/** @throws SecretError */
function parseHmacKey(secret: string): Buffer {
  const text = secret.slice(secretPrefix.length);
  const key = Buffer.from(text, 'base64');
  if (!base64.test(text) || key.length < keyBytesMin || key.length > keyBytesMax) {
    throw new SecretError('a secret is whsec_ with 24 to 64 bytes in base64');
  }
  return key;
}

/** @throws SecretError */
function parsePublicKey(secret: string): KeyObject {
  const bytes = Buffer.from(secret.slice(publicKeyPrefix.length), 'base64');
  if (bytes.length !== ed25519Bytes) {
    throw new SecretError('a public key is whpk_ with 32 bytes in base64');
  }
  const x = bytes.toString('base64url');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

type SignatureCheck = {
  readonly version: 'v1' | 'v1a';
  matches(signed: Buffer, signature: Buffer): boolean;
};

/** @throws SecretError */
function createSignatureCheck(secret: string): SignatureCheck {
  if (secret.startsWith(secretPrefix)) {
    const key = parseHmacKey(secret);
    const matches: SignatureCheck['matches'] = (signed, signature) => {
      const expected = createHmac('sha256', key).update(signed).digest();
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    };
    return { version: 'v1', matches };
  }
  if (secret.startsWith(publicKeyPrefix)) {
    const key = parsePublicKey(secret);
    return { version: 'v1a', matches: (signed, signature) => verify(null, signed, key, signature) };
  }
  throw new SecretError('a secret begins with whsec_ or whpk_');
}

const checks = new Map<string, SignatureCheck>();
const checksMax = 64;

/** Caches the parsed keys, because every call uses the same secrets. */
function cachedSignatureCheck(secret: string): SignatureCheck {
  const cached = checks.get(secret);
  if (cached !== undefined) return cached;
  const check = createSignatureCheck(secret);
  if (checks.size >= checksMax) checks.clear();
  checks.set(secret, check);
  return check;
}

function readHeader(headers: CallHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const signedText = (id: string, timestamp: string, text: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(text as Uint8Array)]);

/**
 * Verifies that the platform signed a call recently.
 *
 * It accepts repeated calls: the platform repeats a call with the same id if no answer arrived, and
 * every call of the provider SPI may arrive twice.
 *
 * @param call - the headers, the signed text and the possible secrets
 * @returns whether the call is genuine, or the fault
 * @throws SecretError if one of `secrets` is invalid
 * @example
 * const verdict = verifyCall({ headers: request.headers, text: body, secrets: ['whsec_MfKQ…'] });
 * if (!verdict.isGenuine) response.writeHead(401).end();
 */
export function verifyCall(call: CallToVerify): CallVerification {
  const { headers, text, secrets, now = systemClock.now() } = call;
  const { toleranceSeconds = providerClockToleranceSeconds } = call;
  const secretChecks = secrets.map(cachedSignatureCheck);
  const invalidCall = (fault: CallSignatureFault): CallVerification => ({
    isGenuine: false,
    fault,
  });
  const id = readHeader(headers, providerCallHeaders.id);
  const timestamp = readHeader(headers, providerCallHeaders.timestamp);
  const signatures = readHeader(headers, providerCallHeaders.signature);
  if (id === undefined || timestamp === undefined || signatures === undefined) {
    return invalidCall('headers_missing');
  }
  if (id.length > idMaxChars || signatures.length > signatureHeaderMaxChars) {
    return invalidCall('headers_missing');
  }
  if (!/^\d{1,12}$/.test(timestamp)) return invalidCall('timestamp_invalid');
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds)
    return invalidCall('timestamp_stale');
  const signed = signedText(id, timestamp, text);
  const matches = signatures.split(' ').some((each) => {
    const [version, signature = ''] = each.split(',', 2);
    const bytes = Buffer.from(signature, 'base64');
    return secretChecks.some((check) => check.version === version && check.matches(signed, bytes));
  });
  return matches ? { isGenuine: true, id } : invalidCall('signature_wrong');
}

/**
 * A call to sign as the platform does, for tests of a provider's own server.
 *
 * @example
 * const call: CallToSign = { id: 'msg-1', at: Date.now(), text: body, secrets: ['whsec_…'] };
 */
export type TestCallToSign = {
  /** The same for all attempts. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly text: string | Uint8Array;
  /** `whsec_…` secrets; each of them adds a signature. */
  readonly secrets: readonly string[];
};

/**
 * Signs a call as the platform does.
 *
 * @param call - its id, its time, the text to sign and the secrets
 * @returns the three headers
 * @throws SecretError if one of `secrets` is not a `whsec_…` secret
 * @example
 * const headers = signCall({ id: 'msg-1', at: Date.now(), text: body, secrets: [secret] });
 * await fetch(`${url}/qr-payments`, { method: 'POST', headers, body });
 */
export function signCall({ id, at, text, secrets }: TestCallToSign): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const signed = signedText(id, timestamp, text);
  const signatures = secrets.map((secret) => {
    if (!secret.startsWith(secretPrefix)) throw new SecretError('calls are signed with whsec_…');
    return `v1,${createHmac('sha256', parseHmacKey(secret)).update(signed).digest('base64')}`;
  });
  return {
    [providerCallHeaders.id]: id,
    [providerCallHeaders.timestamp]: timestamp,
    [providerCallHeaders.signature]: signatures.join(' '),
  };
}
