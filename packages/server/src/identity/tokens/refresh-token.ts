// Refresh tokens: which family each carries on, for whom, and for how long.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { defined } from '@switchyard/contract';
import type { Realm } from '../realms-and-keys/realm.ts';
import type { Family } from './refresh-token-family-sql.ts';

const refreshTokenType = 'Refresh';
const tokenLengthMax = 8192;
const head = Buffer.from(JSON.stringify({ typ: 'JWT', alg: 'HS256' })).toString('base64url');

export type RefreshClaims = {
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
export function refreshClaims({ issuer }: Realm, family: Family): RefreshClaims {
  const { certificate, scope } = family.facts;
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
export function signRefreshToken(realm: Realm, claims: RefreshClaims): string {
  const signed = `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${macOf(realm, signed).toString('base64url')}`;
}

/** Undefined for whatever is no refresh token of this realm; of any age. */
export function readRefreshToken(realm: Realm, token: string): RefreshClaims | undefined {
  if (token.length > tokenLengthMax) return undefined;
  const [header, payload = '', signature = '', ...more] = token.split('.');
  if (header !== head || more.length > 0) return undefined;
  const expected = macOf(realm, `${header}.${payload}`);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  // Under this key stand refresh tokens of this realm alone, so the claims are those above.
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as RefreshClaims;
}
