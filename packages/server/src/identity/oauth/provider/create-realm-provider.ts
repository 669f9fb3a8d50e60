// The authorization server of one realm: oidc-provider with the platform's rules.
import { errorCodes, Refusal } from '@switchyard/contract';
import Provider, {
  errors,
  type KoaContextWithOIDC,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import type { Clock, Ids, Log } from '../../../platform/index.ts';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application.ts';
import type { Applications } from '../../clients/applications.ts';
import { mayAct } from '../../clients/device-client.ts';
import { presentedDevice } from '../../devices/authenticated-device.ts';
import type { DeviceSecrets } from '../../devices/device-secrets.ts';
import { createDeviceTokens } from '../../devices/device-tokens.ts';
import type { EntityStore } from '../../infrastructure/oidc-entity-sql.ts';
import type { RateLimits } from '../../infrastructure/rate-limits.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import type { RealmProvider } from '../../sessions/realm-provider.ts';
import { type CookieKeys, cookieOptions } from '../../sessions/session-cookies.ts';
import type { UserTokens } from '../../tokens/issue-user-tokens.ts';
import type { Origins } from '../endpoints/cors.ts';
import type { Introspection } from '../endpoints/introspection.ts';
import type { GrantDeps } from '../grants/grant.ts';
import { grants } from '../grants/grant-table.ts';
import type { Shown } from '../rendered-pages.ts';
import { checkAuthorizationRequest, noteCallbackFaults } from './authorize-request-checks.ts';
import { serveClients } from './client-cache.ts';
import {
  authenticateDevices,
  deviceOfNow,
  isTokenRequest,
} from './device-client-authentication.ts';
import { configure } from './provider-configuration.ts';
import { createAnswers } from './response-changes.ts';

export type ProviderDeps = {
  applications: Applications;
  entities: EntityStore;
  introspection: Introspection;
  origins: Origins;
  deviceAuthUrl?: string | undefined;
  limits: RateLimits;
  userTokens: UserTokens;
  cookieKeys: CookieKeys;
  shown: Shown;
  clock: Clock;
  ids: Ids;
  log: Log;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  authenticate: GrantDeps['authenticate'];
  checkDeviceSecret: DeviceSecrets['check'];
  /** An application got a token. */
  noteUse(organizationId: string, clientId: string): void;
};

export type FindApplication = (clientId: string) => Promise<Application | undefined>;

function limitClientWith(limits: RateLimits, realm: Realm): GrantDeps['limitClient'] {
  return async (ctx, clientId) => {
    // The devices of a merchant share a client: one that never stops asking must not stop the others.
    const asking = presentedDevice(ctx.req)?.thumbprint ?? clientId;
    const wait = limits.client(realm.userDomainId, asking);
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

/** Where the library asks the request, or compares, ours goes by what is registered. */
function replaceParts(provider: Provider, realm: Realm, applications: Applications): void {
  const { Client, OIDCContext } = provider;
  Client.prototype.compareClientSecret = function compareHash(actual: string) {
    return applications.checkSecret(realm.organizationId, this.clientId, actual);
  };
  // The library lets native clients come back to any port of the loopback.
  Client.prototype.redirectUriAllowed = function isRegistered(uri: string) {
    return this.redirectUris?.includes(uri) === true;
  };
  // The library builds addresses from the Host header; ours do not depend on who asks.
  OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options);
  // The proxy that may end TLS is known to the server alone; to people all of this is https.
  const { protocol } = new URL(realm.issuer);
  Object.defineProperty(provider.request, 'protocol', { value: protocol.slice(0, -1) });
}

/** At the token endpoint an application that waits for approval proves itself, so that it hears the reason. */
async function findClient(
  applications: Applications,
  realm: Realm,
  clientId: string,
): Promise<Application | undefined> {
  const application = await applications.find(realm.organizationId, clientId);
  const isPending = application?.status === 'PendingApproval' && isTokenRequest();
  const facts = isPending ? { ...application, status: 'Enabled' as const } : application;
  return facts !== undefined && mayAct(facts, deviceOfNow()) ? application : undefined;
}

async function demandApproved(
  applications: Applications,
  realm: Realm,
  clientId: string,
): Promise<void> {
  const application = await applications.find(realm.organizationId, clientId);
  if (application?.status !== 'PendingApproval') return;
  throw new errors.UnauthorizedClient(
    'the application waits for the approval of an administrator or of the manager of its merchant',
  );
}

export function createRealmProvider(deps: ProviderDeps, realm: Realm): RealmProvider {
  const { applications, log } = deps;
  const find: FindApplication = async (clientId) => {
    const application = await applications.find(realm.organizationId, clientId);
    return application && mayAct(application, deviceOfNow()) ? application : undefined;
  };
  const cookies = cookieOptions(realm.userDomainId, deps.cookieKeys);
  const provider = new Provider(realm.issuer, configure({ ...deps, realm, cookies }));
  replaceParts(provider, realm, applications);
  serveClients(provider, (clientId) => findClient(applications, realm, clientId));
  authenticateDevices(provider, deps.checkDeviceSecret);
  checkAuthorizationRequest(provider);
  noteCallbackFaults(provider);

  const grantDeps: GrantDeps = {
    provider,
    realm,
    clock: deps.clock,
    ids: deps.ids,
    userTokens: deps.userTokens,
    deviceTokens: createDeviceTokens(deps),
    findApplication: find,
    authenticate: deps.authenticate,
    findUser: (userId) => deps.findUser(realm.organizationId, userId),
    limitClient: limitClientWith(deps.limits, realm),
  };
  for (const grant of grants) {
    const handle = grant.handle(grantDeps);
    const handleApproved = async (ctx: TokenEndpointGrantContext): Promise<void> => {
      await demandApproved(applications, realm, ctx.oidc.client.clientId);
      await handle(ctx);
    };
    provider.registerGrantType(grant.grantType, handleApproved, grant.parameters);
  }
  provider.use(
    createAnswers({
      realm,
      introspection: deps.introspection,
      origins: deps.origins,
      deviceAuthUrl: deps.deviceAuthUrl,
      find,
    }),
  );

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
  provider.on('grant.success', ({ oidc: { client } }) => {
    if (client !== undefined) deps.noteUse(realm.organizationId, client.clientId);
  });
  return { realm, provider, cookies };
}
