// Issues the tokens of a user: access token, refresh token and ID token, as a token response.
import { hash } from 'node:crypto';
import type { Ids, Queries } from '../../platform/index.ts';
import type { AuthenticationMethod, User } from '../accounts/types.ts';
import type { Application } from '../clients/application-record.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { SignInDevice } from './authentication-claims.ts';
import { signAccessToken, signJwt } from './realm-jwt.ts';
import { refreshTokenClaims, signRefreshToken } from './refresh-token.ts';
import type { CodeRejection, TokenFamilies } from './refresh-token-families.ts';
import type {
  TokenFamily,
  TokenFamilyContext,
  TokenFamilyKind,
} from './refresh-token-family-sql.ts';
import { idTokenClaims, type UserTokenInput, userAccessTokenClaims } from './token-claims.ts';

/** Defaults; an application can set its own lifetime. */
const userTokenSeconds = 300;
const deviceTokenSeconds = 3600;

export type NewSignIn = {
  readonly kind: TokenFamilyKind;
  readonly application: Application;
  readonly user: User;
  /** The granted scopes, separated by spaces. */
  readonly scope: string;
  readonly methods: readonly AuthenticationMethod[];
  /** Epoch milliseconds. */
  readonly authenticatedAt: number;
  readonly familyId?: string | undefined;
  /** The browser session, if any. */
  readonly sessionId?: string | undefined;
  readonly nonce?: string | undefined;
  readonly device?: SignInDevice | undefined;
  /** Thumbprint of the certificate to which the tokens are bound (RFC 8705). */
  readonly certificate?: string | undefined;
  /** Epoch milliseconds: upper limit for all tokens of the sign-in. */
  readonly expiresAtLatest?: number | undefined;
};

export type TokenResponse = {
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly refresh_expires_in: number;
  readonly token_type: 'Bearer';
  readonly id_token?: string;
  readonly 'not-before-policy': 0;
  readonly session_state: string;
  readonly scope: string;
};

export type UserTokenIssuer = ReturnType<typeof createUserTokenIssuer>;

type Deps = { families: TokenFamilies; ids: Ids };
type GrantedScope = {
  readonly scope: string;
  readonly nonce?: string | undefined;
  readonly withIdToken?: boolean;
};
type TokenHolder = { readonly application: Application; readonly user: User };

function accessTokenMs({ application, device }: NewSignIn): number {
  const defaultAlgorithm = device === undefined ? userTokenSeconds : deviceTokenSeconds;
  return (application.accessTokenSeconds ?? defaultAlgorithm) * 1000;
}

const secondsOf = (ms: number) => Math.floor(ms / 1000);

/** `at_hash`: binds the ID token to its access token (OpenID Connect Core, 3.1.3.6). */
export function accessTokenHash(token: string): string {
  return hash('sha256', token, 'buffer').subarray(0, 16).toString('base64url');
}

export function createUserTokenIssuer({ families, ids }: Deps) {
  async function buildResponse(
    realm: Realm,
    { application, user }: TokenHolder,
    family: TokenFamily,
    granted: GrantedScope,
  ): Promise<TokenResponse> {
    const { scope, nonce, withIdToken = true } = granted;
    const { context, familyId, refreshedAt, accessExpiresAt } = family;
    const device = context.device as SignInDevice | undefined;
    const tokenInput: UserTokenInput = {
      realm,
      application,
      user,
      scope,
      tokenId: ids.uuidV4(),
      sessionId: familyId,
      issuedAt: secondsOf(refreshedAt),
      expiresAt: secondsOf(accessExpiresAt),
      methods: context.methods,
      authenticatedAt: context.authenticatedAt,
      nonce,
      device,
      certificate: context.certificate,
    };
    const defaultAlgorithm = device === undefined ? 'RS256' : 'ES256';
    const accessToken = await signAccessToken(
      realm,
      application,
      defaultAlgorithm,
      userAccessTokenClaims(tokenInput),
    );
    const refreshToken = signRefreshToken(realm, refreshTokenClaims(realm, family));
    const hasIdToken = withIdToken && scope.split(' ').includes('openid');
    return {
      access_token: accessToken,
      expires_in: tokenInput.expiresAt - tokenInput.issuedAt,
      refresh_token: refreshToken,
      refresh_expires_in: secondsOf(family.expiresAt - refreshedAt),
      token_type: 'Bearer',
      ...(hasIdToken ? { id_token: await idToken(tokenInput, accessToken) } : {}),
      'not-before-policy': 0,
      session_state: familyId,
      scope,
    };
  }

  function idToken(tokenInput: UserTokenInput, accessToken: string): Promise<string> {
    return signJwt(tokenInput.realm.signing.RS256, {
      ...idTokenClaims({ ...tokenInput, tokenId: ids.uuidV4() }),
      at_hash: accessTokenHash(accessToken),
    });
  }

  function newFamilyOf(signIn: NewSignIn) {
    const { application, user, kind, sessionId } = signIn;
    const context: TokenFamilyContext = {
      scope: signIn.scope,
      methods: signIn.methods,
      authenticatedAt: signIn.authenticatedAt,
      device: signIn.device,
      certificate: signIn.certificate,
    };
    return {
      organizationId: user.organizationId,
      familyId: signIn.familyId ?? ids.uuidV4(),
      userId: user.userId,
      clientId: application.clientId,
      sessionId,
      kind,
      context,
      accessMs: accessTokenMs(signIn),
      notAfter: signIn.expiresAtLatest,
    };
  }

  return {
    /**
     * Issues tokens after an authentication. Undefined if the sessions of the user ended after
     * `provenAt`, a time before the authentication was checked.
     */
    async issue(
      realm: Realm,
      signIn: NewSignIn,
      provenAt: number,
    ): Promise<TokenResponse | undefined> {
      const family = await families.start(newFamilyOf(signIn), provenAt);
      return family === undefined ? undefined : buildResponse(realm, signIn, family, signIn);
    },

    /**
     * The same for an authorization code, which it redeems; rejected if redeemed before or if the
     * session has ended.
     */
    async issueForCode(
      realm: Realm,
      signIn: NewSignIn,
      codeId: string,
    ): Promise<TokenResponse | CodeRejection> {
      const family = await families.startFromCode(newFamilyOf(signIn), codeId);
      return typeof family === 'string' ? family : buildResponse(realm, signIn, family, signIn);
    },

    /** Whether the device is still where the user signed in. If it has moved, the sign-in ends. */
    async isStillAtLocation(
      { organizationId }: User,
      familyId: string,
      location: { readonly logicalDeviceId: string; readonly storeId: string },
    ): Promise<boolean> {
      const family = await families.find(organizationId, familyId);
      const device = family?.context.device as SignInDevice | undefined;
      const { deviceId, storeId } = device ?? {};
      if (deviceId === location.logicalDeviceId && storeId === location.storeId) return true;
      await families.end(organizationId, { familyId });
      return false;
    },

    /**
     * Rotates the refresh token and issues new tokens; undefined if the refresh token is not valid.
     */
    async refresh(
      realm: Realm,
      tokenHolder: TokenHolder,
      refreshed: { familyId: string; tokenId: string; scope: string; withIdToken: boolean },
      trx?: Queries,
    ): Promise<TokenResponse | undefined> {
      const { application, user } = tokenHolder;
      const familyKey = {
        organizationId: user.organizationId,
        familyId: refreshed.familyId,
        clientId: application.clientId,
        tokenId: refreshed.tokenId,
      };
      const family =
        trx === undefined
          ? await families.rotate(familyKey)
          : await families.rotateInTransaction(trx, familyKey);
      return family === undefined
        ? undefined
        : buildResponse(realm, tokenHolder, family, refreshed);
    },
  };
}
