// Signs and reads refresh tokens.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { defined } from '@switchyard/contract';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { TokenFamily } from './refresh-token-family-sql.ts';

const refreshTokenType = 'Refresh';
const maxTokenLength = 8192;
const encodedHeader = Buffer.from(JSON.stringify({ typ: 'JWT', alg: 'HS256' })).toString(
  'base64url',
);

export type RefreshTokenClaims = {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  readonly azp: string;
  readonly exp: number;
  readonly nbf: number;
  readonly iat: number;
  readonly jti: string;
  readonly typ: string;
  /** The id of the family. */
  readonly sid: string;
  readonly scope: string;
  readonly cnf?: { readonly 'x5t#S256': string };
};

const secondsOf = (ms: number) => Math.floor(ms / 1000);

/** Has the scope of the family; an access token may have less. */
export function refreshTokenClaims({ issuer }: Realm, family: TokenFamily): RefreshTokenClaims {
  const { certificate, scope } = family.context;
  const issuedAt = secondsOf(family.refreshedAt);
  return {
    iss: issuer,
    sub: family.userId,
    aud: issuer,
    azp: family.clientId,
    exp: secondsOf(family.expiresAt),
    nbf: issuedAt,
    iat: issuedAt,
    jti: family.tokenId,
    typ: refreshTokenType,
    sid: family.familyId,
    scope,
    ...defined({ cnf: certificate === undefined ? undefined : { 'x5t#S256': certificate } }),
  };
}

const macOf = (realm: Realm, signed: string) =>
  createHmac('sha256', realm.refreshKey).update(signed).digest();

/**
 * Only the platform reads refresh tokens, so HS256 with a key that is in no JWKS suffices: a
 * fortieth of the cost of ES256.
 */
export function signRefreshToken(realm: Realm, claims: RefreshTokenClaims): string {
  const signed = `${encodedHeader}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${macOf(realm, signed).toString('base64url')}`;
}

/** Undefined if it is not a refresh token of this realm; expired ones are returned. */
export function readRefreshToken(realm: Realm, token: string): RefreshTokenClaims | undefined {
  if (token.length > maxTokenLength) return undefined;
  const [header, payload = '', signature = '', ...more] = token.split('.');
  if (header !== encodedHeader || more.length > 0) return undefined;
  const expected = macOf(realm, `${header}.${payload}`);
  const signatureBytes = Buffer.from(signature, 'base64url');
  if (signatureBytes.length !== expected.length || !timingSafeEqual(signatureBytes, expected))
    return undefined;
  // This key signs only refresh tokens of this realm, so the claims have this type.
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as RefreshTokenClaims;
}
