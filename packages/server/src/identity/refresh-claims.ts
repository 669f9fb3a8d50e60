// What stands in a refresh token: which family it carries on, for whom, and for how long.
import type { Family } from './family-store.ts';
import { readJwt } from './jwt.ts';
import type { Realm } from './types.ts';

/** Tells refresh tokens from access and ID tokens, which the same keys sign. */
const refreshTokenType = 'Refresh';

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
    ...(certificate === undefined ? {} : { cnf: { 'x5t#S256': certificate } }),
  };
}

/** Undefined for whatever is no refresh token of this realm; of any age. */
export function readRefreshToken(realm: Realm, token: string): RefreshClaims | undefined {
  const claims = readJwt(realm, token);
  // What the realm signed as a refresh token has these claims.
  return claims?.['typ'] === refreshTokenType ? (claims as RefreshClaims) : undefined;
}
