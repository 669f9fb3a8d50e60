// Changes the responses of oidc-provider: token response members, error codes, CORS, introspection
// and revocation of JWTs.

import { defined } from '@switchyard/contract';
import type { KoaContextWithOIDC } from 'oidc-provider';
import type { Application } from '../../clients/application-record.ts';
import { deviceTokenPath } from '../../devices/credential-and-claim-routes.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { basicChallenge } from '../endpoints/client-authentication.ts';
import type { RegisteredOrigins } from '../endpoints/cors.ts';
import type { Introspection } from '../endpoints/introspection.ts';
import { logoutPath } from '../endpoints/logout-routes.ts';
import { userInfoPath } from '../endpoints/userinfo.ts';
import { addCallbackErrorCode } from './authorize-request-checks.ts';

const secretMethods = ['client_secret_basic', 'client_secret_post'] as const;

/** `deviceAuthUrl` is undefined if no device listener is configured. */
function discoveryAdditions(
  { issuer }: Realm,
  deviceAuthUrl: string | undefined,
): Record<string, unknown> {
  return {
    userinfo_endpoint: issuer + userInfoPath,
    end_session_endpoint: issuer + logoutPath,
    response_modes_supported: ['query', 'fragment'],
    prompt_values_supported: ['none', 'login'],
    ui_locales_supported: ['en', 'fr', 'de'],
    introspection_endpoint_auth_methods_supported: secretMethods,
    revocation_endpoint_auth_methods_supported: [...secretMethods, 'none'],
    tls_client_certificate_bound_access_tokens: true,
    ...defined({
      mtls_endpoint_aliases:
        deviceAuthUrl === undefined
          ? undefined
          : // One listener issues the tokens of mutual TLS for all realms (RFC 8705, 5).
            { token_endpoint: deviceAuthUrl + deviceTokenPath },
    }),
  };
}

/** Much shorter than the time between publication and use of a new signing key. */
const cacheSeconds = 300;

type Body = Record<string, unknown>;
type JwtResponse = { readonly status: number; readonly body: Body | '' };
type Deps = {
  realm: Realm;
  introspection: Introspection;
  origins: RegisteredOrigins;
  deviceAuthUrl: string | undefined;
  findApplication(clientId: string): Promise<Application | undefined>;
};

/** `oidc` is missing if no route of oidc-provider matched. */
type MaybeRouted = { oidc?: KoaContextWithOIDC['oidc'] };

function completeTokenResponse(body: Body): Body {
  return { ...body, refresh_expires_in: body['refresh_expires_in'] ?? 0, 'not-before-policy': 0 };
}

/**
 * RFC 6749, 5.2, defines specific error codes for two cases that oidc-provider answers with
 * invalid_request.
 */
const errorCodeCorrections: Readonly<Record<string, { status: number; error: string }>> = {
  'requested grant type is not allowed for this client': {
    status: 400,
    error: 'unauthorized_client',
  },
  'no client authentication mechanism provided': { status: 401, error: 'invalid_client' },
};

function correctErrorCode(ctx: KoaContextWithOIDC, body: Body): void {
  const correction = errorCodeCorrections[String(body['error_description'])];
  if (correction === undefined || body['error'] !== 'invalid_request') return;
  ctx.status = correction.status;
  ctx.body = { ...body, error: correction.error };
}

function setCaching(ctx: KoaContextWithOIDC): void {
  if (ctx.method === 'POST') {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('Pragma', 'no-cache');
  } else if (ctx.status === 200) {
    ctx.set('Cache-Control', `public, max-age=${cacheSeconds}`);
  }
}

const notAuthenticated: JwtResponse = {
  status: 401,
  body: { error: 'invalid_client', error_description: 'client authentication failed' },
};
const foreignToken: JwtResponse = {
  status: 400,
  body: {
    error: 'unauthorized_client',
    error_description: 'the token was issued to another client',
  },
};

/**
 * For JWTs, oidc-provider authenticates the client and then answers `unsupported_token_type`; here
 * the platform answers instead. A client without a secret may revoke, but not introspect.
 */
async function respondForJwt(ctx: KoaContextWithOIDC, deps: Deps): Promise<JwtResponse> {
  const { realm, introspection, findApplication } = deps;
  const { client, params, route } = ctx.oidc;
  const token = String(params?.['token']);
  const application = client === undefined ? undefined : await findApplication(client.clientId);
  if (application === undefined) return notAuthenticated;
  if (route === 'introspection') {
    if (application.secretHash === undefined) return notAuthenticated;
    return { status: 200, body: await introspection.introspect(realm, application, token) };
  }
  const isRevoked = await introspection.revoke(realm, application.clientId, token);
  return isRevoked ? { status: 200, body: '' } : foreignToken;
}

/**
 * RFC 6749, 5.2: only clients that used HTTP Basic get its challenge; for others a browser would
 * show a dialogue.
 */
function challenge(ctx: KoaContextWithOIDC, { issuer }: Realm): void {
  if (ctx.status !== 401) return;
  if (ctx.get('Authorization') === '') ctx.remove('WWW-Authenticate');
  else ctx.set('WWW-Authenticate', basicChallenge(issuer));
}

const corsRoutes: ReadonlySet<unknown> = new Set(['token', 'revocation', 'discovery', 'jwks']);

/**
 * oidc-provider allows every origin when it does not know the client; here only registered origins
 * may read the response.
 */
async function restrictCors(ctx: KoaContextWithOIDC, { realm, origins }: Deps): Promise<void> {
  const origin = ctx.get('Origin');
  const isAllowed =
    origin !== '' &&
    corsRoutes.has((ctx as MaybeRouted).oidc?.route) &&
    (await origins.isRegistered(realm.organizationId, origin));
  if (isAllowed) return;
  ctx.remove('Access-Control-Allow-Origin');
  ctx.remove('Access-Control-Expose-Headers');
}

export function createResponseMiddleware(deps: Deps) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next();
    const route = (ctx as MaybeRouted).oidc?.route;
    setCaching(ctx);
    const body = ctx.body as Body | undefined;
    if (route === 'token' && ctx.status === 200 && body) ctx.body = completeTokenResponse(body);
    if (route === 'discovery' && body) {
      ctx.body = { ...body, ...discoveryAdditions(deps.realm, deps.deviceAuthUrl) };
    }
    if (ctx.status === 400 && body) correctErrorCode(ctx, body);
    if (route === 'authorization' || route === 'resume') addCallbackErrorCode(ctx);
    if (body?.['error'] === 'unsupported_token_type') {
      const answer = await respondForJwt(ctx, deps);
      ctx.status = answer.status;
      ctx.body = answer.body;
    }
    challenge(ctx, deps.realm);
    await restrictCors(ctx, deps);
  };
}
