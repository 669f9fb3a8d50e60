// What the sign-in pages ask of the authorization server: who wants what, and that the user is in.
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
  /** The checked one. */
  readonly redirectUri: string;
  readonly loginHint?: string | undefined;
  /** As the application asked for them, the best first. */
  readonly locales: readonly string[];
};

export type LoginInteractions = ReturnType<typeof createLoginInteractions>;

type Deps = {
  findRealmProvider(userDomainId: string): Promise<RealmProvider | undefined>;
  sessions: Pick<Sessions, 'current' | 'end'>;
  clock: Clock;
};

/** Where the browser is sent to sign in; the cookie of the request is good below this path alone. */
export const signInPath = (userDomainId: string, uid: string): string =>
  `/auth/realms/${userDomainId}/sign-in/${uid}`;

/** How long somebody may take to sign in: a second factor may have to be enrolled in between. */
export const signInTimeoutSeconds = 1800;

export function createLoginInteractions({ findRealmProvider, sessions, clock }: Deps) {
  /**
   * Undefined where the request is stale or the browser's cookie belongs to another one: a link
   * into the middle of somebody else's sign-in leads nowhere.
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
    // What was answered is not answered again.
    if (pending === undefined || pending.interaction.result !== undefined) return undefined;
    pending.interaction.result = result;
    try {
      await pending.interaction.persist();
    } catch (error) {
      // All that the user had proven was ended while the answer was on its way.
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
    return pending.interaction.returnTo;
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

    /** Where to send the browser; undefined where the request went stale meanwhile. */
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
      // Somebody else sits here now: the one before is signed out.
      const realmProvider = await findRealmProvider(userDomainId);
      if (realmProvider !== undefined) {
        await sessions.end(realmProvider.realm.organizationId, previous.userId, previous.sessionId);
      }
      return returnTo;
    },

    /** The person does not want to sign in. */
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
