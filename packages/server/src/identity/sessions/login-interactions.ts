// What the sign-in pages ask of the authorization server: who wants what, and that the user is in.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errors, type InteractionResults } from 'oidc-provider';
import type { Clock } from '../../platform/index.ts';
import type { RealmProvider } from './realm-provider.ts';
import { loginTsOf, type Sessions, type SignedInUser } from './sessions.ts';

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

export type Interactions = ReturnType<typeof createInteractions>;

type Deps = {
  providerOf(userDomainId: string): Promise<RealmProvider | undefined>;
  sessions: Pick<Sessions, 'current' | 'end'>;
  clock: Clock;
};

/** Where the browser is sent to sign in; the cookie of the request is good below this path alone. */
export const signInPath = (userDomainId: string, uid: string): string =>
  `/auth/realms/${userDomainId}/sign-in/${uid}`;

/** How long somebody may take to sign in: a second factor may have to be enrolled in between. */
export const signInSeconds = 1800;

export function createInteractions({ providerOf, sessions, clock }: Deps) {
  /**
   * Undefined where the request is stale or the browser's cookie belongs to another one: a link
   * into the middle of somebody else's sign-in leads nowhere.
   */
  async function open(userDomainId: string, raw: IncomingMessage, rawReply: ServerResponse) {
    const found = await providerOf(userDomainId);
    if (found === undefined) return undefined;
    try {
      const interaction = await found.provider.interactionDetails(raw, rawReply);
      const path = signInPath(userDomainId, interaction.uid);
      const [asked = ''] = (raw.url ?? '').split('?');
      if (asked !== path && !asked.startsWith(`${path}/`)) return undefined;
      return interaction.prompt.name === 'login' ? { ...found, interaction } : undefined;
    } catch (error) {
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
  }

  async function answer(
    userDomainId: string,
    raw: IncomingMessage,
    rawReply: ServerResponse,
    result: InteractionResults,
  ): Promise<string | undefined> {
    const opened = await open(userDomainId, raw, rawReply);
    // What was answered is not answered again.
    if (opened === undefined || opened.interaction.result !== undefined) return undefined;
    opened.interaction.result = result;
    try {
      await opened.interaction.persist();
    } catch (error) {
      // All that the user had proven was ended while the answer was on its way.
      if (error instanceof errors.SessionNotFound) return undefined;
      throw error;
    }
    return opened.interaction.returnTo;
  }

  return {
    async details(
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
    ): Promise<SignInRequest | undefined> {
      const opened = await open(userDomainId, raw, rawReply);
      if (opened === undefined) return undefined;
      const { realm, provider, interaction } = opened;
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
      { userId, methods, provenAt = clock.now() }: SignedInUser,
    ): Promise<string | undefined> {
      const before = await sessions.current(userDomainId, raw, rawReply);
      const ts = loginTsOf(provenAt);
      const returnTo = await answer(userDomainId, raw, rawReply, {
        login: { accountId: userId, amr: [...methods], ts, remember: false },
      });
      if (returnTo === undefined || before === undefined || before.userId === userId) {
        return returnTo;
      }
      // Somebody else sits here now: the one before is signed out.
      const found = await providerOf(userDomainId);
      if (found !== undefined) {
        await sessions.end(found.realm.organizationId, before.userId, before.sessionId);
      }
      return returnTo;
    },

    /** The person does not want to sign in. */
    deny: (
      userDomainId: string,
      raw: IncomingMessage,
      rawReply: ServerResponse,
    ): Promise<string | undefined> =>
      answer(userDomainId, raw, rawReply, {
        error: 'access_denied',
        error_description: 'the sign-in was cancelled',
      }),
  };
}
