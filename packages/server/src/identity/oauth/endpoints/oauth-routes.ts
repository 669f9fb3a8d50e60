// Mounts the authorization server: both spellings of its paths, into the realm's own provider.
import { errorCodes, Refusal } from '@switchyard/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RateLimits } from '../../infrastructure/rate-limits.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import { innerPaths } from '../provider/provider-configuration.ts';
import { type Listener, passOn, type RealmRequest } from '../provider/provider-dispatch.ts';
import { answerPreflight, type Origins } from './cors.ts';
import {
  introspectionEndpoint,
  revocationEndpoint,
  tokenInRealm,
} from './endpoint-descriptions.ts';
import { type Described, tokenEndpoint } from './token-endpoint-description.ts';

type Endpoint = {
  readonly url: string;
  readonly inner: string;
  readonly methods: readonly string[];
  /** Whether pages of registered origins may call it by script; they ask first, with OPTIONS. */
  readonly isForPages: boolean;
  /** For the OpenAPI document; the others are told by discovery. */
  readonly described?: Described;
};

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  listenerOf(realm: Realm): Listener;
  limits: RateLimits;
  origins: Origins;
};

const posts = ['POST'] as const;
const reads = ['GET', 'HEAD'] as const;

const endpoints: readonly Endpoint[] = [
  {
    url: '/oauth2/v1/:realm/token',
    inner: innerPaths.token,
    methods: posts,
    isForPages: true,
    described: tokenEndpoint,
  },
  ...(
    [
      ['token', tokenInRealm],
      ['introspection', introspectionEndpoint],
      ['revocation', revocationEndpoint],
    ] as const
  ).map(([name, described]) => ({
    url: `/auth/realms/:realm${innerPaths[name]}`,
    inner: innerPaths[name],
    methods: posts,
    isForPages: name !== 'introspection',
    described,
  })),
  ...(['jwks', 'discovery'] as const).map((name) => ({
    url: `/auth/realms/:realm${innerPaths[name]}`,
    inner: innerPaths[name],
    methods: reads,
    isForPages: true,
  })),
];

/** RFC 6749's error body, for what is refused before the library sees it. */
export function refuseWith(
  reply: FastifyReply,
  status: number,
  error: string,
  description: string,
) {
  return reply
    .code(status)
    .header('Cache-Control', 'no-store')
    .type('application/json; charset=utf-8')
    .send({ error, error_description: description });
}

function createHandler({ findRealm, listenerOf, limits, origins }: Deps, endpoint: Endpoint) {
  return async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const isQuestion = request.method === 'OPTIONS';
    if (!isQuestion && !endpoint.methods.includes(request.method)) {
      reply.header('Allow', [...endpoint.methods, 'OPTIONS'].join(', '));
      return refuseWith(reply, 405, 'invalid_request', 'this method is not allowed here');
    }
    const wait = limits.address(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return refuseWith(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined)
      return refuseWith(reply, 404, 'invalid_request', 'unknown user domain');
    if (isQuestion) return answerPreflight(request, reply, { realm, origins, ...endpoint });

    await passOn(listenerOf(realm), endpoint.inner, request, reply);
    if (reply.raw.statusCode === 401) limits.failed(request.ip);
    return reply;
  };
}

/** What fails before the library sees it, in RFC 6749's body too; faults are the house's to report. */
export function answerError(error: unknown, _request: FastifyRequest, reply: FastifyReply) {
  if (error instanceof Refusal) {
    const { status } = errorCodes[error.code];
    if (error.retryAfterMs !== undefined) {
      reply.header('Retry-After', String(Math.ceil(error.retryAfterMs / 1000)));
    }
    const word = status < 500 ? 'invalid_request' : 'temporarily_unavailable';
    return refuseWith(reply, status, word, error.detail);
  }
  const { statusCode = 500, message } = error as FastifyError;
  if (statusCode >= 500) throw error;
  return refuseWith(reply, statusCode, 'invalid_request', message);
}

/** A scope of its own: the library reads the bodies, so here nothing else may. */
export async function registerOauthRoutes(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    scope.setErrorHandler(answerError);
    for (const endpoint of endpoints) {
      const { url, described } = endpoint;
      const config = described === undefined ? {} : { described: { ...described, url } };
      scope.all(url, { config }, createHandler(deps, endpoint));
    }
    done();
  });
}
