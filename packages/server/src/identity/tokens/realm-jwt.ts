// Signs and verifies JWTs with the keys of a realm.
import { createPrivateKey, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import { parseJsonObject } from '@switchyard/contract';
import type { AccessTokenType, Application } from '../clients/application-record.ts';
import type { Realm, RealmKey, SigningAlgorithm } from '../realms-and-keys/realm-types.ts';
import { asn1ToRaw, rawToAsn1 } from './ecdsa-signature-encoding.ts';

type Signer = {
  readonly key: KeyObject;
  /** The encoded headers by `typ`. */
  readonly encodedHeaders: Readonly<Record<AccessTokenType, string>>;
};
type Claims = Readonly<Record<string, unknown>>;

const maxTokenLength = 8192;
const signers = new WeakMap<RealmKey, Signer>();
const signInThreadPool = promisify(sign);

const encodeJson = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function findSigner(key: RealmKey) {
  const cached = signers.get(key);
  if (cached !== undefined) return cached;
  const encodedHeader = (typ: AccessTokenType) =>
    encodeJson({ typ, alg: key.algorithm, kid: key.keyId });
  const signer = {
    key: createPrivateKey({ key: key.privateJwk, format: 'jwk' }),
    encodedHeaders: { JWT: encodedHeader('JWT'), 'at+jwt': encodedHeader('at+jwt') },
  };
  signers.set(key, signer);
  return signer;
}

/**
 * RSA signs in the thread pool, because it would block the event loop. Passing the KeyObject
 * directly halves the cost of a signature.
 */
export async function signJwt(
  realmKey: RealmKey,
  claims: Claims,
  type: AccessTokenType = 'JWT',
): Promise<string> {
  const { key, encodedHeaders } = findSigner(realmKey);
  const signed = `${encodedHeaders[type]}.${encodeJson(claims)}`;
  const signature =
    realmKey.algorithm === 'ES256'
      ? asn1ToRaw(sign('sha256', Buffer.from(signed), key))
      : await signInThreadPool('sha256', Buffer.from(signed), key);
  return `${signed}.${signature.toString('base64url')}`;
}

/** Signs an access token with the algorithm and `typ` of its application. */
export const signAccessToken = (
  realm: Realm,
  { accessTokenAlgorithm, accessTokenType }: Application,
  defaultAlgorithm: SigningAlgorithm,
  claims: Claims,
): Promise<string> =>
  signJwt(realm.signing[accessTokenAlgorithm ?? defaultAlgorithm], claims, accessTokenType);

function isSignedBy({ algorithm, publicKey }: RealmKey, signed: string, text: string): boolean {
  const givenSignature = Buffer.from(text, 'base64url');
  const signature = algorithm === 'ES256' ? rawToAsn1(givenSignature) : givenSignature;
  return signature !== undefined && verify('sha256', Buffer.from(signed), publicKey, signature);
}

const decodeJson = (part: string): Record<string, unknown> | undefined =>
  parseJsonObject(Buffer.from(part, 'base64url').toString());

/**
 * The claims of a JWT that this realm signed, even if expired; undefined for any other. The key
 * determines the algorithm, never the token.
 */
export function verifyJwt(realm: Realm, token: string): Record<string, unknown> | undefined {
  if (token.length > maxTokenLength) return undefined;
  const [header = '', payload = '', signature = '', ...more] = token.split('.');
  const headerFields = decodeJson(header);
  const key = realm.keys.get(String(headerFields?.['kid']));
  if (key === undefined || headerFields?.['alg'] !== key.algorithm || more.length > 0)
    return undefined;
  if (!isSignedBy(key, `${header}.${payload}`, signature)) return undefined;
  const claims = decodeJson(payload);
  return claims?.['iss'] === realm.issuer ? claims : undefined;
}
