// Signs and checks the JWTs that the platform makes itself, with the keys of a realm.
import { createPrivateKey, type KeyObject, sign, verify } from 'node:crypto';
import { promisify } from 'node:util';
import type { AccessTokenType, Application } from '../clients/application.ts';
import type { Realm, RealmKey, SigningAlgorithm } from '../realms-and-keys/realm.ts';
import { fromAsn1, toAsn1 } from './ecdsa-signature-encoding.ts';

type Signer = {
  readonly key: KeyObject;
  /** The encoded header, by its `typ`. */
  readonly heads: Readonly<Record<AccessTokenType, string>>;
};
type Claims = Readonly<Record<string, unknown>>;

const tokenLengthMax = 8192;
const signers = new WeakMap<RealmKey, Signer>();
const signAside = promisify(sign);

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function signerOf(key: RealmKey) {
  const known = signers.get(key);
  if (known !== undefined) return known;
  const head = (typ: AccessTokenType) => encoded({ typ, alg: key.algorithm, kid: key.keyId });
  const made = {
    key: createPrivateKey({ key: key.privateJwk, format: 'jwk' }),
    heads: { JWT: head('JWT'), 'at+jwt': head('at+jwt') },
  };
  signers.set(key, made);
  return made;
}

/**
 * RSA signs beside the event loop, where it would hold up everybody else. Keys are handed over as
 * they are: with options around them each signature costs twice as much.
 */
export async function signJwt(
  realmKey: RealmKey,
  claims: Claims,
  type: AccessTokenType = 'JWT',
): Promise<string> {
  const { key, heads } = signerOf(realmKey);
  const signed = `${heads[type]}.${encoded(claims)}`;
  const signature =
    realmKey.algorithm === 'ES256'
      ? fromAsn1(sign('sha256', Buffer.from(signed), key))
      : await signAside('sha256', Buffer.from(signed), key);
  return `${signed}.${signature.toString('base64url')}`;
}

/** An access token in the form that its application is set to. */
export const signAccessToken = (
  realm: Realm,
  { accessTokenAlgorithm, accessTokenType }: Application,
  usual: SigningAlgorithm,
  claims: Claims,
): Promise<string> =>
  signJwt(realm.signing[accessTokenAlgorithm ?? usual], claims, accessTokenType);

function isSignedBy({ algorithm, publicKey }: RealmKey, signed: string, text: string): boolean {
  const given = Buffer.from(text, 'base64url');
  const signature = algorithm === 'ES256' ? toAsn1(given) : given;
  return signature !== undefined && verify('sha256', Buffer.from(signed), publicKey, signature);
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
  if (!isSignedBy(key, `${header}.${payload}`, signature)) return undefined;
  const claims = parsed(payload);
  return claims?.['iss'] === realm.issuer ? claims : undefined;
}
