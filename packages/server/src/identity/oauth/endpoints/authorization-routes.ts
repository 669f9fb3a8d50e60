// Where applications send browsers to sign in: both spellings, by GET and by POST, and the way back.
import { errorCodes, Refusal } from '@switchyard/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RateLimits } from '../../infrastructure/rate-limits.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import { innerPaths } from '../provider/provider-configuration.ts';
import { type Listener, passOn, type RealmRequest } from '../provider/provider-dispatch.ts';
import type { Shown } from '../rendered-pages.ts';
import { authorizationEndpoints, authorizationInRealm } from './endpoint-descriptions.ts';

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  listenerOf(realm: Realm): Listener;
  checkSecret(organizationId: string, clientId: string, secret: string): Promise<boolean>;
  limits: RateLimits;
  shown: Shown;
};

type Trouble = { readonly status: number; readonly error: string; readonly description: string };

const bodyLimitBytes = 56 * 1024;
const methods = ['GET', 'POST'] as const;
const tooMany: Trouble = {
  status: 429,
  error: 'temporarily_unavailable',
  description: 'too many requests',
};
const noRealm: Trouble = {
  status: 404,
  error: 'invalid_request',
  description: 'unknown user domain',
};
const wrongSecret: Trouble = {
  status: 401,
  error: 'invalid_client',
  description: 'client authentication failed',
};
const wrongMethod: Trouble = {
  status: 405,
  error: 'invalid_request',
  description: 'this method is not allowed here',
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

/** By POST the parameters may stand in the address, in a form, or in both. */
function paramsOf(request: FastifyRequest): URLSearchParams {
  const { url = '' } = request.raw;
  const start = url.indexOf('?');
  const asked = new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
  if (typeof request.body === 'string') {
    for (const [name, value] of new URLSearchParams(request.body)) asked.append(name, value);
  }
  return asked;
}

export async function registerAuthorizationRoutes(app: FastifyInstance, deps: Deps): Promise<void> {
  const { findRealm, listenerOf, checkSecret, limits, shown } = deps;

  function show(request: FastifyRequest, reply: FastifyReply, trouble: Trouble, realm?: string) {
    const page = shown.fault(request.raw, { ...trouble, requestId: request.id, realm });
    return reply.code(trouble.status).headers(page.headers).send(page.html);
  }

  /** The realm, once the request may go on; what stops it was shown. */
  async function enter(request: RealmRequest, reply: FastifyReply): Promise<Realm | undefined> {
    const wait = limits.address(request.ip);
    if (wait !== undefined) {
      show(request, reply.header('Retry-After', String(wait)), tooMany);
      return undefined;
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) show(request, reply, noRealm);
    return realm;
  }

  /** On this endpoint alone a secret may stand in the address: it is checked and goes no further. */
  async function takeSecret(realm: Realm, params: URLSearchParams): Promise<boolean> {
    const secrets = params.getAll('client_secret');
    const clients = params.getAll('client_id');
    params.delete('client_secret');
    const [secret = '', ...moreSecrets] = secrets;
    const [clientId = '', ...moreClients] = clients;
    if (secrets.length === 0 || (secret === '' && moreSecrets.length === 0)) return true;
    if (moreSecrets.length > 0 || moreClients.length > 0) return false;
    return checkSecret(realm.organizationId, clientId, secret);
  }

  async function authorize(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await enter(request, reply);
    if (realm === undefined) return reply;
    const params = paramsOf(request);
    if (!(await takeSecret(realm, params))) {
      limits.failed(request.ip);
      return show(request, reply, wrongSecret, realm.userDomainId);
    }
    request.raw.method = 'GET';
    await passOn(listenerOf(realm), `${innerPaths.authorization}?${params}`, request, reply);
    return reply;
  }

  async function resume(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const realm = await enter(request, reply);
    if (realm === undefined) return reply;
    const { uid = '' } = request.params as { uid?: string };
    const inner = `${innerPaths.authorization}/${encodeURIComponent(uid)}`;
    await passOn(listenerOf(realm), inner, request, reply);
    return reply;
  }

  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply) =>
    show(request, reply.header('Allow', methods.join(', ')), wrongMethod);

  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: bodyLimitBytes },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.setErrorHandler((error, request, reply) => show(request, reply, troubleOf(error)));
    const inRealm = `/auth/realms/:realm${innerPaths.authorization}`;
    for (const [url, described] of [
      ['/oauth2/v1/:realm/auth', authorizationEndpoints],
      [inRealm, authorizationInRealm],
    ] as const) {
      const config = { described: described.map((each) => ({ ...each, url })) };
      const shared = { url, exposeHeadRoute: false, handler: authorize };
      scope.route({ ...shared, method: [...methods], config });
      scope.route({ method: ['HEAD', 'PUT', 'PATCH', 'DELETE'], url, handler: refuseMethod });
    }
    scope.route({ method: 'GET', url: `${inRealm}/:uid`, exposeHeadRoute: false, handler: resume });
    done();
  });
}
