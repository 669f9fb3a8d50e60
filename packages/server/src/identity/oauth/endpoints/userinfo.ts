// What is told of the user to whom an access token belongs (OpenID Connect Core, 5.3; RFC 6750).
import { errorCodes, Refusal } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { decodeJwt } from 'jose';
import { type Caller, readForms } from '../../../http/index.ts';
import type { User } from '../../accounts/types.ts';
import type { RateLimits } from '../../infrastructure/rate-limits.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import { userInfo } from '../../tokens/token-claims.ts';
import type { RealmRequest } from '../provider/provider-dispatch.ts';
import { answerPreflight, type Origins, openToPage } from './cors.ts';
import { userInfoEndpoints } from './endpoint-descriptions.ts';
import { answerError, refuseWith } from './oauth-routes.ts';

export type UserInfoDeps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  /** With what the connection proves, for tokens that are bound to a certificate. */
  verifyRequest(request: FastifyRequest, token: string): Promise<Caller>;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  origins: Origins;
  limits: RateLimits;
};

type Form = Readonly<Record<string, string>>;
type Told = { readonly status: number; readonly error?: string; readonly description?: string };

export const userInfoPath = '/protocol/openid-connect/userinfo';
const methods = ['GET', 'POST'] as const;
const bearerForm = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

const noToken: Told = { status: 401 };
const badToken: Told = {
  status: 401,
  error: 'invalid_token',
  description: 'the access token is not valid',
};
const twoTokens: Told = {
  status: 400,
  error: 'invalid_request',
  description: 'the access token comes by one way alone',
};
const notOpenId: Told = {
  status: 403,
  error: 'insufficient_scope',
  description: 'the access token has no scope openid',
};

/** RFC 6750, 3: without a token there is no word about what was wrong with it. */
function challenge({ issuer }: Realm, { error, description }: Told): string {
  const parts = [`realm="${issuer}"`];
  if (error !== undefined) parts.push(`error="${error}"`, `error_description="${description}"`);
  if (error === 'insufficient_scope') parts.push('scope="openid"');
  return `Bearer ${parts.join(', ')}`;
}

/** The token of the header or of the form, never of the address. */
function tokenOf(request: FastifyRequest): string | Told {
  const { authorization } = request.headers;
  const inForm = (request.body as Form | undefined)?.['access_token'];
  if (authorization !== undefined && inForm !== undefined) return twoTokens;
  if (authorization === undefined) return inForm ?? noToken;
  return bearerForm.exec(authorization)?.[1] ?? badToken;
}

export async function registerUserInfo(app: FastifyInstance, deps: UserInfoDeps): Promise<void> {
  const { findRealm, verifyRequest, findUser, origins, limits } = deps;

  async function told(request: FastifyRequest, realm: Realm): Promise<object | Told> {
    const token = tokenOf(request);
    if (typeof token !== 'string') return token;
    let caller: Caller;
    try {
      caller = await verifyRequest(request, token);
    } catch (error) {
      // A database that is away is no fault of the token.
      if (error instanceof Refusal && errorCodes[error.code].status === 401) return badToken;
      throw error;
    }
    if (caller.realm !== realm.userDomainId) return badToken;
    const scope = String(decodeJwt(token)['scope'] ?? '');
    const user = await findUser(realm.organizationId, caller.subject);
    if (user === undefined || !scope.split(' ').includes('openid')) return notOpenId;
    return { sub: user.userId, ...userInfo(user, scope) };
  }

  function answer(reply: FastifyReply, realm: Realm, said: object | Told): FastifyReply {
    reply.header('Cache-Control', 'no-store');
    if (!('status' in said)) return reply.send(said);
    const { status, error, description } = said as Told;
    if (status !== 400) reply.header('WWW-Authenticate', challenge(realm, said as Told));
    if (error === undefined) return reply.code(status).send();
    return refuseWith(reply, status, error, description ?? error);
  }

  async function handle(request: RealmRequest, reply: FastifyReply): Promise<FastifyReply> {
    const wait = limits.address(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return refuseWith(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    const realm = await findRealm(request.params.realm);
    if (realm === undefined) {
      return refuseWith(reply, 404, 'invalid_request', 'unknown user domain');
    }
    if (request.method === 'OPTIONS') {
      return answerPreflight(request, reply, { realm, origins, methods, isForPages: true });
    }
    await openToPage(request, reply, { realm, origins });
    const said = await told(request, realm);
    if (said === badToken) limits.failed(request.ip);
    return answer(reply, realm, said);
  }

  await app.register((scope, _options, done) => {
    readForms(scope);
    scope.setErrorHandler(answerError);
    const url = `/auth/realms/:realm${userInfoPath}`;
    const config = { described: userInfoEndpoints.map((each) => ({ ...each, url })) };
    scope.route({ method: [...methods, 'OPTIONS'], url, config, handler: handle });
    done();
  });
}
