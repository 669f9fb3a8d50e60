// What stands in the access token of an application that acts for itself.
import type { Application, Realm } from './types.ts';

/** Tells access tokens from ID and refresh tokens, which the same keys sign. */
export const accessTokenType = 'Bearer';

type Issue = {
  readonly realm: Realm;
  readonly application: Application;
  readonly scope: string | undefined;
  readonly tokenId: string;
  /** Seconds since 1970, as JWTs count. */
  readonly issuedAt: number;
  readonly expiresAt: number;
};

/** entityId, permissions and user_domain stand in every machine token, whatever its scope. */
export function machineClaims(issue: Issue): Record<string, unknown> {
  const { realm, application, scope, tokenId, issuedAt, expiresAt } = issue;
  const { clientId, entityId, entityType, storeId } = application;
  return {
    iss: realm.issuer,
    sub: application.serviceAccountId,
    aud: clientId,
    azp: clientId,
    client_id: clientId,
    exp: expiresAt,
    nbf: issuedAt,
    iat: issuedAt,
    jti: tokenId,
    typ: accessTokenType,
    scope,
    user_domain: realm.userDomainId,
    entityId,
    um_scope: { entityId, entityType },
    permissions: application.permissions,
    groups: [],
    ...(storeId === undefined ? {} : { storeId }),
  };
}
