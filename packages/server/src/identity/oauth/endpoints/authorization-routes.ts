// The authorization endpoint for browsers: both paths, GET and POST, and the return from the login
// pages.
import { errorCodes, ProblemError } from '@switchyard/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { providerPaths } from '../provider/provider-configuration.ts';
import {
  dispatchToProvider,
  type ProviderListener,
  type RealmRequest,
} from '../provider/provider-dispatch.ts';
import type { PageRenderer } from '../rendered-pages.ts';
import { authorizationEndpoints, authorizationEndpointsInRealm } from './endpoint-descriptions.ts';

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  findListener(realm: Realm): ProviderListener;
  verifySecret(organizationId: string, clientId: string, secret: string): Promise<boolean>;
  limits: OAuthEndpointLimits;
  pageRenderer: PageRenderer;
};

type OauthError = { readonly status: number; readonly error: string; readonly description: string };

const bodyLimitBytes = 56 * 1024;
const methods = ['GET', 'POST'] as const;
const tooManyRequests: OauthError = {
  status: 429,
  error: 'temporarily_unavailable',
  description: 'too many requests',
};
const unknownRealm: OauthError = {
  status: 404,
  error: 'invalid_request',
  description: 'unknown user domain',
};
const wrongSecret: OauthError = {
  status: 401,
  error: 'invalid_client',
  description: 'client authentication failed',
};
const wrongMethod: OauthError = {
  status: 405,
  error: 'invalid_request',
  description: 'the method is not allowed for this path',
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

/** With POST, parameters may come in the URL, the form, or both. */
function requestParams(request: FastifyRequest): URLSearchParams {
  const { url = '' } = request.raw;
  const start = url.indexOf('?');
  const params = new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
  if (typeof request.body === 'string') {
    for (const [name, value] of new URLSearchParams(request.body)) params.append(name, value);
  }
  return params;
}

export async function registerAuthorizationRoutes(app: FastifyInstance, deps: Deps): Promise<void> {
  const { findRealm, findListener, verifySecret, limits, pageRenderer } = deps;

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

  /** The realm; undefined after a response was sent (rate limit, unknown realm). */
  async function findRealmOrReply(
    request: RealmRequest,
    reply: FastifyReply,
  ): Promise<Realm | undefined> {
    const wait = limits.checkAddress(request.ip);
    if (wait !== undefined) {
      sendErrorPage(request, reply.header('Retry-After', String(wait)), tooManyRequests);
      return undefined;
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) sendErrorPage(request, reply, unknownRealm);
    return realm;
  }

  /** Only this endpoint accepts a secret in the URL: it is checked and removed. */
  async function checkAndRemoveSecret(realm: Realm, params: URLSearchParams): Promise<boolean> {
    const secrets = params.getAll('client_secret');
    const clients = params.getAll('client_id');
    params.delete('client_secret');
    const [secret = '', ...moreSecrets] = secrets;
    const [clientId = '', ...moreClients] = clients;
    if (secrets.length === 0 || (secret === '' && moreSecrets.length === 0)) return true;
    if (moreSecrets.length > 0 || moreClients.length > 0) return false;
    return verifySecret(realm.organizationId, clientId, secret);
  }

  async function authorize(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await findRealmOrReply(request, reply);
    if (realm === undefined) return reply;
    const params = requestParams(request);
    if (!(await checkAndRemoveSecret(realm, params))) {
      limits.countFailure(request.ip);
      return sendErrorPage(request, reply, wrongSecret, realm.userDomainId);
    }
    request.raw.method = 'GET';
    await dispatchToProvider(
      findListener(realm),
      `${providerPaths.authorization}?${params}`,
      request,
      reply,
    );
    return reply;
  }

  async function resume(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await findRealmOrReply(request, reply);
    if (realm === undefined) return reply;
    const { uid = '' } = request.params as { uid?: string };
    const providerPath = `${providerPaths.authorization}/${encodeURIComponent(uid)}`;
    await dispatchToProvider(findListener(realm), providerPath, request, reply);
    return reply;
  }

  const sendMethodNotAllowed = async (request: FastifyRequest, reply: FastifyReply) =>
    sendErrorPage(request, reply.header('Allow', methods.join(', ')), wrongMethod);

  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: bodyLimitBytes },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.setErrorHandler((error, request, reply) =>
      sendErrorPage(request, reply, oauthErrorOf(error)),
    );
    const inRealm = `/auth/realms/:realm${providerPaths.authorization}`;
    for (const [url, described] of [
      ['/oauth2/v1/:realm/auth', authorizationEndpoints],
      [inRealm, authorizationEndpointsInRealm],
    ] as const) {
      const config = { describedRoutes: described.map((endpoint) => ({ ...endpoint, url })) };
      const shared = { url, exposeHeadRoute: false, handler: authorize };
      scope.route({ ...shared, method: [...methods], config });
      scope.route({
        method: ['HEAD', 'PUT', 'PATCH', 'DELETE'],
        url,
        handler: sendMethodNotAllowed,
      });
    }
    scope.route({ method: 'GET', url: `${inRealm}/:uid`, exposeHeadRoute: false, handler: resume });
    done();
  });
}
