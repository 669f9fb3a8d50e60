// The platform's rules for authorization requests, and the error parameters of failed callbacks.
import type Provider from 'oidc-provider';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { grantUserScope } from '../scopes.ts';
import { callbackErrorMember } from './client-metadata.ts';

const responseModes: ReadonlySet<unknown> = new Set([undefined, 'query', 'fragment']);

/**
 * The applications belong to the organisation: there is no consent page and no account selection.
 */
const replacedPrompts: Readonly<Record<string, string | undefined>> = {
  consent: undefined,
  select_account: 'login',
};

type Params = Record<string, unknown>;

function checkParams(params: Params): void {
  // The parameters are stored until the user has signed in, and PostgreSQL cannot store U+0000.
  if (Object.values(params).some((value) => String(value).includes('\u0000'))) {
    throw new errors.InvalidRequest('a parameter contains U+0000');
  }
  const { scope, response_mode: mode, prompt } = params;
  if (!responseModes.has(mode)) {
    delete params['response_mode'];
    throw new errors.UnsupportedResponseMode();
  }
  if (typeof prompt === 'string') {
    const prompts = prompt
      .split(' ')
      .map((errorCode) =>
        Object.hasOwn(replacedPrompts, errorCode) ? replacedPrompts[errorCode] : errorCode,
      );
    const distinctPrompts = new Set(prompts.filter((errorCode) => errorCode !== undefined));
    params['prompt'] = distinctPrompts.size === 0 ? undefined : [...distinctPrompts].join(' ');
  }
  const read = grantUserScope(typeof scope === 'string' ? scope : undefined);
  if ('unknown' in read) throw new errors.InvalidScope('unknown scope', read.unknown);
  params['scope'] = read.granted;
}

/**
 * Runs as soon as the client is known: errors thrown here are sent to the redirect URI, unless that
 * is wrong.
 */
export function checkAuthorizationRequest(provider: Provider): void {
  const { prototype } = provider.OIDCContext;
  const { entity } = prototype;
  prototype.entity = function checked(key: string, value: unknown) {
    entity.call(this, key, value);
    if (key === 'Client' && this.route === 'authorization' && this.params !== undefined) {
      checkParams(this.params as Params);
    }
  };
}

/** HTTP statuses for errors that oidc-provider sends without one. */
const httpStatuses: Readonly<Record<string, number>> = {
  access_denied: 403,
  unauthorized_client: 403,
  login_required: 401,
  interaction_required: 401,
  account_selection_required: 401,
  server_error: 500,
  temporarily_unavailable: 503,
};

const failedRequests = new WeakMap<object, number>();

/** Remembers that the request failed, because a redirect does not show it. */
export function rememberCallbackErrors(provider: Provider): void {
  const rememberFailure = (ctx: KoaContextWithOIDC, error: Error & { statusCode?: number }) => {
    failedRequests.set(ctx.req, error.statusCode ?? 500);
  };
  provider.on('authorization.error', rememberFailure);
  provider.on('server_error', rememberFailure);
}

/**
 * Adds `error_code` to the callback, in the form that the application has configured (ADR 0011).
 */
export function addCallbackErrorCode(ctx: KoaContextWithOIDC): void {
  const status = failedRequests.get(ctx.req);
  const location = ctx.response.get('Location');
  if (status === undefined || ctx.status !== 303 || location === '') return;
  const address = new URL(location);
  const isFragment = ctx.oidc.responseMode === 'fragment';
  const callbackParams = isFragment
    ? new URLSearchParams(address.hash.slice(1))
    : address.searchParams;
  const errorCode = callbackParams.get('error') ?? '';
  const code = String(httpStatuses[errorCode] ?? Math.max(status, 400));
  callbackParams.set('error_code', code);
  if (ctx.oidc.client?.[callbackErrorMember] === 'HttpCode') callbackParams.set('error', code);
  if (isFragment) address.hash = callbackParams.toString();
  ctx.set('Location', address.href);
}
