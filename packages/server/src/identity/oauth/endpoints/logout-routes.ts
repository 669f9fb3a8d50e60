// Where browsers and applications come to sign out.
import { errorCodes, Refusal } from '@switchyard/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html, readForms } from '../../../http/index.ts';
import type { RateLimits } from '../../infrastructure/rate-limits.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import type { Sessions } from '../../sessions/sessions.ts';
import type { RealmRequest } from '../provider/provider-dispatch.ts';
import type { Shown } from '../rendered-pages.ts';
import { type AuthenticateClient, basicChallenge } from './client-authentication.ts';
import { logoutEndpoints } from './endpoint-descriptions.ts';
import type { Leave, Logout, LogoutRequest } from './logout.ts';
import { refuseWith } from './oauth-routes.ts';

export type LogoutDeps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  providerOf(userDomainId: string): Promise<RealmProvider | undefined>;
  authenticateClient: AuthenticateClient;
  logout: Logout;
  sessions: Pick<Sessions, 'current'>;
  limits: RateLimits;
  shown: Shown;
};

type Form = Readonly<Record<string, string>>;
type Trouble = { readonly status: number; readonly error: string; readonly description: string };

export const logoutPath = '/protocol/openid-connect/logout';
const noStore = { 'cache-control': 'no-store' };

const noRealm: Trouble = {
  status: 404,
  error: 'invalid_request',
  description: 'unknown user domain',
};
const twice: Trouble = {
  status: 400,
  error: 'invalid_request',
  description: 'a parameter is there twice',
};
const notAsked: Trouble = {
  status: 400,
  error: 'invalid_request',
  description: 'this sign-out was not asked for in this browser',
};

function troubleOf(error: unknown): Trouble {
  if (error instanceof Refusal) {
    const { status } = errorCodes[error.code];
    const word = status < 500 ? 'invalid_request' : 'temporarily_unavailable';
    return { status, error: word, description: error.detail };
  }
  const { statusCode = 500, message } = error as FastifyError;
  if (statusCode >= 500) throw error;
  return { status: statusCode, error: 'invalid_request', description: message };
}

/** Undefined where a parameter is there twice. */
function paramsOf(request: FastifyRequest): Form | undefined {
  const { url = '' } = request.raw;
  const start = url.indexOf('?');
  const pairs = [...new URLSearchParams(start === -1 ? '' : url.slice(start + 1))];
  const names = new Set(pairs.map(([name]) => name));
  return names.size === pairs.length ? Object.fromEntries(pairs) : undefined;
}

function requestOf(params: Form): LogoutRequest {
  return {
    idTokenHint: params['id_token_hint'],
    clientId: params['client_id'],
    redirectUri: params['post_logout_redirect_uri'],
    state: params['state'],
  };
}

const accountPath = ({ issuer }: Realm) => `${new URL(issuer).pathname}/account`;

function questionForm({ issuer }: Realm, question: string): string {
  const action = `${new URL(issuer).pathname}${logoutPath}/confirm`;
  const field = html`<input type="hidden" name="question" value="${question}">`;
  return html`<form id="op.logoutForm" method="post" action="${action}">${field}</form>`.html;
}

export async function registerLogoutRoutes(app: FastifyInstance, deps: LogoutDeps): Promise<void> {
  const { findRealm, providerOf, authenticateClient, logout, sessions, limits, shown } = deps;

  function show(request: FastifyRequest, reply: FastifyReply, trouble: Trouble, realm?: string) {
    const page = shown.fault(request.raw, { ...trouble, requestId: request.id, realm });
    return reply.code(trouble.status).headers(page.headers).send(page.html);
  }

  async function leave(
    request: RealmRequest,
    reply: FastifyReply,
    realm: Realm,
    { redirectUri, isIn = false }: Leave,
  ): Promise<FastifyReply> {
    const found = await providerOf(realm.userDomainId);
    if (found !== undefined && !isIn) {
      const { provider, cookies } = found;
      const context = provider.createContext(request.raw, reply.raw);
      context.cookies.set(cookies.names?.session ?? '', null, cookies.long);
    }
    const next = redirectUri ?? (isIn ? accountPath(realm) : undefined);
    if (next !== undefined) return reply.headers(noStore).redirect(next, 303);
    const page = shown.signedOut(request.raw, { realm: realm.userDomainId });
    return reply.headers({ ...page.headers, ...noStore }).send(page.html);
  }

  /** The realm, once the request may go on; what stops it was shown. */
  async function enter(request: RealmRequest, reply: FastifyReply): Promise<Realm | undefined> {
    const wait = limits.address(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      refuseWith(reply, 429, 'temporarily_unavailable', 'too many requests');
      return undefined;
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) show(request, reply, noRealm);
    return realm;
  }

  async function byBrowser(
    request: RealmRequest,
    reply: FastifyReply,
    realm: Realm,
    params: Form,
  ): Promise<FastifyReply> {
    const { userDomainId } = realm;
    const current = await sessions.current(userDomainId, request.raw, reply.raw);
    const plan = await logout.plan(realm, requestOf(params), current);
    if (plan.kind === 'refused') {
      const trouble = { status: 400, error: 'invalid_request', description: plan.description };
      return show(request, reply, trouble, userDomainId);
    }
    if (plan.kind === 'done') return leave(request, reply, realm, plan);
    const page = shown.logout(request.raw, {
      realm: userDomainId,
      form: questionForm(realm, plan.question),
      redirectUri: plan.redirectUri,
    });
    return reply.headers({ ...page.headers, ...noStore }).send(page.html);
  }

  /** As clients of Keycloak do from their back end. */
  async function byProgram(
    request: RealmRequest,
    reply: FastifyReply,
    realm: Realm,
    form: Form,
  ): Promise<FastifyReply> {
    const { authorization } = request.headers;
    const client = await authenticateClient(realm, authorization, form);
    if (client === undefined) {
      limits.failed(request.ip);
      if (authorization !== undefined) {
        reply.header('WWW-Authenticate', basicChallenge(realm.issuer));
      }
      return refuseWith(reply, 401, 'invalid_client', 'client authentication failed');
    }
    if (!(await logout.byRefreshToken(realm, client, form['refresh_token'] ?? ''))) {
      return refuseWith(reply, 400, 'invalid_grant', 'grant request is invalid');
    }
    return reply.code(204).headers(noStore).send();
  }

  async function ask(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await enter(request, reply);
    if (realm === undefined) return reply;
    const params = paramsOf(request);
    if (params === undefined) return show(request, reply, twice, realm.userDomainId);
    const form = (request.body ?? {}) as Form;
    if (form['refresh_token'] !== undefined) return byProgram(request, reply, realm, form);
    return byBrowser(request, reply, realm, { ...params, ...form });
  }

  async function confirm(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await enter(request, reply);
    if (realm === undefined) return reply;
    const { question = '', logout: said } = (request.body ?? {}) as Form;
    const current = await sessions.current(realm.userDomainId, request.raw, reply.raw);
    const answer = await logout.confirm(realm, { question, isYes: said === 'yes' }, current);
    if (answer === undefined) return show(request, reply, notAsked, realm.userDomainId);
    return leave(request, reply, realm, answer);
  }

  await app.register((scope, _options, done) => {
    readForms(scope);
    scope.setErrorHandler((error, request, reply) => show(request, reply, troubleOf(error)));
    const url = `/auth/realms/:realm${logoutPath}`;
    const config = { described: logoutEndpoints.map((each) => ({ ...each, url })) };
    scope.route({ method: ['GET', 'POST'], url, config, exposeHeadRoute: false, handler: ask });
    scope.post(`${url}/confirm`, confirm);
    done();
  });
}
