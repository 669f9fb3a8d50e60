// Puts the parts of signing in together: providers of the realms, families of tokens, sessions.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller, VerifyToken } from '../../http/index.ts';
import type { Clock, Database, Ids, Log } from '../../platform/index.ts';
import type { Accounts, User } from '../accounts/index.ts';
import type { Applications } from '../clients/applications.ts';
import type { DeviceSecrets } from '../devices/device-secrets.ts';
import type { EntityStore } from '../infrastructure/oidc-entity-sql.ts';
import type { RateLimits } from '../infrastructure/rate-limits.ts';
import type { Realm } from '../realms-and-keys/realm.ts';
import type { Realms } from '../realms-and-keys/realms.ts';
import { createInteractions } from '../sessions/login-interactions.ts';
import type { RealmProvider } from '../sessions/realm-provider.ts';
import { createCookieKeys } from '../sessions/session-cookies.ts';
import { createSessions } from '../sessions/sessions.ts';
import { createUserTokens } from '../tokens/issue-user-tokens.ts';
import { createFamilies } from '../tokens/refresh-token-families.ts';
import { createFamilyStore } from '../tokens/refresh-token-family-sql.ts';
import { registerAuthorizationRoutes } from './endpoints/authorization-routes.ts';
import { createAuthenticateClient } from './endpoints/client-authentication.ts';
import type { Origins } from './endpoints/cors.ts';
import { createIntrospection } from './endpoints/introspection.ts';
import { createLogout } from './endpoints/logout.ts';
import { registerLogoutRoutes } from './endpoints/logout-routes.ts';
import { registerOauthRoutes } from './endpoints/oauth-routes.ts';
import { registerRealmDocument } from './endpoints/realm-document.ts';
import { registerUserInfo } from './endpoints/userinfo.ts';
import { createProviders } from './provider/provider-cache.ts';
import type { Listener } from './provider/provider-dispatch.ts';
import type { Shown } from './rendered-pages.ts';

export type FlowsDeps = {
  readonly database: Database;
  readonly entities: EntityStore;
  readonly realms: Realms;
  readonly applications: Applications;
  readonly limits: RateLimits;
  readonly origins: Origins;
  readonly shown: Shown;
  readonly masterKey: Buffer;
  readonly deviceAuthUrl?: string | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly verifyToken: VerifyToken;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  readonly authenticate: Accounts['authenticate'];
  readonly checkDeviceSecret: DeviceSecrets['check'];
  noteUse(organizationId: string, clientId: string): void;
};

export type Flows = ReturnType<typeof createFlows>;

export function createFlows(deps: FlowsDeps) {
  const { database, entities, realms, clock, ids, log, findUser, masterKey } = deps;
  const families = createFamilies({
    store: createFamilyStore(database),
    clock,
    ids,
    log,
    changed: realms.familiesEnded,
  });
  const userTokens = createUserTokens({ families, ids });
  const introspection = createIntrospection({
    verify: deps.verifyToken,
    families,
    clock,
    revokeToken: realms.revokeToken,
    findUser,
  });
  const cookieKeys = createCookieKeys(masterKey);
  const providers = createProviders({ ...deps, introspection, userTokens, cookieKeys });
  const providerOf = async (userDomainId: string): Promise<RealmProvider | undefined> => {
    const realm = await realms.find(userDomainId);
    return realm === undefined ? undefined : providers.of(realm);
  };
  const sessions = createSessions({ entities, families, clock, providerOf, findUser });
  const findApplication = deps.applications.find;
  return {
    findRealm: realms.find,
    findApplication,
    families,
    providerOf,
    logout: createLogout({ sessions, families, findApplication, masterKey, clock }),
    userTokens,
    sessions,
    interactions: createInteractions({ providerOf, sessions, clock }),
    listenerOf: (realm: Realm): Listener => providers.of(realm).listener,
  };
}

export type FlowRoutesDeps = {
  readonly flows: Flows;
  readonly findRealm: Realms['find'];
  readonly applications: Applications;
  readonly limits: RateLimits;
  readonly origins: Origins;
  readonly shown: Shown;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  verifyRequest(request: FastifyRequest, token: string): Promise<Caller>;
};

export async function registerFlows(app: FastifyInstance, deps: FlowRoutesDeps): Promise<void> {
  const { flows, findRealm, applications, limits, origins, shown } = deps;
  const { listenerOf, providerOf, sessions, logout } = flows;
  const { findUser, verifyRequest } = deps;
  const { checkSecret } = applications;
  const authenticateClient = createAuthenticateClient(applications);
  await registerOauthRoutes(app, { findRealm, listenerOf, limits, origins });
  await registerAuthorizationRoutes(app, { findRealm, listenerOf, checkSecret, limits, shown });
  await registerUserInfo(app, { findRealm, verifyRequest, findUser, origins, limits });
  await registerRealmDocument(app, { findRealm, limits });
  const toLeave = { providerOf, authenticateClient, logout, sessions };
  await registerLogoutRoutes(app, { ...toLeave, findRealm, limits, shown });
}
