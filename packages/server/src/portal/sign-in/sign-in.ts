// Handles sign-in and sign-out with an authorization code; the browser never gets a token.
import type { PortalSignedOut } from '@switchyard/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import type { AuditRecorder } from '../../audit/index.ts';
import {
  type Identity,
  type PortalSignIn,
  type PortalSite,
  portalCallbackPath,
  portalClientId,
  portalPath,
} from '../../identity/index.ts';
import type { Ids } from '../../platform/index.ts';
import { sendNotice } from '../pages/message-page.ts';
import type { NoticeName } from '../pages/message-texts.ts';
import {
  browserCookie,
  dropSession,
  readCookie,
  sessionCookie,
  setBrowser,
  setSession,
} from '../sessions/cookies.ts';
import { keyOf, type PortalSession, type Sessions } from '../sessions/sessions.ts';
import { type Flows, ownAddress } from './sign-in-state.ts';

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
  readonly flows: Flows;
  readonly ids: Ids;
  readonly authUrl: string;
};

type Told = Pick<PortalSession, 'organizationId' | 'sessionId' | 'userId' | 'signInId' | 'origin'>;

export function createSignIn({ identity, audit, sessions, flows, ids, authUrl }: Deps) {
  const { portalAuthorization: portal } = identity;

  /** Returns the browser of the cookie, or sets the cookie of a new browser. */
  function browserOf({ raw }: FastifyRequest, reply: FastifyReply): string {
    const known = readCookie(raw, browserCookie);
    if (known !== undefined && browserForm.test(known)) return known;
    const browser = ids.secret();
    setBrowser(reply.raw, browser);
    return browser;
  }

  const goTo = (reply: FastifyReply, address: string): FastifyReply =>
    reply.headers(noStore).redirect(address, 303);

  const askDomain = (reply: FastifyReply, to: string): FastifyReply =>
    goTo(reply, `${authUrl}${entryPath}/${Buffer.from(to).toString('base64url')}`);

  const telling =
    (action: string, requestId: string) =>
    (trx: Kysely<unknown>, session: Told): Promise<void> =>
      audit.record(trx, {
        actor: { subject: session.userId, clientId: portalClientId, kind: 'User' },
        requestId,
        organizationId: session.organizationId,
        action: `portalSession.${action}`,
        entity: { type: 'portalSession', id: session.sessionId },
        after: { userId: session.userId, signInId: session.signInId, portal: session.origin },
      });

  /** A new sign-in replaces the previous session of this browser. */
  async function endFormer(request: FastifyRequest): Promise<void> {
    const former = readCookie(request.raw, sessionCookie);
    const at = former === undefined ? undefined : keyOf(former);
    if (at !== undefined) await sessions.forget(at);
  }

  async function letIn(
    request: FastifyRequest,
    reply: FastifyReply,
    place: PortalSite,
    signIn: PortalSignIn,
  ): Promise<void> {
    await endFormer(request);
    const tell = telling('signedIn', request.id);
    const { cookie } = await sessions.begin(signIn, place.origin, tell);
    setSession(reply.raw, cookie);
  }

  return {
    async begin(
      request: FastifyRequest,
      reply: FastifyReply,
      place: PortalSite,
      query: SignInQuery,
    ): Promise<FastifyReply> {
      const { origin } = place;
      const to = ownAddress(query.to, origin);
      const userDomainId = place.userDomainId ?? query.domain?.toLowerCase();
      if (userDomainId === undefined) return askDomain(reply, to);
      const browser = browserOf(request, reply);
      const begun = flows.begin(browser, origin, { userDomainId, to });
      const address = await portal.signInUrl(userDomainId, {
        ...begun,
        redirectUri: origin + portalCallbackPath,
        loginHint: query.login_hint,
      });
      if (address !== undefined) return goTo(reply, address);
      if (place.userDomainId !== undefined) return sendNotice(request, reply, 'unknownClient');
      return askDomain(reply, to);
    },

    async callback(
      request: FastifyRequest,
      reply: FastifyReply,
      { origin, ...place }: PortalSite,
      query: CallbackQuery,
    ): Promise<FastifyReply> {
      const refuseWith = (name: NoticeName, to = portalPath) =>
        sendNotice(request, reply, name, {
          way: { address: `${signInPath}?${new URLSearchParams({ to })}` },
        });
      const browser = readCookie(request.raw, browserCookie) ?? '';
      const flow = flows.read(browser, origin, query.state ?? '');
      if (flow === undefined) return refuseWith('stale');
      const { to, userDomainId, verifier, nonce } = flow;
      if (query.error !== undefined) {
        return refuseWith(query.error === 'access_denied' ? 'denied' : 'failed', to);
      }
      const signIn = await portal.redeemCode(userDomainId, {
        code: query.code ?? '',
        verifier,
        nonce,
        issuer: query.iss,
        redirectUri: origin + portalCallbackPath,
      });
      if (signIn === undefined) return refuseWith('failed', to);
      await letIn(request, reply, { origin, ...place }, signIn);
      return goTo(reply, to);
    },

    /** Ends the session here and at the realm, so that the next user must sign in. */
    async out(
      request: FastifyRequest,
      reply: FastifyReply,
      session: PortalSession,
    ): Promise<PortalSignedOut> {
      const tell = telling('signedOut', request.id);
      await sessions.end(session, (trx) => tell(trx, session));
      dropSession(reply.raw);
      const location = await portal.signedOutUrl(session.userDomainId);
      return { location: location ?? signInPath };
    },
  };
}
