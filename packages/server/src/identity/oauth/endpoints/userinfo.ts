// The userinfo endpoint (OpenID Connect Core, 5.3; RFC 6750).
import { errorCodes, ProblemError } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { decodeJwt } from 'jose';
import { acceptFormBodies, type Caller } from '../../../http/index.ts';
import type { User } from '../../accounts/types.ts';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { userInfoClaims } from '../../tokens/token-claims.ts';
import type { RealmRequest } from '../provider/provider-dispatch.ts';
import { allowRegisteredOrigin, type RegisteredOrigins, sendPreflight } from './cors.ts';
import { userInfoEndpoints } from './endpoint-descriptions.ts';
import { handleOauthError, sendOauthError } from './oauth-routes.ts';

export type UserInfoRouteDeps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  /** Verifies the token, and the client certificate if the token is bound to one. */
  verifyRequest(request: FastifyRequest, token: string): Promise<Caller>;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  origins: RegisteredOrigins;
  limits: OAuthEndpointLimits;
};

type Form = Readonly<Record<string, string>>;
type BearerError = {
  readonly status: number;
  readonly error?: string;
  readonly description?: string;
};

export const userInfoPath = '/protocol/openid-connect/userinfo';
const methods = ['GET', 'POST'] as const;
const bearerPattern = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

const missingToken: BearerError = { status: 401 };
const invalidToken: BearerError = {
  status: 401,
  error: 'invalid_token',
  description: 'the access token is not valid',
};
const twoTokens: BearerError = {
  status: 400,
  error: 'invalid_request',
  description: 'send the access token once, in the header or in the form',
};
const missingScope: BearerError = {
  status: 403,
  error: 'insufficient_scope',
  description: 'the access token lacks the scope openid',
};

/** RFC 6750, 3: a request without a token gets no error code. */
function challenge({ issuer }: Realm, { error, description }: BearerError): string {
  const parts = [`realm="${issuer}"`];
  if (error !== undefined) parts.push(`error="${error}"`, `error_description="${description}"`);
  if (error === 'insufficient_scope') parts.push('scope="openid"');
  return `Bearer ${parts.join(', ')}`;
}

/** The token from the header or the form, never from the URL. */
function requestToken(request: FastifyRequest): string | BearerError {
  const { authorization } = request.headers;
  const inForm = (request.body as Form | undefined)?.['access_token'];
  if (authorization !== undefined && inForm !== undefined) return twoTokens;
  if (authorization === undefined) return inForm ?? missingToken;
  return bearerPattern.exec(authorization)?.[1] ?? invalidToken;
}

export async function registerUserInfo(
  app: FastifyInstance,
  deps: UserInfoRouteDeps,
): Promise<void> {
  const { findRealm, verifyRequest, findUser, origins, limits } = deps;

  async function findUserInfo(
    request: FastifyRequest,
    realm: Realm,
  ): Promise<object | BearerError> {
    const token = requestToken(request);
    if (typeof token !== 'string') return token;
    let caller: Caller;
    try {
      caller = await verifyRequest(request, token);
    } catch (error) {
      // An unavailable database does not make the token invalid.
      if (error instanceof ProblemError && errorCodes[error.code].status === 401)
        return invalidToken;
      throw error;
    }
    if (caller.realm !== realm.userDomainId) return invalidToken;
    const scope = String(decodeJwt(token)['scope'] ?? '');
    const user = await findUser(realm.organizationId, caller.subject);
    if (user === undefined || !scope.split(' ').includes('openid')) return missingScope;
    return { sub: user.userId, ...userInfoClaims(user, scope) };
  }

  function sendOutcome(
    reply: FastifyReply,
    realm: Realm,
    outcome: object | BearerError,
  ): FastifyReply {
    reply.header('Cache-Control', 'no-store');
    if (!('status' in outcome)) return reply.send(outcome);
    const { status, error, description } = outcome as BearerError;
    if (status !== 400) reply.header('WWW-Authenticate', challenge(realm, outcome as BearerError));
    if (error === undefined) return reply.code(status).send();
    return sendOauthError(reply, status, error, description ?? error);
  }

  async function handle(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const wait = limits.checkAddress(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return sendOauthError(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) {
      return sendOauthError(reply, 404, 'invalid_request', 'unknown user domain');
    }
    if (request.method === 'OPTIONS') {
      return sendPreflight(request, reply, { realm, origins, methods, allowsCors: true });
    }
    await allowRegisteredOrigin(request, reply, { realm, origins });
    const outcome = await findUserInfo(request, realm);
    if (outcome === invalidToken) limits.countFailure(request.ip);
    return sendOutcome(reply, realm, outcome);
  }

  await app.register((scope, _options, done) => {
    acceptFormBodies(scope);
    scope.setErrorHandler(handleOauthError);
    const url = `/auth/realms/:realm${userInfoPath}`;
    const config = { describedRoutes: userInfoEndpoints.map((endpoint) => ({ ...endpoint, url })) };
    scope.route({ method: [...methods, 'OPTIONS'], url, config, handler: handle });
    done();
  });
}
