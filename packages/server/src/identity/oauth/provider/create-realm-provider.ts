// Creates the oidc-provider instance of one realm with the rules of the platform.
import { errorCodes, ProblemError } from '@switchyard/contract';
import Provider, {
  errors,
  type KoaContextWithOIDC,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import type { Clock, Ids, Log } from '../../../platform/index.ts';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application-record.ts';
import type { Applications } from '../../clients/applications.ts';
import { mayUseApplication } from '../../clients/device-client-rules.ts';
import { requestDevice } from '../../devices/authenticated-device.ts';
import type { DeviceSecrets } from '../../devices/device-secrets.ts';
import { createDeviceTokenIssuer } from '../../devices/device-tokens.ts';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { OidcEntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import { type CookieSigningKeys, sessionCookieOptions } from '../../sessions/session-cookies.ts';
import type { UserTokenIssuer } from '../../tokens/issue-user-tokens.ts';
import type { RegisteredOrigins } from '../endpoints/cors.ts';
import type { Introspection } from '../endpoints/introspection.ts';
import type { GrantDeps } from '../grants/grant.ts';
import { grants } from '../grants/grant-types.ts';
import type { PageRenderer } from '../rendered-pages.ts';
import { checkAuthorizationRequest, rememberCallbackErrors } from './authorize-request-checks.ts';
import { provideClients } from './client-metadata.ts';
import {
  authenticateDeviceClients,
  currentDevice,
  isTokenRequest,
} from './device-client-authentication.ts';
import { providerConfiguration } from './provider-configuration.ts';
import { createResponseMiddleware } from './response-changes.ts';

export type RealmProviderDeps = {
  applications: Applications;
  entities: OidcEntityStore;
  introspection: Introspection;
  origins: RegisteredOrigins;
  deviceAuthUrl?: string | undefined;
  limits: OAuthEndpointLimits;
  userTokens: UserTokenIssuer;
  cookieKeys: CookieSigningKeys;
  pageRenderer: PageRenderer;
  clock: Clock;
  ids: Ids;
  log: Log;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  authenticate: GrantDeps['authenticate'];
  verifyDeviceSecret: DeviceSecrets['verify'];
  /** Called when an application got a token. */
  recordUse(organizationId: string, clientId: string): void;
};

export type FindApplication = (clientId: string) => Promise<Application | undefined>;

function createClientLimit(limits: OAuthEndpointLimits, realm: Realm): GrantDeps['limitClient'] {
  return async (ctx, clientId) => {
    // The devices of a merchant share a client: limiting by certificate keeps one device from
    // blocking the others.
    const rateLimitKey = requestDevice(ctx.req)?.thumbprint ?? clientId;
    const wait = limits.checkClient(realm.userDomainId, rateLimitKey);
    if (wait === undefined) return;
    ctx.set('Retry-After', String(wait));
    throw Object.assign(
      new errors.CustomOIDCProviderError('temporarily_unavailable', 'too many requests'),
      { status: 429, statusCode: 429 },
    );
  };
}

/** An unavailable database is answered with 503 and Retry-After, not reported as a fault. */
function respondToServerError(
  ctx: KoaContextWithOIDC,
  error: Error,
  logError: (error: Error) => void,
): void {
  if (!(error instanceof ProblemError)) {
    logError(error);
    return;
  }
  ctx.status = errorCodes[error.code].status;
  ctx.set('Retry-After', String(Math.ceil((error.retryAfterMs ?? 1000) / 1000)));
  ctx.body = { error: 'temporarily_unavailable', error_description: error.detail };
}

/**
 * Replaces methods of oidc-provider that would trust the request or compare secrets in clear text.
 */
function overrideProviderMethods(
  provider: Provider,
  realm: Realm,
  applications: Applications,
): void {
  const { Client, OIDCContext } = provider;
  Client.prototype.compareClientSecret = function compareHash(actual: string) {
    return applications.verifySecret(realm.organizationId, this.clientId, actual);
  };
  // oidc-provider allows any port of localhost for native clients; the platform requires an exact
  // match.
  Client.prototype.redirectUriAllowed = function isRegistered(uri: string) {
    return this.redirectUris?.includes(uri) === true;
  };
  // oidc-provider builds URLs from the Host header; the platform uses the issuer.
  OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options);
  // A proxy may terminate TLS; the issuer has the protocol that clients use.
  const { protocol } = new URL(realm.issuer);
  Object.defineProperty(provider.request, 'protocol', { value: protocol.slice(0, -1) });
}

/**
 * At the token endpoint, an application that waits for approval can authenticate, so that the
 * response states the reason.
 */
async function findClient(
  applications: Applications,
  realm: Realm,
  clientId: string,
): Promise<Application | undefined> {
  const application = await applications.find(realm.organizationId, clientId);
  const isPending = application?.status === 'PendingApproval' && isTokenRequest();
  const candidate = isPending ? { ...application, status: 'Enabled' as const } : application;
  return candidate !== undefined && mayUseApplication(candidate, currentDevice())
    ? application
    : undefined;
}

async function requireApproved(
  applications: Applications,
  realm: Realm,
  clientId: string,
): Promise<void> {
  const application = await applications.find(realm.organizationId, clientId);
  if (application?.status !== 'PendingApproval') return;
  throw new errors.UnauthorizedClient(
    'the application waits for the approval of an administrator or of a manager of its merchant',
  );
}

export function createRealmProvider(deps: RealmProviderDeps, realm: Realm): RealmProvider {
  const { applications, log } = deps;
  const findApplication: FindApplication = async (clientId) => {
    const application = await applications.find(realm.organizationId, clientId);
    return application && mayUseApplication(application, currentDevice()) ? application : undefined;
  };
  const cookies = sessionCookieOptions(realm.userDomainId, deps.cookieKeys);
  const provider = new Provider(realm.issuer, providerConfiguration({ ...deps, realm, cookies }));
  overrideProviderMethods(provider, realm, applications);
  provideClients(provider, (clientId) => findClient(applications, realm, clientId));
  authenticateDeviceClients(provider, deps.verifyDeviceSecret);
  checkAuthorizationRequest(provider);
  rememberCallbackErrors(provider);

  const grantDeps: GrantDeps = {
    provider,
    realm,
    clock: deps.clock,
    ids: deps.ids,
    userTokens: deps.userTokens,
    deviceTokens: createDeviceTokenIssuer(deps),
    findApplication,
    authenticate: deps.authenticate,
    findUser: (userId) => deps.findUser(realm.organizationId, userId),
    limitClient: createClientLimit(deps.limits, realm),
  };
  for (const grant of grants) {
    const handle = grant.handle(grantDeps);
    const handleApproved = async (ctx: TokenEndpointGrantContext): Promise<void> => {
      await requireApproved(applications, realm, ctx.oidc.client.clientId);
      await handle(ctx);
    };
    provider.registerGrantType(grant.grantType, handleApproved, grant.parameters);
  }
  provider.use(
    createResponseMiddleware({
      realm,
      introspection: deps.introspection,
      origins: deps.origins,
      deviceAuthUrl: deps.deviceAuthUrl,
      findApplication,
    }),
  );

  const realmLog = log.child({ realm: realm.userDomainId });
  const logError = (error: unknown) => realmLog.error({ err: error }, 'authorization server fault');
  const logGrantError = (ctx: KoaContextWithOIDC, error: errors.OIDCProviderError) =>
    realmLog.info(
      {
        client: ctx.oidc.client?.clientId,
        error: error.error,
        detail: error.error_detail ?? error.error_description,
      },
      'token request refused',
    );
  provider.onerror = logError;
  provider.on('server_error', (ctx, error) => respondToServerError(ctx, error, logError));
  provider.on('grant.error', logGrantError);
  provider.on('grant.success', ({ oidc: { client } }) => {
    if (client !== undefined) deps.recordUse(realm.organizationId, client.clientId);
  });
  return { realm, provider, cookies };
}
