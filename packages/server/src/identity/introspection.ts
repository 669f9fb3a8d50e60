// Introspection (RFC 7662) and revocation (RFC 7009) of our JWT access tokens.
import { Refusal } from '@switchyard/contract';
import { decodeJwt, type JWTPayload } from 'jose';
import type { VerifyToken } from '../http/index.ts';
import type { Realm } from './types.ts';

type Deps = {
  verify: VerifyToken;
  revokeToken(realm: Realm, tokenId: string, expiresAt: number): Promise<void>;
};

export type Introspection = ReturnType<typeof createIntrospection>;

/** The one who introspects or revokes shows no certificate for a token that is bound to one. */
const anyCertificate = (token: string) => ({
  certificateThumbprint: () =>
    decodeJwt<{ cnf?: { 'x5t#S256'?: string } }>(token).cnf?.['x5t#S256'],
});

export function createIntrospection({ verify, revokeToken }: Deps) {
  async function callerOf(realm: Realm, token: string) {
    try {
      const caller = await verify(token, anyCertificate(token));
      return caller.realm === realm.userDomainId ? caller : undefined;
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  return {
    async introspect(realm: Realm, token: string): Promise<Record<string, unknown>> {
      const caller = await callerOf(realm, token);
      if (caller === undefined) return { active: false };
      const claims: JWTPayload = decodeJwt(token);
      return { active: true, ...claims, token_type: 'Bearer' };
    },

    /** False where the token is another client's; one that is dead already counts as revoked. */
    async revoke(realm: Realm, clientId: string, token: string): Promise<boolean> {
      const caller = await callerOf(realm, token);
      if (caller === undefined) return true;
      if (caller.clientId !== clientId) return false;
      await revokeToken(realm, caller.tokenId, caller.expiresAt);
      return true;
    },
  };
}
