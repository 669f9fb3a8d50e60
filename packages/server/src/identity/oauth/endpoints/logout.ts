// Signs a user out at an application's wish: OpenID Connect RP-Initiated Logout, and Keycloak's POST.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Clock, deriveKey } from '../../../platform/index.ts';
import type { Application } from '../../clients/application.ts';
import type { Applications } from '../../clients/applications.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { CurrentSession, Sessions } from '../../sessions/sessions.ts';
import { readJwt } from '../../tokens/realm-jwt.ts';
import { readRefreshToken } from '../../tokens/refresh-token.ts';
import type { Families } from '../../tokens/refresh-token-families.ts';
import { idTokenType } from '../../tokens/token-claims.ts';

/** How long the question may stand in the browser. */
const questionMs = 600_000;

export type LogoutRequest = {
  readonly idTokenHint?: string | undefined;
  readonly clientId?: string | undefined;
  readonly redirectUri?: string | undefined;
  readonly state?: string | undefined;
};

/** Where the browser goes afterwards: back to the application, or to the last page of ours. */
export type Leave = {
  readonly redirectUri?: string | undefined;
  /** The person thought better of it. */
  readonly isIn?: boolean;
};
export type LogoutPlan =
  | { readonly kind: 'refused'; readonly description: string }
  | ({ readonly kind: 'done' } & Leave)
  /** `question` comes back with the answer; nobody else can make one. */
  | ({ readonly kind: 'ask'; readonly question: string } & Leave);

export type Logout = ReturnType<typeof createLogout>;

type Deps = {
  sessions: Pick<Sessions, 'end'>;
  families: Pick<Families, 'find'>;
  findApplication: Applications['find'];
  masterKey: Buffer;
  clock: Clock;
};

type Hint = { readonly sub: string; readonly azp: string; readonly sid: string };
type Question = Leave & {
  readonly realm: string;
  readonly sessionId: string;
  readonly goodUntil: number;
};

/** At any age: it says who is to be signed out, and is no key to anything. */
function readHint(realm: Realm, token: string): Hint | undefined {
  const claims = readJwt(realm, token);
  // What the realm signed as an ID token has these claims.
  return claims?.['typ'] === idTokenType ? (claims as Hint) : undefined;
}

/** Exactly one that is registered for coming back, or the front page of a registered origin. */
function mayLeaveTo({ redirectUris, webOrigins }: Application, uri: string): boolean {
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

  function ask(question: Question): string {
    const text = Buffer.from(JSON.stringify(question)).toString('base64url');
    return `${text}.${macOf(text).toString('base64url')}`;
  }

  function readQuestion(given: string): Question | undefined {
    const [text = '', mac = ''] = given.split('.');
    const shown = Buffer.from(mac, 'base64url');
    const expected = macOf(text);
    if (shown.length !== expected.length || !timingSafeEqual(shown, expected)) return undefined;
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Question;
  }

  /** The client that asks; undefined where it is not known or the two names of it differ. */
  async function clientOf(
    { organizationId }: Realm,
    hint: Hint | undefined,
    named: string | undefined,
  ): Promise<Application | undefined> {
    const clientId = hint?.azp ?? named;
    if (clientId === undefined || (named !== undefined && named !== clientId)) return undefined;
    const application = await findApplication(organizationId, clientId);
    return application?.status === 'Enabled' ? application : undefined;
  }

  /** The sign-in that the hint speaks of, also where its browser has forgotten it. */
  async function endByHint({ organizationId }: Realm, hint: Hint): Promise<void> {
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
      const hint = idTokenHint === undefined ? undefined : readHint(realm, idTokenHint);
      if (idTokenHint !== undefined && hint === undefined) {
        return { kind: 'refused', description: 'the id_token_hint is not one of this user domain' };
      }
      const client = await clientOf(realm, hint, clientId);
      if (client === undefined && (hint !== undefined || clientId !== undefined)) {
        return { kind: 'refused', description: 'the application is not known' };
      }
      if (redirectUri !== undefined && client === undefined) {
        return { kind: 'refused', description: 'nobody says which application this is for' };
      }
      if (client !== undefined && redirectUri !== undefined && !mayLeaveTo(client, redirectUri)) {
        return { kind: 'refused', description: 'the post_logout_redirect_uri is not registered' };
      }
      const leave = { redirectUri: withState(redirectUri, state) };
      if (hint !== undefined && (current === undefined || hint.sub === current.userId)) {
        await endByHint(realm, hint);
        if (current !== undefined) {
          await sessions.end(realm.organizationId, current.userId, current.sessionId);
        }
        return { kind: 'done', ...leave };
      }
      if (current === undefined) return { kind: 'done', ...leave };
      const question = ask({
        ...leave,
        realm: realm.userDomainId,
        sessionId: current.sessionId,
        goodUntil: clock.now() + questionMs,
      });
      return { kind: 'ask', question, ...leave };
    },

    /** What the person said; undefined where the question was not put to this browser just now. */
    async confirm(
      realm: Realm,
      answer: { readonly question: string; readonly isYes: boolean },
      current: CurrentSession | undefined,
    ): Promise<Leave | undefined> {
      const question = readQuestion(answer.question);
      if (question?.realm !== realm.userDomainId || question.goodUntil < clock.now()) {
        return undefined;
      }
      // Signed out meanwhile, by another tab.
      if (current === undefined) return question;
      if (question.sessionId !== current.sessionId) return undefined;
      if (!answer.isYes) return { ...question, isIn: true };
      await sessions.end(realm.organizationId, current.userId, current.sessionId);
      return question;
    },

    /** Without a browser: the application shows its refresh token. False where that is no good. */
    async byRefreshToken(realm: Realm, client: Application, token: string): Promise<boolean> {
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
