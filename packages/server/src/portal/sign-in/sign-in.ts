// Handles sign-in and sign-out with an authorization code; the browser never gets a token.
import type { PortalSignedOut } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditRecorder } from '../../audit/index.ts';
import {
  type Identity,
  type PortalSignIn,
  type PortalSite,
  portalCallbackPath,
  portalClientId,
  portalPath,
} from '../../identity/index.ts';
import type { Ids, Queries } from '../../platform/index.ts';
import type { MessageName } from '../pages/message-page.ts';
import { sendMessagePage } from '../pages/message-page.ts';
import {
  browserCookie,
  dropSession,
  readCookie,
  sessionCookie,
  setBrowser,
  setSession,
} from '../sessions/cookies.ts';
import { type PortalSession, parseSessionCookie, type Sessions } from '../sessions/sessions.ts';
import { portalPathOf, type SignInStates } from './sign-in-state.ts';

export const signInPath = `${portalPath}/sign-in`;
/** The sign-in page that asks for the user domain, if the address does not name it. */
const entryPath = '/auth/sign-in';
const browserForm = /^[\w-]{43}$/;
const noStore = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' };

export type SignInQuery = {
  readonly to?: string;
  readonly domain?: string;
  readonly login_hint?: string;
};
export type CallbackQuery = {
  readonly code?: string;
  readonly state?: string;
  readonly error?: string;
  readonly iss?: string;
};

type Deps = {
  readonly identity: Pick<Identity, 'portalAuthorization'>;
  readonly audit: Pick<AuditRecorder, 'record'>;
  readonly sessions: Sessions;
  readonly signInStates: SignInStates;
  readonly ids: Ids;
  readonly authUrl: string;
};

type AuditedSession = Pick<
  PortalSession,
  'organizationId' | 'sessionId' | 'userId' | 'signInId' | 'origin'
>;

export function createSignIn({ identity, audit, sessions, signInStates, ids, authUrl }: Deps) {
  const { portalAuthorization: portal } = identity;

  /** Returns the browser of the cookie, or sets the cookie of a new browser. */
  function browserOf({ raw }: FastifyRequest, reply: FastifyReply): string {
    const cookie = readCookie(raw, browserCookie);
    if (cookie !== undefined && browserForm.test(cookie)) return cookie;
    const browser = ids.secret();
    setBrowser(reply.raw, browser);
    return browser;
  }

  const redirectTo = (reply: FastifyReply, address: string): FastifyReply =>
    reply.headers(noStore).redirect(address, 303);

  const redirectToDomainForm = (reply: FastifyReply, to: string): FastifyReply =>
    redirectTo(reply, `${authUrl}${entryPath}/${Buffer.from(to).toString('base64url')}`);

  const auditRecorder =
    (action: string, requestId: string) =>
    (trx: Queries, session: AuditedSession): Promise<void> =>
      audit.record(trx, {
        actor: { subject: session.userId, clientId: portalClientId, kind: 'User' },
        requestId,
        organizationId: session.organizationId,
        action: `portalSession.${action}`,
        entity: { type: 'portalSession', id: session.sessionId },
        after: { userId: session.userId, signInId: session.signInId, portal: session.origin },
      });

  /** A new sign-in replaces the previous session of this browser. */
  async function endPreviousSession(request: FastifyRequest): Promise<void> {
    const former = readCookie(request.raw, sessionCookie);
    const at = former === undefined ? undefined : parseSessionCookie(former);
    if (at !== undefined) await sessions.forget(at);
  }

  async function startSession(
    request: FastifyRequest,
    reply: FastifyReply,
    site: PortalSite,
    signIn: PortalSignIn,
  ): Promise<void> {
    await endPreviousSession(request);
    const recordAudit = auditRecorder('signedIn', request.id);
    const { cookie } = await sessions.begin(signIn, site.origin, recordAudit);
    setSession(reply.raw, cookie);
  }

  return {
    async begin(
      request: FastifyRequest,
      reply: FastifyReply,
      site: PortalSite,
      query: SignInQuery,
    ): Promise<FastifyReply> {
      const { origin } = site;
      const to = portalPathOf(query.to, origin);
      const userDomainId = site.userDomainId ?? query.domain?.toLowerCase();
      if (userDomainId === undefined) return redirectToDomainForm(reply, to);
      const browser = browserOf(request, reply);
      const begun = signInStates.begin(browser, origin, { userDomainId, to });
      const address = await portal.signInUrl(userDomainId, {
        ...begun,
        redirectUri: origin + portalCallbackPath,
        loginHint: query.login_hint,
      });
      if (address !== undefined) return redirectTo(reply, address);
      if (site.userDomainId !== undefined) return sendMessagePage(request, reply, 'unknownClient');
      return redirectToDomainForm(reply, to);
    },

    async callback(
      request: FastifyRequest,
      reply: FastifyReply,
      { origin, ...site }: PortalSite,
      query: CallbackQuery,
    ): Promise<FastifyReply> {
      const sendFailure = (name: MessageName, to = portalPath) =>
        sendMessagePage(request, reply, name, {
          link: { address: `${signInPath}?${new URLSearchParams({ to })}` },
        });
      const browser = readCookie(request.raw, browserCookie) ?? '';
      const flow = signInStates.read(browser, origin, query.state ?? '');
      if (flow === undefined) return sendFailure('stale');
      const { to, userDomainId, verifier, nonce } = flow;
      if (query.error !== undefined) {
        return sendFailure(query.error === 'access_denied' ? 'denied' : 'failed', to);
      }
      const signIn = await portal.redeemCode(userDomainId, {
        code: query.code ?? '',
        verifier,
        nonce,
        issuer: query.iss,
        redirectUri: origin + portalCallbackPath,
      });
      if (signIn === undefined) return sendFailure('failed', to);
      await startSession(request, reply, { origin, ...site }, signIn);
      return redirectTo(reply, to);
    },

    /** Ends the session here and at the realm, so that the next user must sign in. */
    async out(
      request: FastifyRequest,
      reply: FastifyReply,
      session: PortalSession,
    ): Promise<PortalSignedOut> {
      const recordAudit = auditRecorder('signedOut', request.id);
      await sessions.end(session, (trx) => recordAudit(trx, session));
      dropSession(reply.raw);
      const location = await portal.signedOutUrl(session.userDomainId);
      return { location: location ?? signInPath };
    },
  };
}
