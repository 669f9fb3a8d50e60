// Refresh tokens: which family each carries on, for whom, and for how long.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { defined } from '@switchyard/contract';
import type { Realm } from '../realms-and-keys/realm.ts';
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
  /** Of the family. */
  readonly sid: string;
  readonly scope: string;
  readonly cnf?: { readonly 'x5t#S256': string };
};

const secondsOf = (ms: number) => Math.floor(ms / 1000);

/** Its scope is that of the family: an access token may have had less. */
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
 * Nobody but the platform reads refresh tokens, so they carry HS256 under a key that is in no JWKS:
 * a signature and its check cost a fortieth of those of ES256, at every refresh.
 */
export function signRefreshToken(realm: Realm, claims: RefreshTokenClaims): string {
  const signed = `${encodedHeader}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${macOf(realm, signed).toString('base64url')}`;
}

/** Undefined for whatever is no refresh token of this realm; of any age. */
export function readRefreshToken(realm: Realm, token: string): RefreshTokenClaims | undefined {
  if (token.length > maxTokenLength) return undefined;
  const [header, payload = '', signature = '', ...more] = token.split('.');
  if (header !== encodedHeader || more.length > 0) return undefined;
  const expected = macOf(realm, `${header}.${payload}`);
  const signatureBytes = Buffer.from(signature, 'base64url');
  if (signatureBytes.length !== expected.length || !timingSafeEqual(signatureBytes, expected))
    return undefined;
  // Under this key stand refresh tokens of this realm alone, so the claims are those above.
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as RefreshTokenClaims;
}
