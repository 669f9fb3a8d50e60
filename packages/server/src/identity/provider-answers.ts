// What is added to the library's answers: members of the token response, challenges, our JWTs.
import type { KoaContextWithOIDC } from 'oidc-provider';
import { completeCallback } from './authorization-rules.ts';
import type { Introspection } from './introspection.ts';
import type { Realm } from './types.ts';

/** Far shorter than the lead that a new signing key has. */
const documentSeconds = 300;

type Body = Record<string, unknown>;
type Deps = { realm: Realm; introspection: Introspection };

/** `oidc` is only there where one of the library's routes matched. */
type MaybeRouted = { oidc?: KoaContextWithOIDC['oidc'] };

function completeTokenResponse(body: Body): Body {
  return { ...body, refresh_expires_in: body['refresh_expires_in'] ?? 0, 'not-before-policy': 0 };
}

/** RFC 6749, 5.2, has words of its own for two things that the library calls an invalid request. */
const betterWords: Readonly<Record<string, { status: number; error: string }>> = {
  'requested grant type is not allowed for this client': {
    status: 400,
    error: 'unauthorized_client',
  },
  'no client authentication mechanism provided': { status: 401, error: 'invalid_client' },
};

function nameClientError(ctx: KoaContextWithOIDC, body: Body): void {
  const better = betterWords[String(body['error_description'])];
  if (better === undefined || body['error'] !== 'invalid_request') return;
  ctx.status = better.status;
  ctx.body = { ...body, error: better.error };
}

function setCaching(ctx: KoaContextWithOIDC): void {
  if (ctx.method === 'POST') {
    ctx.set('Cache-Control', 'no-store');
    ctx.set('Pragma', 'no-cache');
  } else if (ctx.status === 200) {
    ctx.set('Cache-Control', `public, max-age=${documentSeconds}`);
  }
}

/**
 * Of JWTs the library authenticates the client and then says `unsupported_token_type`: exactly
 * there our own answer belongs.
 */
async function answerForJwt(ctx: KoaContextWithOIDC, { realm, introspection }: Deps) {
  const { client, params } = ctx.oidc;
  const token = String(params?.['token']);
  if (client === undefined || client.clientAuthMethod === 'none') {
    ctx.status = 401;
    ctx.body = { error: 'invalid_client', error_description: 'client authentication failed' };
  } else if (ctx.oidc.route === 'introspection') {
    ctx.status = 200;
    ctx.body = await introspection.introspect(realm, token);
  } else if (await introspection.revoke(realm, client.clientId, token)) {
    ctx.status = 200;
    ctx.body = '';
  } else {
    ctx.status = 400;
    ctx.body = {
      error: 'unauthorized_client',
      error_description: 'the token was issued to another client',
    };
  }
}

export function createAnswers(deps: Deps) {
  return async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await next();
    const route = (ctx as MaybeRouted).oidc?.route;
    setCaching(ctx);
    const body = ctx.body as Body | undefined;
    if (route === 'token' && ctx.status === 200 && body) ctx.body = completeTokenResponse(body);
    if (ctx.status === 400 && body) nameClientError(ctx, body);
    if (route === 'authorization' || route === 'resume') completeCallback(ctx);
    if (body?.['error'] === 'unsupported_token_type') await answerForJwt(ctx, deps);
    if (ctx.status === 401 && !ctx.response.get('WWW-Authenticate')) {
      ctx.set('WWW-Authenticate', `Basic realm="${deps.realm.issuer}"`);
    }
  };
}
