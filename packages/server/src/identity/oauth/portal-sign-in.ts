// The calls of the portal to the authorization server, within the process: no secret and no token
// leaves it.
import { defined } from '@switchyard/contract';
import { errors } from 'oidc-provider';
import type { Queries } from '../../platform/index.ts';
import type { User } from '../accounts/types.ts';
import type { Application } from '../clients/application-record.ts';
import type { Applications } from '../clients/applications.ts';
import { portalClientId } from '../clients/portal-client.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { RealmProvider } from '../sessions/realm-provider.ts';
import type { TokenResponse, UserTokenIssuer } from '../tokens/issue-user-tokens.ts';
import { verifyJwt } from '../tokens/realm-jwt.ts';
import { readRefreshToken } from '../tokens/refresh-token.ts';
import { browserSessionLifetime } from '../tokens/refresh-token-families.ts';
import { idTokenTypClaim } from '../tokens/token-claims.ts';
import { isUserSessionValid } from '../tokens/user-session-validity.ts';
import type { Logout } from './endpoints/logout.ts';
import { redeemCode } from './grants/authorization-code.ts';
import { providerPaths } from './provider/provider-configuration.ts';

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
  /** The id of the refresh-token family. */
  readonly signInId: string;
  /** Epoch milliseconds: the maximum session length ends here. */
  readonly endsAt: number;
  readonly tokens: PortalTokens;
};

export type PortalAuthorizationRequest = {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** The PKCE code challenge (S256). */
  readonly challenge: string;
  readonly loginHint?: string | undefined;
};

export type PortalCodeResponse = {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
  readonly nonce: string;
  /** The `iss` parameter of RFC 9207. */
  readonly issuer?: string | undefined;
};

/** Runs in the transaction that stores the tokens; undefined if the sign-in has ended. */
export type RefreshTokens = (trx: Queries) => Promise<PortalTokens | undefined>;

export type PortalAuthorization = ReturnType<typeof createPortalAuthorization>;

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  findRealmProvider(userDomainId: string): Promise<RealmProvider | undefined>;
  findApplication: Applications['find'];
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  readonly userTokens: UserTokenIssuer;
  readonly logout: Pick<Logout, 'endByRefreshToken'>;
  readonly clock: { now(): number };
};

export function createPortalAuthorization(deps: Deps) {
  const { findRealm, findRealmProvider, findApplication, findUser, userTokens, logout, clock } =
    deps;

  const findPortalClient = ({ organizationId }: Realm): Promise<Application | undefined> =>
    findApplication(organizationId, portalClientId);

  const portalTokens = (response: TokenResponse): PortalTokens => ({
    accessToken: response.access_token,
    refreshToken: response.refresh_token,
    accessExpiresAt: clock.now() + response.expires_in * 1000,
  });

  /** Undefined unless the ID token belongs to this request. */
  function readSignIn(
    realm: Realm,
    response: TokenResponse,
    nonce: string,
  ): PortalSignIn | undefined {
    const claims = verifyJwt(realm, response.id_token ?? '');
    const { typ, aud, sub, sid, auth_time: signedInAt } = claims ?? {};
    const matchesRequest =
      typ === idTokenTypClaim && aud === portalClientId && claims?.['nonce'] === nonce;
    if (!matchesRequest || typeof sub !== 'string' || typeof sid !== 'string') return undefined;
    return {
      userDomainId: realm.userDomainId,
      organizationId: realm.organizationId,
      userId: sub,
      signInId: sid,
      endsAt: Number(signedInAt) * 1000 + browserSessionLifetime.maxMs,
      tokens: portalTokens(response),
    };
  }

  return {
    /** The authorization URL; undefined if the user domain does not exist. */
    async signInUrl(
      userDomainId: string,
      request: PortalAuthorizationRequest,
    ): Promise<string | undefined> {
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
      return `${realm.issuer}${providerPaths.authorization}?${query}`;
    },

    /** Undefined if the code is used, expired, of another client, or of another request. */
    async redeemCode(
      userDomainId: string,
      response: PortalCodeResponse,
    ): Promise<PortalSignIn | undefined> {
      const realmProvider = await findRealmProvider(userDomainId);
      if (realmProvider === undefined) return undefined;
      const { realm, provider } = realmProvider;
      if (response.issuer !== undefined && response.issuer !== realm.issuer) return undefined;
      const application = await findPortalClient(realm);
      if (application === undefined) return undefined;
      const codePorts = {
        provider,
        realm,
        userTokens,
        findUser: (userId: string) => findUser(realm.organizationId, userId),
      };
      try {
        return readSignIn(
          realm,
          await redeemCode(codePorts, application, response),
          response.nonce,
        );
      } catch (error) {
        if (error instanceof errors.OIDCProviderError) return undefined;
        throw error;
      }
    },

    /** Checks everything before the refresh; undefined if the sign-in has ended. */
    async prepareRefresh(
      userDomainId: string,
      refreshToken: string,
    ): Promise<RefreshTokens | undefined> {
      const realm = await findRealm(userDomainId);
      const token = realm && readRefreshToken(realm, refreshToken);
      if (realm === undefined || token === undefined) return undefined;
      if (token.azp !== portalClientId || token.exp * 1000 <= clock.now()) return undefined;
      const application = await findPortalClient(realm);
      const user = await findUser(realm.organizationId, token.sub);
      if (application === undefined || !isUserSessionValid(user, token.iat * 1000))
        return undefined;
      const refreshed = {
        familyId: token.sid,
        tokenId: token.jti,
        scope: token.scope,
        withIdToken: false,
      };
      return async (trx) => {
        const refreshedTokens = await userTokens.refresh(
          realm,
          { application, user },
          refreshed,
          trx,
        );
        return refreshedTokens === undefined ? undefined : portalTokens(refreshedTokens);
      };
    },

    /** Ends the browser session of the realm and all sign-ins that started in it. */
    async signOut(userDomainId: string, refreshToken: string): Promise<void> {
      const realm = await findRealm(userDomainId);
      const application = realm && (await findPortalClient(realm));
      if (realm === undefined || application === undefined) return;
      await logout.endByRefreshToken(realm, application, refreshToken);
    },

    /** The URL of the page that confirms the sign-out. */
    async signedOutUrl(userDomainId: string): Promise<string | undefined> {
      const realm = await findRealm(userDomainId);
      return realm === undefined ? undefined : `${realm.issuer}/signed-out`;
    },
  };
}
