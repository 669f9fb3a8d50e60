// The login requests of oidc-provider ("interactions"), for the login pages.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type InteractionResults } from 'oidc-provider';
import type { Clock } from '../../platform/index.ts';
import type { RealmProvider } from './realm-provider.ts';
import { type AuthenticatedUser, type Sessions, toLoginTs } from './sessions.ts';

export type SignInRequest = {
  readonly uid: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly userDomainId: string;
  readonly organizationId: string;
  readonly scope: string;
  /** The validated redirect URI. */
  readonly redirectUri: string;
  readonly loginHint?: string | undefined;
  /** From `ui_locales`, preferred first. */
  readonly locales: readonly string[];
};

export type LoginInteractions = ReturnType<typeof createLoginInteractions>;

type Deps = {
  findRealmProvider(userDomainId: string): Promise<RealmProvider | undefined>;
  sessions: Pick<Sessions, 'current' | 'end'>;
  clock: Clock;
};

/** The path of the login page; the cookie of the request is limited to it. */
export const signInPath = (userDomainId: string, uid: string): string =>
  `/auth/realms/${userDomainId}/sign-in/${uid}`;

/** Time limit for a sign-in, which may include enrolment of a second factor. */
export const signInTimeoutSeconds = 1800;

const interactionIdBytes = 32;

export function createLoginInteractions({ findRealmProvider, sessions, clock }: Deps) {
  /**
   * Undefined if the request has expired or the cookie of the browser belongs to another request,
   * so that a link into another user's sign-in does not work.
   */
  async function findInteraction(
    userDomainId: string,
    raw: IncomingMessage,
    rawReply: ServerResponse,
  ) {
    const realmProvider = await findRealmProvider(userDomainId);
    if (realmProvider === undefined) return undefined;
    try {
      const interaction = await realmProvider.provider.interactionDetails(raw, rawReply);
      const path = signInPath(userDomainId, interaction.uid);
      const [requestedPath = ''] = (raw.url ?? '').split('?');
      if (requestedPath !== path && !requestedPath.startsWith(`${path}/`)) return undefined;
      return interaction.prompt.name === 'login' ? { ...realmProvider, interaction } : undefined;
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
  }

  async function saveResult(
    userDomainId: string,
    raw: IncomingMessage,
    rawReply: ServerResponse,
    result: InteractionResults,
  ): Promise<string | undefined> {
    const pending = await findInteraction(userDomainId, raw, rawReply);
    // A finished request cannot be finished again.
    if (pending === undefined || pending.interaction.result !== undefined) return undefined;
    const { interaction, provider, cookies } = pending;
    // Session fixation: a copy of the cookies from before the sign-in must not resume it. So the
    // request gets another identifier, which only the response to this browser carries.
    const uid = randomBytes(interactionIdBytes).toString('base64url');
    const returnTo = interaction.returnTo.replace(interaction.uid, uid);
    await interaction.destroy();
    // oidc-provider stores a login request under its `jti`.
    Object.assign(interaction, { jti: uid, returnTo, result });
    try {
      await interaction.persist();
    } catch (error) {
      // The sessions of the user ended at the same time.
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
    const context = provider.createContext(raw, rawReply);
    const path = new URL(returnTo).pathname;
    context.cookies.set(cookies.names.resume, uid, { ...cookies.short, path });
    return returnTo;
  }

  return {
    async details(
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
    ): Promise<SignInRequest | undefined> {
      const pending = await findInteraction(userDomainId, raw, rawReply);
      if (pending === undefined) return undefined;
      const { realm, provider, interaction } = pending;
      const { params, uid } = interaction;
      const client = await provider.Client.find(String(params['client_id']));
      if (client === undefined) return undefined;
      const hint = params['login_hint'];
      return {
        uid,
        clientId: client.clientId,
        clientName: client.clientName ?? client.clientId,
        userDomainId,
        organizationId: realm.organizationId,
        scope: String(params['scope']),
        redirectUri: String(params['redirect_uri']),
        loginHint: typeof hint === 'string' ? hint : undefined,
        locales: String(params['ui_locales'] ?? '')
          .split(' ')
          .filter((locale) => locale !== ''),
      };
    },

    /** The URL to which the browser continues; undefined if the request has expired. */
    async finish(
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
      { userId, methods, provenAt = clock.now() }: AuthenticatedUser,
    ): Promise<string | undefined> {
      const previous = await sessions.current(userDomainId, raw, rawReply);
      const ts = toLoginTs(provenAt);
      const returnTo = await saveResult(userDomainId, raw, rawReply, {
        login: { accountId: userId, amr: [...methods], ts, remember: false },
      });
      if (returnTo === undefined || previous === undefined || previous.userId === userId) {
        return returnTo;
      }
      // Another user was signed in with this browser: that session ends.
      const realmProvider = await findRealmProvider(userDomainId);
      if (realmProvider !== undefined) {
        await sessions.end(realmProvider.realm.organizationId, previous.userId, previous.sessionId);
      }
      return returnTo;
    },

    /** The user cancels the sign-in. */
    deny: (
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
    ): Promise<string | undefined> =>
      saveResult(userDomainId, raw, rawReply, {
        error: 'access_denied',
        error_description: 'the sign-in was cancelled',
      }),
  };
}
