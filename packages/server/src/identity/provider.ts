// The authorization server of one realm: oidc-provider with the platform's rules.
import { errorCodes, Refusal } from '@switchyard/contract';
import Provider, { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Clock, Ids, Log } from '../platform/index.ts';
import { createTokenWriter } from './access-token.ts';
import { createAdapter } from './adapter.ts';
import type { Applications } from './applications.ts';
import { clientMetadata, webOriginsMember } from './client-metadata.ts';
import type { EntityStore } from './entity-store.ts';
import { type GrantDeps, grants } from './grants/index.ts';
import type { Introspection } from './introspection.ts';
import { createAnswers } from './provider-answers.ts';
import type { RateLimits } from './rate-limits.ts';
import { scopes } from './scopes.ts';
import type { Application, Realm } from './types.ts';

export type ProviderDeps = {
  applications: Applications;
  entities: EntityStore;
  introspection: Introspection;
  limits: RateLimits;
  clock: Clock;
  ids: Ids;
  log: Log;
};

/** Keycloak's paths below the issuer, which clients in this field have built in. */
export const innerPaths = {
  token: '/protocol/openid-connect/token',
  introspection: '/protocol/openid-connect/token/introspect',
  revocation: '/protocol/openid-connect/revoke',
  jwks: '/protocol/openid-connect/certs',
  discovery: '/.well-known/openid-configuration',
} as const;

type FindApplication = (clientId: string) => Promise<Application | undefined>;

function configure(deps: ProviderDeps, realm: Realm, find: FindApplication): Configuration {
  const { signing, keys } = realm;
  // The library signs with the first key that fits.
  const ordered = new Set([signing.ES256, signing.RS256, ...keys.values()]);
  return {
    adapter: createAdapter({
      entities: deps.entities,
      clock: deps.clock,
      organizationId: realm.organizationId,
      findClient: async (clientId) => {
        const application = await find(clientId);
        return application === undefined ? undefined : clientMetadata(application);
      },
    }),
    jwks: { keys: [...ordered].map((key) => key.privateJwk) },
    // No method with a key derived from the secret: we have its hash alone.
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    responseTypes: [],
    scopes,
    routes: innerPaths,
    features: {
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    formats: {
      customizers: {
        jwt: createTokenWriter({ realm, clock: deps.clock, ids: deps.ids, findApplication: find }),
      },
    },
    extraClientMetadata: { properties: [webOriginsMember] },
    clientBasedCORS: (_ctx, origin, client) => {
      const origins = client[webOriginsMember];
      return Array.isArray(origins) && origins.includes(origin);
    },
    // Every caller is a program, also one that sends a browser's Accept header.
    renderError: (ctx, out) => {
      ctx.body = out;
    },
  };
}

function limitClientWith(limits: RateLimits, realm: Realm): GrantDeps['limitClient'] {
  return async (ctx, clientId) => {
    const wait = await limits.client(realm.userDomainId, clientId);
    if (wait === undefined) return;
    ctx.set('Retry-After', String(wait));
    throw Object.assign(
      new errors.CustomOIDCProviderError('temporarily_unavailable', 'too many requests'),
      { status: 429, statusCode: 429 },
    );
  };
}

/** A database that is away is no fault, and the client may come again. */
function answerFault(ctx: KoaContextWithOIDC, error: Error, fault: (error: Error) => void): void {
  if (!(error instanceof Refusal)) {
    fault(error);
    return;
  }
  ctx.status = errorCodes[error.code].status;
  ctx.set('Retry-After', String(Math.ceil((error.retryAfterMs ?? 1000) / 1000)));
  ctx.body = { error: 'temporarily_unavailable', error_description: error.detail };
}

export function createRealmProvider(deps: ProviderDeps, realm: Realm): Provider {
  const { applications, log } = deps;
  const find: FindApplication = async (clientId) => {
    const application = await applications.find(realm.organizationId, clientId);
    return application?.status === 'Enabled' ? application : undefined;
  };
  const provider = new Provider(realm.issuer, configure(deps, realm, find));

  provider.Client.prototype.compareClientSecret = function compareHash(actual: string) {
    return applications.checkSecret(realm.organizationId, this.clientId, actual);
  };
  // The library builds addresses from the Host header; ours do not depend on who asks.
  provider.OIDCContext.prototype.urlFor = (name) => provider.urlFor(name);

  const grantDeps: GrantDeps = {
    provider,
    realm,
    findApplication: find,
    limitClient: limitClientWith(deps.limits, realm),
  };
  for (const grant of grants) {
    provider.registerGrantType(grant.grantType, grant.handle(grantDeps), grant.parameters);
  }
  provider.use(createAnswers({ realm, introspection: deps.introspection }));

  const realmLog = log.child({ realm: realm.userDomainId });
  const fault = (error: unknown) => realmLog.error({ err: error }, 'authorization server fault');
  const refused = (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) =>
    realmLog.info(
      {
        client: ctx.oidc.client?.clientId,
        error: error.error,
        detail: error.error_detail ?? error.error_description,
      },
      'token refused',
    );
  provider.onerror = fault;
  provider.on('server_error', (ctx, error) => answerFault(ctx, error, fault));
  provider.on('grant.error', refused);
  return provider;
}
