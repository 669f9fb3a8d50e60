/** Verifies detached JSON Web Signatures of documents, such as the report of a certification run. */
import type { AuditKey } from './schemas/platform/audit.ts';

/**
 * The result of {@link verifyDetachedJws}.
 *
 * - `Valid`: one of the keys signed exactly these bytes.
 * - `Invalid`: the signature is malformed, or belongs to other bytes.
 * - `KeyUnknown`: the signature names a key that is not in the list.
 *
 * @example
 * const result: SignatureResult = 'Valid';
 */
export type SignatureResult = 'Valid' | 'Invalid' | 'KeyUnknown';

const encoder = new TextEncoder();
const partsPattern = /^([\w-]+)\.\.([\w-]+)\s*$/;

function base64urlOf(bytes: Uint8Array): string {
  const chunkBytes = 0x8000;
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkBytes)
    text += String.fromCharCode(...bytes.subarray(at, at + chunkBytes));
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** The key of the header, if its algorithm is EdDSA; undefined for a malformed header. */
function readKeyId(header: string): string | undefined {
  try {
    const { alg, kid } = JSON.parse(new TextDecoder().decode(bytesOf(header)));
    return alg === 'EdDSA' && typeof kid === 'string' ? kid : undefined;
  } catch {
    // The header is part of an untrusted file.
    return undefined;
  }
}

/**
 * The text that a detached JWS signs (RFC 7515, section 5.1).
 *
 * @param header - the protected header, as JSON
 * @param document - the bytes of the document
 * @example
 * const signature = sign(null, Buffer.from(jwsSigningInput('{"alg":"EdDSA"}', document)), privateKey);
 */
export const jwsSigningInput = (header: string, document: Uint8Array): string =>
  `${base64urlOf(encoder.encode(header))}.${base64urlOf(document)}`;

/**
 * Verifies a detached JWS in compact form with EdDSA (RFC 7515, appendix F; RFC 8037). It needs no platform and no
 * network.
 *
 * @param document - the bytes of the signed document
 * @param jws - the header and the signature, such as `eyJhbGciOiJFZERTQSJ9..c2lnbmF0dXJl`
 * @param keys - the public keys of the platform, from `GET /audit/v1/keys`
 * @returns the result; it never throws because of a malformed signature
 * @example
 * await verifyDetachedJws(await readFile('report.json'), await readFile('report.json.jws', 'utf8'), keys); // 'Valid'
 */
export async function verifyDetachedJws(
  document: Uint8Array,
  jws: string,
  keys: readonly AuditKey[],
): Promise<SignatureResult> {
  const [, header = '', signature = ''] = partsPattern.exec(jws) ?? [];
  const keyId = readKeyId(header);
  if (keyId === undefined) return 'Invalid';
  const publicKey = keys.find(({ kid }) => kid === keyId);
  if (publicKey === undefined) return 'KeyUnknown';
  const { kty, crv, x } = publicKey;
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify']);
  const text = encoder.encode(`${header}.${base64urlOf(document)}`);
  const isValid = await crypto.subtle.verify('Ed25519', key, bytesOf(signature), text);
  return isValid ? 'Valid' : 'Invalid';
}
