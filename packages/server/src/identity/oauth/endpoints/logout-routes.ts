// The routes of the logout endpoint, for browsers and for back ends.
import { errorCodes, ProblemError } from '@switchyard/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { acceptFormBodies, html } from '../../../http/index.ts';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import type { Sessions } from '../../sessions/sessions.ts';
import type { RealmRequest } from '../provider/provider-dispatch.ts';
import type { PageRenderer } from '../rendered-pages.ts';
import { type AuthenticateClient, basicChallenge } from './client-authentication.ts';
import { logoutEndpoints } from './endpoint-descriptions.ts';
import type { Logout, LogoutDestination, LogoutRequest } from './logout.ts';
import { sendOauthError } from './oauth-routes.ts';

export type LogoutRouteDeps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  findRealmProvider(userDomainId: string): Promise<RealmProvider | undefined>;
  authenticateClient: AuthenticateClient;
  logout: Logout;
  sessions: Pick<Sessions, 'current'>;
  limits: OAuthEndpointLimits;
  pageRenderer: PageRenderer;
};

type Form = Readonly<Record<string, string>>;
type OauthError = { readonly status: number; readonly error: string; readonly description: string };

export const logoutPath = '/protocol/openid-connect/logout';
const noStore = { 'cache-control': 'no-store' };

const unknownRealm: OauthError = {
  status: 404,
  error: 'invalid_request',
  description: 'unknown user domain',
};
const repeatedParameter: OauthError = {
  status: 400,
  error: 'invalid_request',
  description: 'a parameter is repeated',
};
const unknownConfirmation: OauthError = {
  status: 400,
  error: 'invalid_request',
  description: 'this browser did not start the sign-out, or the confirmation has expired',
};

function oauthErrorOf(error: unknown): OauthError {
  if (error instanceof ProblemError) {
    const { status } = errorCodes[error.code];
    const word = status < 500 ? 'invalid_request' : 'temporarily_unavailable';
    return { status, error: word, description: error.detail };
  }
  const { statusCode = 500, message } = error as FastifyError;
  if (statusCode >= 500) throw error;
  return { status: statusCode, error: 'invalid_request', description: message };
}

/** Undefined if a parameter is repeated. */
function queryParams(request: FastifyRequest): Form | undefined {
  const { url = '' } = request.raw;
  const start = url.indexOf('?');
  const pairs = [...new URLSearchParams(start === -1 ? '' : url.slice(start + 1))];
  const names = new Set(pairs.map(([name]) => name));
  return names.size === pairs.length ? Object.fromEntries(pairs) : undefined;
}

function logoutRequestOf(params: Form): LogoutRequest {
  return {
    idTokenHint: params['id_token_hint'],
    clientId: params['client_id'],
    redirectUri: params['post_logout_redirect_uri'],
    state: params['state'],
  };
}

const accountPath = ({ issuer }: Realm) => `${new URL(issuer).pathname}/account`;

function confirmationForm({ issuer }: Realm, question: string): string {
  const action = `${new URL(issuer).pathname}${logoutPath}/confirm`;
  const field = html`<input type="hidden" name="question" value="${question}">`;
  return html`<form id="op.logoutForm" method="post" action="${action}">${field}</form>`.html;
}

export async function registerLogoutRoutes(
  app: FastifyInstance,
  deps: LogoutRouteDeps,
): Promise<void> {
  const {
    findRealm,
    findRealmProvider,
    authenticateClient,
    logout,
    sessions,
    limits,
    pageRenderer,
  } = deps;

  function sendErrorPage(
    request: FastifyRequest,
    reply: FastifyReply,
    oauthError: OauthError,
    realm?: string,
  ) {
    const page = pageRenderer.errorPage(request.raw, {
      ...oauthError,
      requestId: request.id,
      realm,
    });
    return reply.code(oauthError.status).headers(page.headers).send(page.html);
  }

  async function finishLogout(
    request: RealmRequest,
    reply: FastifyReply,
    realm: Realm,
    { redirectUri, isStillSignedIn = false }: LogoutDestination,
  ): Promise<FastifyReply> {
    const realmProvider = await findRealmProvider(realm.userDomainId);
    if (realmProvider !== undefined && !isStillSignedIn) {
      const { provider, cookies } = realmProvider;
      const context = provider.createContext(request.raw, reply.raw);
      context.cookies.set(cookies.names?.session ?? '', null, cookies.long);
    }
    const next = redirectUri ?? (isStillSignedIn ? accountPath(realm) : undefined);
    if (next !== undefined) return reply.headers(noStore).redirect(next, 303);
    const page = pageRenderer.signedOutPage(request.raw, { realm: realm.userDomainId });
    return reply.headers({ ...page.headers, ...noStore }).send(page.html);
  }

  /** The realm; undefined after a response was sent (rate limit, unknown realm). */
  async function findRealmOrReply(
    request: RealmRequest,
    reply: FastifyReply,
  ): Promise<Realm | undefined> {
    const wait = limits.checkAddress(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      sendOauthError(reply, 429, 'temporarily_unavailable', 'too many requests');
      return undefined;
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) sendErrorPage(request, reply, unknownRealm);
    return realm;
  }

  async function logoutBrowser(
    request: RealmRequest,
    reply: FastifyReply,
    realm: Realm,
    params: Form,
  ): Promise<FastifyReply> {
    const { userDomainId } = realm;
    const current = await sessions.current(userDomainId, request.raw, reply.raw);
    const plan = await logout.plan(realm, logoutRequestOf(params), current);
    if (plan.kind === 'refused') {
      const oauthError = { status: 400, error: 'invalid_request', description: plan.description };
      return sendErrorPage(request, reply, oauthError, userDomainId);
    }
    if (plan.kind === 'done') return finishLogout(request, reply, realm, plan);
    const page = pageRenderer.logoutPage(request.raw, {
      realm: userDomainId,
      form: confirmationForm(realm, plan.confirmation),
      redirectUri: plan.redirectUri,
    });
    return reply.headers({ ...page.headers, ...noStore }).send(page.html);
  }

  /** Logout from a back end, as in Keycloak. */
  async function logoutClient(
    request: RealmRequest,
    reply: FastifyReply,
    realm: Realm,
    form: Form,
  ): Promise<FastifyReply> {
    const { authorization } = request.headers;
    const client = await authenticateClient(realm, authorization, form);
    if (client === undefined) {
      limits.countFailure(request.ip);
      if (authorization !== undefined) {
        reply.header('WWW-Authenticate', basicChallenge(realm.issuer));
      }
      return sendOauthError(reply, 401, 'invalid_client', 'client authentication failed');
    }
    if (!(await logout.endByRefreshToken(realm, client, form['refresh_token'] ?? ''))) {
      return sendOauthError(reply, 400, 'invalid_grant', 'grant request is invalid');
    }
    return reply.code(204).headers(noStore).send();
  }

  async function startLogout(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await findRealmOrReply(request, reply);
    if (realm === undefined) return reply;
    const params = queryParams(request);
    if (params === undefined)
      return sendErrorPage(request, reply, repeatedParameter, realm.userDomainId);
    const form = (request.body ?? {}) as Form;
    if (form['refresh_token'] !== undefined) return logoutClient(request, reply, realm, form);
    return logoutBrowser(request, reply, realm, { ...params, ...form });
  }

  async function confirm(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await findRealmOrReply(request, reply);
    if (realm === undefined) return reply;
    const { question: confirmation = '', logout: choice } = (request.body ?? {}) as Form;
    const current = await sessions.current(realm.userDomainId, request.raw, reply.raw);
    const outcome = await logout.confirm(realm, { confirmation, isYes: choice === 'yes' }, current);
    if (outcome === undefined)
      return sendErrorPage(request, reply, unknownConfirmation, realm.userDomainId);
    return finishLogout(request, reply, realm, outcome);
  }

  await app.register((scope, _options, done) => {
    acceptFormBodies(scope);
    scope.setErrorHandler((error, request, reply) =>
      sendErrorPage(request, reply, oauthErrorOf(error)),
    );
    const url = `/auth/realms/:realm${logoutPath}`;
    const config = { describedRoutes: logoutEndpoints.map((endpoint) => ({ ...endpoint, url })) };
    scope.route({
      method: ['GET', 'POST'],
      url,
      config,
      exposeHeadRoute: false,
      handler: startLogout,
    });
    scope.post(`${url}/confirm`, confirm);
    done();
  });
}
