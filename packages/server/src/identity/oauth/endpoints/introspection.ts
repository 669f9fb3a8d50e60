// Introspection (RFC 7662) and revocation (RFC 7009) of the tokens of a realm, all of which are
// JWTs.
import { defined, errorCodes, ProblemError } from '@switchyard/contract';
import { decodeJwt } from 'jose';
import type { Caller, VerifyToken } from '../../../http/index.ts';
import type { Clock } from '../../../platform/index.ts';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application-record.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { type RefreshTokenClaims, readRefreshToken } from '../../tokens/refresh-token.ts';
import type { TokenFamilies } from '../../tokens/refresh-token-families.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';

type Deps = {
  verify: VerifyToken;
  families: Pick<TokenFamilies, 'find' | 'end'>;
  clock: Clock;
  revokeToken(realm: Realm, tokenId: string, expiresAt: number): Promise<void>;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
};

type Claims = Record<string, unknown>;
export type Introspection = ReturnType<typeof createIntrospection>;

const inactive = { active: false } as const;

/** A client that introspects or revokes a bound token need not present its certificate. */
const acceptAnyCertificate = (token: string) => ({
  thumbprint: async () => decodeJwt<{ cnf?: { 'x5t#S256'?: string } }>(token).cnf?.['x5t#S256'],
});

/**
 * A client may introspect its own tokens and those issued for it. A client with app.read for the
 * organisation may introspect all tokens.
 */
function isVisibleTo(application: Application, { aud, azp }: Claims): boolean {
  const { clientId, entityType, permissions } = application;
  if (azp === clientId || [aud].flat().includes(clientId)) return true;
  return entityType === 'tenant' && permissions.includes('app.read');
}

export function createIntrospection(deps: Deps) {
  const { verify, families, clock, revokeToken, findUser } = deps;

  async function findCaller(realm: Realm, token: string): Promise<Caller | undefined> {
    try {
      const caller = await verify(token, acceptAnyCertificate(token));
      return caller.realm === realm.userDomainId ? caller : undefined;
    } catch (error) {
      if (error instanceof ProblemError && errorCodes[error.code].status === 401) return undefined;
      throw error;
    }
  }

  async function isActive(realm: Realm, token: RefreshTokenClaims): Promise<boolean> {
    if (token.exp * 1000 <= clock.now()) return false;
    const { organizationId } = realm;
    const family = await families.find(organizationId, token.sid);
    if (family?.tokenId !== token.jti) return false;
    return isUserSessionValid(await findUser(organizationId, token.sub), token.iat * 1000);
  }

  return {
    async introspect(realm: Realm, application: Application, token: string): Promise<Claims> {
      const refresh = readRefreshToken(realm, token);
      if (refresh !== undefined) {
        if (!isVisibleTo(application, refresh) || !(await isActive(realm, refresh)))
          return inactive;
        return { active: true, ...refresh, client_id: refresh.azp };
      }
      if ((await findCaller(realm, token)) === undefined) return inactive;
      const claims: Claims = decodeJwt(token);
      if (!isVisibleTo(application, claims)) return inactive;
      const { preferred_username: username } = claims;
      const usernameMember = defined({ username });
      return { active: true, ...claims, ...usernameMember, token_type: 'Bearer' };
    },

    /**
     * False if the token belongs to another client; an expired token counts as revoked. Any refresh
     * token of a family revokes the whole family.
     */
    async revoke(realm: Realm, clientId: string, token: string): Promise<boolean> {
      const refresh = readRefreshToken(realm, token);
      if (refresh !== undefined) {
        if (refresh.azp !== clientId) return false;
        await families.end(realm.organizationId, { familyId: refresh.sid });
        return true;
      }
      const caller = await findCaller(realm, token);
      if (caller === undefined) return true;
      if (caller.clientId !== clientId) return false;
      await revokeToken(realm, caller.tokenId, caller.expiresAt);
      return true;
    },
  };
}
