// What the portal asks of the authorization server, within the process: no secret leaves for it, and no token.
import { defined } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import { errors } from 'oidc-provider';
import type { User } from '../accounts/types.ts';
import type { Application } from '../clients/application.ts';
import type { Applications } from '../clients/applications.ts';
import { portalClientId } from '../clients/portal-client.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import type { RealmProvider } from '../sessions/realm-provider.ts';
import type { TokenResponse, UserTokens } from '../tokens/issue-user-tokens.ts';
import { readJwt } from '../tokens/realm-jwt.ts';
import { readRefreshToken } from '../tokens/refresh-token.ts';
import { browserLifetime } from '../tokens/refresh-token-families.ts';
import { idTokenType } from '../tokens/token-claims.ts';
import { isStanding } from '../tokens/user-session-validity.ts';
import type { Logout } from './endpoints/logout.ts';
import { redeemCode } from './grants/authorization-code.ts';
import { innerPaths } from './provider/provider-configuration.ts';

const scope = 'openid profile email';

export type PortalTokens = {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Epoch milliseconds. */
  readonly accessExpiresAt: number;
};

export type PortalSignIn = {
  readonly userDomainId: string;
  readonly organizationId: string;
  readonly userId: string;
  /** Of the family of tokens. */
  readonly signInId: string;
  /** Epoch milliseconds: the day's work is over then, however busy it is. */
  readonly endsAt: number;
  readonly tokens: PortalTokens;
};

export type PortalRequest = {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** PKCE, S256. */
  readonly challenge: string;
  readonly loginHint?: string | undefined;
};

export type PortalCode = {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly nonce: string;
  /** RFC 9207: who says that he answers. */
  readonly issuer?: string | undefined;
};

/** Within the transaction of who keeps the tokens; undefined where the sign-in is over. */
export type RenewTokens = (trx: Kysely<unknown>) => Promise<PortalTokens | undefined>;

export type PortalIdentity = ReturnType<typeof createPortalIdentity>;

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  providerOf(userDomainId: string): Promise<RealmProvider | undefined>;
  findApplication: Applications['find'];
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  readonly userTokens: UserTokens;
  readonly logout: Pick<Logout, 'byRefreshToken'>;
  readonly clock: { now(): number };
};

export function createPortalIdentity(deps: Deps) {
  const { findRealm, providerOf, findApplication, findUser, userTokens, logout, clock } = deps;

  const applicationOf = ({ organizationId }: Realm): Promise<Application | undefined> =>
    findApplication(organizationId, portalClientId);

  const tokensOf = (response: TokenResponse): PortalTokens => ({
    accessToken: response.access_token,
    refreshToken: response.refresh_token,
    accessExpiresAt: clock.now() + response.expires_in * 1000,
  });

  /** Undefined unless the ID token is the answer to this very request. */
  function signInOf(
    realm: Realm,
    response: TokenResponse,
    nonce: string,
  ): PortalSignIn | undefined {
    const claims = readJwt(realm, response.id_token ?? '');
    const { typ, aud, sub, sid, auth_time: signedInAt } = claims ?? {};
    const isAnswer = typ === idTokenType && aud === portalClientId && claims?.['nonce'] === nonce;
    if (!isAnswer || typeof sub !== 'string' || typeof sid !== 'string') return undefined;
    return {
      userDomainId: realm.userDomainId,
      organizationId: realm.organizationId,
      userId: sub,
      signInId: sid,
      endsAt: Number(signedInAt) * 1000 + browserLifetime.longestMs,
      tokens: tokensOf(response),
    };
  }

  return {
    /** Where the browser signs in; undefined where there is no such user domain. */
    async address(userDomainId: string, request: PortalRequest): Promise<string | undefined> {
      const realm = await findRealm(userDomainId);
      if (realm === undefined) return undefined;
      const { redirectUri, state, nonce, challenge, loginHint } = request;
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: portalClientId,
        redirect_uri: redirectUri,
        scope,
        state,
        nonce,
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...defined({ login_hint: loginHint }),
      });
      return `${realm.issuer}${innerPaths.authorization}?${query}`;
    },

    /** Undefined for a code that is used, expired, another's, or not the answer to this request. */
    async redeem(userDomainId: string, given: PortalCode): Promise<PortalSignIn | undefined> {
      const found = await providerOf(userDomainId);
      if (found === undefined) return undefined;
      const { realm, provider } = found;
      if (given.issuer !== undefined && given.issuer !== realm.issuer) return undefined;
      const application = await applicationOf(realm);
      if (application === undefined) return undefined;
      const within = {
        provider,
        realm,
        userTokens,
        findUser: (userId: string) => findUser(realm.organizationId, userId),
      };
      try {
        return signInOf(realm, await redeemCode(within, application, given), given.nonce);
      } catch (error) {
        if (error instanceof errors.OIDCProviderError) return undefined;
        throw error;
      }
    },

    /** All that is to be known before the tokens are renewed; undefined where the sign-in is over. */
    async prepareRenewal(
      userDomainId: string,
      refreshToken: string,
    ): Promise<RenewTokens | undefined> {
      const realm = await findRealm(userDomainId);
      const token = realm && readRefreshToken(realm, refreshToken);
      if (realm === undefined || token === undefined) return undefined;
      if (token.azp !== portalClientId || token.exp * 1000 <= clock.now()) return undefined;
      const application = await applicationOf(realm);
      const user = await findUser(realm.organizationId, token.sub);
      if (application === undefined || !isStanding(user, token.iat * 1000)) return undefined;
      const wanted = {
        familyId: token.sid,
        tokenId: token.jti,
        scope: token.scope,
        withIdToken: false,
      };
      return async (trx) => {
        const renewed = await userTokens.renew(realm, { application, user }, wanted, trx);
        return renewed === undefined ? undefined : tokensOf(renewed);
      };
    },

    /** Signs out of the realm too: the browser's session there, and what else was begun in it. */
    async end(userDomainId: string, refreshToken: string): Promise<void> {
      const realm = await findRealm(userDomainId);
      const application = realm && (await applicationOf(realm));
      if (realm === undefined || application === undefined) return;
      await logout.byRefreshToken(realm, application, refreshToken);
    },

    /** Where the realm says that somebody is signed out. */
    async signedOutAddress(userDomainId: string): Promise<string | undefined> {
      const realm = await findRealm(userDomainId);
      return realm === undefined ? undefined : `${realm.issuer}/signed-out`;
    },
  };
}
