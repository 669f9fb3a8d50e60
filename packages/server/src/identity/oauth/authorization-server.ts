// Assembles the authorization server: oidc-provider instances, refresh-token families, sessions,
// endpoints.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { Caller, VerifyToken } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  type Ids,
  type Log,
  lruCacheOptions,
} from '../../platform/index.ts';
import type { Accounts, User } from '../accounts/index.ts';
import type { Applications } from '../clients/applications.ts';
import type { DeviceSecrets } from '../devices/device-secrets.ts';
import type { OAuthEndpointLimits } from '../infrastructure/oauth-endpoint-limits.ts';
import type { OidcEntityStore } from '../infrastructure/oidc-entity-sql.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { Realms } from '../realms-and-keys/realms.ts';
import { createLoginInteractions } from '../sessions/login-interactions.ts';
import type { RealmProvider } from '../sessions/realm-provider.ts';
import { createCookieSigningKeys } from '../sessions/session-cookies.ts';
import { createSessions } from '../sessions/sessions.ts';
import { createUserTokenIssuer } from '../tokens/issue-user-tokens.ts';
import { createTokenFamilies } from '../tokens/refresh-token-families.ts';
import { createTokenFamilyStore } from '../tokens/refresh-token-family-sql.ts';
import { registerAuthorizationRoutes } from './endpoints/authorization-routes.ts';
import { createAuthenticateClient } from './endpoints/client-authentication.ts';
import type { RegisteredOrigins } from './endpoints/cors.ts';
import { createIntrospection } from './endpoints/introspection.ts';
import { registerRealmDocument } from './endpoints/keycloak-realm-document.ts';
import { createLogout } from './endpoints/logout.ts';
import { registerLogoutRoutes } from './endpoints/logout-routes.ts';
import { registerOauthRoutes } from './endpoints/oauth-routes.ts';
import { registerUserInfo } from './endpoints/userinfo.ts';
import { createRealmProvider, type RealmProviderDeps } from './provider/create-realm-provider.ts';
import type { ProviderListener } from './provider/provider-dispatch.ts';
import type { PageRenderer } from './rendered-pages.ts';

/** About 50 KB each; creating one again takes less than a millisecond. */
const maxCachedProviders = 500;

type RequestListener = ReturnType<RealmProvider['provider']['callback']>;
type CachedProvider = RealmProvider & {
  readonly fingerprint: string;
  readonly listener: RequestListener;
};

type ProviderCache = {
  get(realm: Realm): RealmProvider & { readonly listener: RequestListener };
};

function fingerprint({ organizationId, keys, signing }: Realm): string {
  return [organizationId, signing.ES256.keyId, signing.RS256.keyId, ...keys.keys()].join(' ');
}

function createProviderCache(deps: RealmProviderDeps): ProviderCache {
  const cache = new LRUCache<string, CachedProvider>(lruCacheOptions(maxCachedProviders));
  return {
    get(realm) {
      const currentFingerprint = fingerprint(realm);
      const cached = cache.get(realm.userDomainId);
      if (cached?.fingerprint === currentFingerprint) return cached;
      const realmProvider = createRealmProvider(deps, realm);
      const entry = {
        ...realmProvider,
        fingerprint: currentFingerprint,
        listener: realmProvider.provider.callback(),
      };
      cache.set(realm.userDomainId, entry);
      return entry;
    },
  };
}

export type AuthorizationServerDeps = {
  readonly database: Database;
  readonly entities: OidcEntityStore;
  readonly realms: Realms;
  readonly applications: Applications;
  readonly limits: OAuthEndpointLimits;
  readonly origins: RegisteredOrigins;
  readonly pageRenderer: PageRenderer;
  readonly masterKey: Buffer;
  readonly deviceAuthUrl?: string | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly verifyToken: VerifyToken;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  readonly authenticate: Accounts['authenticate'];
  readonly verifyDeviceSecret: DeviceSecrets['verify'];
  recordUse(organizationId: string, clientId: string): void;
};

export type AuthorizationServer = ReturnType<typeof createAuthorizationServer>;

export function createAuthorizationServer(deps: AuthorizationServerDeps) {
  const { database, entities, realms, clock, ids, log, findUser, masterKey } = deps;
  const families = createTokenFamilies({
    store: createTokenFamilyStore(database),
    clock,
    ids,
    log,
    onFamiliesEnded: realms.invalidateOrganization,
  });
  const userTokens = createUserTokenIssuer({ families, ids });
  const introspection = createIntrospection({
    verify: deps.verifyToken,
    families,
    clock,
    revokeToken: realms.revokeToken,
    findUser,
  });
  const cookieKeys = createCookieSigningKeys(masterKey);
  const providers = createProviderCache({ ...deps, introspection, userTokens, cookieKeys });
  const findRealmProvider = async (userDomainId: string): Promise<RealmProvider | undefined> => {
    const realm = await realms.find(userDomainId);
    return realm === undefined ? undefined : providers.get(realm);
  };
  const sessions = createSessions({ entities, families, clock, findRealmProvider, findUser });
  const findApplication = deps.applications.find;
  return {
    findRealm: realms.find,
    findApplication,
    families,
    findRealmProvider,
    logout: createLogout({ sessions, families, findApplication, masterKey, clock }),
    userTokens,
    sessions,
    interactions: createLoginInteractions({ findRealmProvider, sessions, clock }),
    findListener: (realm: Realm): ProviderListener => providers.get(realm).listener,
  };
}

export type AuthorizationServerRouteDeps = {
  readonly authorizationServer: AuthorizationServer;
  readonly findRealm: Realms['find'];
  readonly applications: Applications;
  readonly limits: OAuthEndpointLimits;
  readonly origins: RegisteredOrigins;
  readonly pageRenderer: PageRenderer;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  verifyRequest(request: FastifyRequest, token: string): Promise<Caller>;
};

export async function registerAuthorizationServer(
  app: FastifyInstance,
  deps: AuthorizationServerRouteDeps,
): Promise<void> {
  const { authorizationServer, findRealm, applications, limits, origins, pageRenderer } = deps;
  const { findListener, findRealmProvider, sessions, logout } = authorizationServer;
  const { findUser, verifyRequest } = deps;
  const { verifySecret } = applications;
  const authenticateClient = createAuthenticateClient(applications);
  await registerOauthRoutes(app, { findRealm, findListener, limits, origins });
  await registerAuthorizationRoutes(app, {
    findRealm,
    findListener,
    verifySecret,
    limits,
    pageRenderer,
  });
  await registerUserInfo(app, { findRealm, verifyRequest, findUser, origins, limits });
  await registerRealmDocument(app, { findRealm, limits });
  const logoutDeps = { findRealmProvider, authenticateClient, logout, sessions };
  await registerLogoutRoutes(app, { ...logoutDeps, findRealm, limits, pageRenderer });
}
