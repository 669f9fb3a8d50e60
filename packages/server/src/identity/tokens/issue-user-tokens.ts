// The answer to every grant of a user: access token, refresh token, ID token, and what is said of them.
import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Ids } from '../../platform/index.ts';
import type { Method, User } from '../accounts/types.ts';
import type { Application } from '../clients/application.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import type { DeviceFacts } from './authentication-claims.ts';
import { signAccessToken, signJwt } from './realm-jwt.ts';
import { refreshClaims, signRefreshToken } from './refresh-token.ts';
import type { CodeRefusal, Families } from './refresh-token-families.ts';
import type { Family, FamilyFacts, FamilyKind } from './refresh-token-family-sql.ts';
import { idTokenClaims, type UserIssue, userClaims } from './token-claims.ts';

/** Unless the application has a time of its own. */
const userTokenSeconds = 300;
const deviceTokenSeconds = 3600;

export type NewSignIn = {
  readonly kind: FamilyKind;
  readonly application: Application;
  readonly user: User;
  /** What was granted, separated by blanks. */
  readonly scope: string;
  readonly methods: readonly Method[];
  /** Epoch milliseconds. */
  readonly authenticatedAt: number;
  readonly familyId?: string | undefined;
  /** Of the browser, where there is one. */
  readonly sessionId?: string | undefined;
  readonly nonce?: string | undefined;
  readonly device?: DeviceFacts | undefined;
  /** Thumbprint of the certificate that the tokens are bound to (RFC 8705). */
  readonly certificate?: string | undefined;
  /** Epoch milliseconds: nothing of it lives longer. */
  readonly notAfter?: number | undefined;
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

export type UserTokens = ReturnType<typeof createUserTokens>;

type Deps = { families: Families; ids: Ids };
type Granted = {
  readonly scope: string;
  readonly nonce?: string | undefined;
  readonly withIdToken?: boolean;
};
type Holder = { readonly application: Application; readonly user: User };

function accessMsOf({ application, device }: NewSignIn): number {
  const usual = device === undefined ? userTokenSeconds : deviceTokenSeconds;
  return (application.accessTokenSeconds ?? usual) * 1000;
}

const secondsOf = (ms: number) => Math.floor(ms / 1000);

/** OpenID Connect Core, 3.1.3.6: ties the ID token to the access token beside it. */
export function accessTokenHash(token: string): string {
  return hash('sha256', token, 'buffer').subarray(0, 16).toString('base64url');
}

export function createUserTokens({ families, ids }: Deps) {
  async function answer(
    realm: Realm,
    { application, user }: Holder,
    family: Family,
    granted: Granted,
  ): Promise<TokenResponse> {
    const { scope, nonce, withIdToken = true } = granted;
    const { facts, familyId, refreshedAt, accessExpiresAt } = family;
    const device = facts.device as DeviceFacts | undefined;
    const issue: UserIssue = {
      realm,
      application,
      user,
      scope,
      tokenId: ids.uuidV4(),
      sessionId: familyId,
      issuedAt: secondsOf(refreshedAt),
      expiresAt: secondsOf(accessExpiresAt),
      methods: facts.methods,
      authenticatedAt: facts.authenticatedAt,
      nonce,
      device,
      certificate: facts.certificate,
    };
    const usual = device === undefined ? 'RS256' : 'ES256';
    const accessToken = await signAccessToken(realm, application, usual, userClaims(issue));
    const refreshToken = signRefreshToken(realm, refreshClaims(realm, family));
    const isAboutTheUser = withIdToken && scope.split(' ').includes('openid');
    return {
      access_token: accessToken,
      expires_in: issue.expiresAt - issue.issuedAt,
      refresh_token: refreshToken,
      refresh_expires_in: secondsOf(family.expiresAt - refreshedAt),
      token_type: 'Bearer',
      ...(isAboutTheUser ? { id_token: await idToken(issue, accessToken) } : {}),
      'not-before-policy': 0,
      session_state: familyId,
      scope,
    };
  }

  function idToken(issue: UserIssue, accessToken: string): Promise<string> {
    return signJwt(issue.realm.signing.RS256, {
      ...idTokenClaims({ ...issue, tokenId: ids.uuidV4() }),
      at_hash: accessTokenHash(accessToken),
    });
  }

  function familyWanted(signIn: NewSignIn) {
    const { application, user, kind, sessionId } = signIn;
    const facts: FamilyFacts = {
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
      facts,
      accessMs: accessMsOf(signIn),
      notAfter: signIn.notAfter,
    };
  }

  return {
    /**
     * The tokens of somebody who proved who he is a moment ago. Undefined where that was ended
     * since `provenAt`, which is a time of before it was looked at.
     */
    async begin(
      realm: Realm,
      signIn: NewSignIn,
      provenAt: number,
    ): Promise<TokenResponse | undefined> {
      const family = await families.begin(familyWanted(signIn), provenAt);
      return family === undefined ? undefined : answer(realm, signIn, family, signIn);
    },

    /** The same for a code, which is used up by it, unless it was before or its session has ended. */
    async beginByCode(
      realm: Realm,
      signIn: NewSignIn,
      codeId: string,
    ): Promise<TokenResponse | CodeRefusal> {
      const family = await families.beginByCode(familyWanted(signIn), codeId);
      return typeof family === 'string' ? family : answer(realm, signIn, family, signIn);
    },

    /**
     * Whether a sign-in at a device is one at the place where that stands now. One from elsewhere is
     * over: whoever works here signs in here.
     */
    async staysAt(
      { organizationId }: User,
      familyId: string,
      place: { readonly logicalDeviceId: string; readonly storeId: string },
    ): Promise<boolean> {
      const family = await families.find(organizationId, familyId);
      const device = family?.facts.device as DeviceFacts | undefined;
      const { deviceId, storeId } = device ?? {};
      if (deviceId === place.logicalDeviceId && storeId === place.storeId) return true;
      await families.end(organizationId, { familyId });
      return false;
    },

    /** The next tokens of a family, in place of the refresh token; undefined where that is not good. */
    async renew(
      realm: Realm,
      holder: Holder,
      wanted: { familyId: string; tokenId: string; scope: string; withIdToken: boolean },
      trx?: Kysely<unknown>,
    ): Promise<TokenResponse | undefined> {
      const { application, user } = holder;
      const key = {
        organizationId: user.organizationId,
        familyId: wanted.familyId,
        clientId: application.clientId,
        tokenId: wanted.tokenId,
      };
      const family =
        trx === undefined ? await families.renew(key) : await families.renewWithin(trx, key);
      return family === undefined ? undefined : answer(realm, holder, family, wanted);
    },
  };
}
