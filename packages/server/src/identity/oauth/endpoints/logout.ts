// Logout: OpenID Connect RP-Initiated Logout, and the POST with a refresh token as in Keycloak.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, deriveKey } from '../../../platform/index.ts';
import type { Application } from '../../clients/application-record.ts';
import type { Applications } from '../../clients/applications.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { CurrentSession, Sessions } from '../../sessions/sessions.ts';
import { verifyJwt } from '../../tokens/realm-jwt.ts';
import { readRefreshToken } from '../../tokens/refresh-token.ts';
import type { TokenFamilies } from '../../tokens/refresh-token-families.ts';
import { idTokenTypClaim } from '../../tokens/token-claims.ts';

/** How long the user may take to confirm the logout. */
const confirmationTtlMs = 600_000;

export type LogoutRequest = {
  readonly idTokenHint?: string | undefined;
  readonly clientId?: string | undefined;
  readonly redirectUri?: string | undefined;
  readonly state?: string | undefined;
};

/** The page after the logout: the application, or the signed-out page. */
export type LogoutDestination = {
  readonly redirectUri?: string | undefined;
  /** The user chose to stay signed in. */
  readonly isStillSignedIn?: boolean;
};
export type LogoutPlan =
  | { readonly kind: 'refused'; readonly description: string }
  | ({ readonly kind: 'done' } & LogoutDestination)
  /** The form returns `confirmation`, which only the server can sign. */
  | ({ readonly kind: 'ask'; readonly confirmation: string } & LogoutDestination);

export type Logout = ReturnType<typeof createLogout>;

type Deps = {
  sessions: Pick<Sessions, 'end'>;
  families: Pick<TokenFamilies, 'find'>;
  findApplication: Applications['find'];
  masterKey: Buffer;
  clock: Clock;
};

type IdTokenHint = { readonly sub: string; readonly azp: string; readonly sid: string };
type LogoutConfirmation = LogoutDestination & {
  readonly realm: string;
  readonly sessionId: string;
  readonly expiresAt: number;
};

/** Accepts expired ID tokens: the hint names the user and authorises nothing. */
function verifyIdTokenHint(realm: Realm, token: string): IdTokenHint | undefined {
  const claims = verifyJwt(realm, token);
  // Every ID token that the realm signed has these claims.
  return claims?.['typ'] === idTokenTypClaim ? (claims as IdTokenHint) : undefined;
}

/** A registered redirect URI, or the root page of a registered origin. */
function isAllowedRedirect({ redirectUris, webOrigins }: Application, uri: string): boolean {
  if (redirectUris.includes(uri)) return true;
  return webOrigins.some((origin) => uri === origin || uri === `${origin}/`);
}

function withState(uri: string | undefined, state: string | undefined): string | undefined {
  if (uri === undefined || state === undefined) return uri;
  const address = new URL(uri);
  address.searchParams.set('state', state);
  return address.href;
}

export function createLogout({ sessions, families, findApplication, masterKey, clock }: Deps) {
  const key = deriveKey(masterKey, 'logout-questions');
  const macOf = (text: string) => createHmac('sha256', key).update(text).digest();

  function signConfirmation(confirmation: LogoutConfirmation): string {
    const text = Buffer.from(JSON.stringify(confirmation)).toString('base64url');
    return `${text}.${macOf(text).toString('base64url')}`;
  }

  function verifyConfirmation(signed: string): LogoutConfirmation | undefined {
    const [text = '', mac = ''] = signed.split('.');
    const givenMac = Buffer.from(mac, 'base64url');
    const expected = macOf(text);
    if (givenMac.length !== expected.length || !timingSafeEqual(givenMac, expected))
      return undefined;
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as LogoutConfirmation;
  }

  /** The client of the request; undefined if unknown, or if `client_id` and the hint differ. */
  async function findClient(
    { organizationId }: Realm,
    hint: IdTokenHint | undefined,
    clientIdParameter: string | undefined,
  ): Promise<Application | undefined> {
    const clientId = hint?.azp ?? clientIdParameter;
    if (
      clientId === undefined ||
      (clientIdParameter !== undefined && clientIdParameter !== clientId)
    )
      return undefined;
    const application = await findApplication(organizationId, clientId);
    return application?.status === 'Enabled' ? application : undefined;
  }

  /** Ends the sign-in of the hint, even if its browser has lost the cookie. */
  async function endByHint({ organizationId }: Realm, hint: IdTokenHint): Promise<void> {
    const family = await families.find(organizationId, hint.sid);
    if (family?.userId !== hint.sub) return;
    await sessions.end(organizationId, hint.sub, family.sessionId ?? family.familyId);
  }

  return {
    async plan(
      realm: Realm,
      request: LogoutRequest,
      current: CurrentSession | undefined,
    ): Promise<LogoutPlan> {
      const { idTokenHint, clientId, redirectUri, state } = request;
      const hint = idTokenHint === undefined ? undefined : verifyIdTokenHint(realm, idTokenHint);
      if (idTokenHint !== undefined && hint === undefined) {
        return {
          kind: 'refused',
          description: 'the id_token_hint is not an ID token of this user domain',
        };
      }
      const client = await findClient(realm, hint, clientId);
      if (client === undefined && (hint !== undefined || clientId !== undefined)) {
        return { kind: 'refused', description: 'the application is unknown or disabled' };
      }
      if (redirectUri !== undefined && client === undefined) {
        return {
          kind: 'refused',
          description: 'client_id or id_token_hint is needed with post_logout_redirect_uri',
        };
      }
      if (
        client !== undefined &&
        redirectUri !== undefined &&
        !isAllowedRedirect(client, redirectUri)
      ) {
        return { kind: 'refused', description: 'the post_logout_redirect_uri is not registered' };
      }
      const destination = { redirectUri: withState(redirectUri, state) };
      if (hint !== undefined && (current === undefined || hint.sub === current.userId)) {
        await endByHint(realm, hint);
        if (current !== undefined) {
          await sessions.end(realm.organizationId, current.userId, current.sessionId);
        }
        return { kind: 'done', ...destination };
      }
      if (current === undefined) return { kind: 'done', ...destination };
      const confirmation = signConfirmation({
        ...destination,
        realm: realm.userDomainId,
        sessionId: current.sessionId,
        expiresAt: clock.now() + confirmationTtlMs,
      });
      return { kind: 'ask', confirmation, ...destination };
    },

    /** The destination after the answer of the user; undefined if this browser was not asked. */
    async confirm(
      realm: Realm,
      answer: { readonly confirmation: string; readonly isYes: boolean },
      current: CurrentSession | undefined,
    ): Promise<LogoutDestination | undefined> {
      const confirmation = verifyConfirmation(answer.confirmation);
      if (confirmation?.realm !== realm.userDomainId || confirmation.expiresAt < clock.now()) {
        return undefined;
      }
      // Another tab has signed out already.
      if (current === undefined) return confirmation;
      if (confirmation.sessionId !== current.sessionId) return undefined;
      if (!answer.isYes) return { ...confirmation, isStillSignedIn: true };
      await sessions.end(realm.organizationId, current.userId, current.sessionId);
      return confirmation;
    },

    /** Logout without a browser, by refresh token. False if the token is not valid. */
    async endByRefreshToken(realm: Realm, client: Application, token: string): Promise<boolean> {
      const refresh = readRefreshToken(realm, token);
      if (refresh?.azp !== client.clientId) return false;
      const { organizationId } = realm;
      const family = await families.find(organizationId, refresh.sid);
      if (family === undefined) return false;
      await sessions.end(organizationId, refresh.sub, family.sessionId ?? family.familyId);
      return true;
    },
  };
}
