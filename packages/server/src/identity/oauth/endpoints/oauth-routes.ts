// Registers the token, introspection, revocation, JWKS and discovery endpoints, which oidc-provider
// serves.
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
import { type RegisteredOrigins, sendPreflight } from './cors.ts';
import {
  introspectionEndpoint,
  revocationEndpoint,
  tokenEndpointInRealm,
} from './endpoint-descriptions.ts';
import { type EndpointDescription, tokenEndpoint } from './token-endpoint-description.ts';

type Endpoint = {
  readonly url: string;
  readonly providerPath: string;
  readonly methods: readonly string[];
  /** Whether scripts of registered origins may call it (CORS). */
  readonly allowsCors: boolean;
  /** For the OpenAPI document; clients find the others by discovery. */
  readonly description?: EndpointDescription;
};

type Deps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  findListener(realm: Realm): ProviderListener;
  limits: OAuthEndpointLimits;
  origins: RegisteredOrigins;
};

const postOnly = ['POST'] as const;
const getAndHead = ['GET', 'HEAD'] as const;

const endpoints: readonly Endpoint[] = [
  {
    url: '/oauth2/v1/:realm/token',
    providerPath: providerPaths.token,
    methods: postOnly,
    allowsCors: true,
    description: tokenEndpoint,
  },
  ...(
    [
      ['token', tokenEndpointInRealm],
      ['introspection', introspectionEndpoint],
      ['revocation', revocationEndpoint],
    ] as const
  ).map(([name, description]) => ({
    url: `/auth/realms/:realm${providerPaths[name]}`,
    providerPath: providerPaths[name],
    methods: postOnly,
    allowsCors: name !== 'introspection',
    description,
  })),
  ...(['jwks', 'discovery'] as const).map((name) => ({
    url: `/auth/realms/:realm${providerPaths[name]}`,
    providerPath: providerPaths[name],
    methods: getAndHead,
    allowsCors: true,
  })),
];

/** Sends an error in the form of RFC 6749, for requests that do not reach oidc-provider. */
export function sendOauthError(
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

function createHandler({ findRealm, findListener, limits, origins }: Deps, endpoint: Endpoint) {
  return async (request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const isPreflight = request.method === 'OPTIONS';
    if (!isPreflight && !endpoint.methods.includes(request.method)) {
      reply.header('Allow', [...endpoint.methods, 'OPTIONS'].join(', '));
      return sendOauthError(
        reply,
        405,
        'invalid_request',
        'the method is not allowed for this path',
      );
    }
    const wait = limits.checkAddress(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return sendOauthError(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined)
      return sendOauthError(reply, 404, 'invalid_request', 'unknown user domain');
    if (isPreflight) return sendPreflight(request, reply, { realm, origins, ...endpoint });

    await dispatchToProvider(findListener(realm), endpoint.providerPath, request, reply);
    if (reply.raw.statusCode === 401) limits.countFailure(request.ip);
    return reply;
  };
}

/**
 * Answers errors before oidc-provider in the form of RFC 6749; faults go to the error handler of
 * the server.
 */
export function handleOauthError(error: unknown, _request: FastifyRequest, reply: FastifyReply) {
  if (error instanceof ProblemError) {
    const { status } = errorCodes[error.code];
    if (error.retryAfterMs !== undefined) {
      reply.header('Retry-After', String(Math.ceil(error.retryAfterMs / 1000)));
    }
    const word = status < 500 ? 'invalid_request' : 'temporarily_unavailable';
    return sendOauthError(reply, status, word, error.detail);
  }
  const { statusCode = 500, message } = error as FastifyError;
  if (statusCode >= 500) throw error;
  return sendOauthError(reply, statusCode, 'invalid_request', message);
}

/** A separate Fastify scope, because oidc-provider reads the request bodies itself. */
export async function registerOauthRoutes(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    scope.setErrorHandler(handleOauthError);
    for (const endpoint of endpoints) {
      const { url, description } = endpoint;
      const config = description === undefined ? {} : { describedRoutes: { ...description, url } };
      scope.all(url, { config }, createHandler(deps, endpoint));
    }
    done();
  });
}
