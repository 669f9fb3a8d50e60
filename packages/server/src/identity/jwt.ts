// Signs and checks the JWTs that the platform makes itself, with the keys of a realm.
import { createPrivateKey, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { Realm, RealmKey } from './types.ts';

type Claims = Readonly<Record<string, unknown>>;

const tokenLengthMax = 8192;
const privateKeys = new WeakMap<RealmKey, KeyObject>();
const signAside = promisify(sign);

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function privateKeyOf(key: RealmKey): KeyObject {
  const known = privateKeys.get(key);
  if (known !== undefined) return known;
  const made = createPrivateKey({ key: key.privateJwk, format: 'jwk' });
  privateKeys.set(key, made);
  return made;
}

/** The signature is made beside the event loop, where RSA would hold up everybody else. */
export async function signJwt(key: RealmKey, claims: Claims): Promise<string> {
  const header = { typ: 'JWT', alg: key.algorithm, kid: key.keyId };
  const signed = `${encoded(header)}.${encoded(claims)}`;
  const how = { key: privateKeyOf(key), dsaEncoding: 'ieee-p1363' } as const;
  const signature =
    key.algorithm === 'ES256'
      ? sign('sha256', Buffer.from(signed), how)
      : await signAside('sha256', Buffer.from(signed), how);
  return `${signed}.${signature.toString('base64url')}`;
}

function parsed(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The claims of a token that this realm signed, whatever its age and kind; undefined for any other.
 * The key decides the algorithm, never the token.
 */
export function readJwt(realm: Realm, token: string): Record<string, unknown> | undefined {
  if (token.length > tokenLengthMax) return undefined;
  const [header = '', payload = '', signature = '', ...more] = token.split('.');
  const facts = parsed(header);
  const key = realm.keys.get(String(facts?.['kid']));
  if (key === undefined || facts?.['alg'] !== key.algorithm || more.length > 0) return undefined;
  const how = { key: key.publicKey, dsaEncoding: 'ieee-p1363' } as const;
  const signed = Buffer.from(`${header}.${payload}`);
  if (!verify('sha256', signed, how, Buffer.from(signature, 'base64url'))) return undefined;
  const claims = parsed(payload);
  return claims?.['iss'] === realm.issuer ? claims : undefined;
}
