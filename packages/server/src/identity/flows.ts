// Puts the parts of signing in together: providers of the realms, families of tokens, sessions.
import type { VerifyToken } from '../http/index.ts';
import type { Clock, Database, Ids, Log } from '../platform/index.ts';
import type { Accounts, User } from './accounts/index.ts';
import type { Applications } from './applications.ts';
import { createCookieKeys } from './cookies.ts';
import type { EntityStore } from './entity-store.ts';
import { createFamilies } from './families.ts';
import { createFamilyStore } from './family-store.ts';
import { createInteractions } from './interactions.ts';
import { createIntrospection } from './introspection.ts';
import type { Listener } from './pass-on.ts';
import type { RealmProvider } from './provider.ts';
import { createProviders } from './providers.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Realms } from './realms.ts';
import { createSessions } from './sessions.ts';
import type { Shown } from './shown.ts';
import type { Realm } from './types.ts';
import { createUserTokens } from './user-tokens.ts';

export type FlowsDeps = {
  readonly database: Database;
  readonly entities: EntityStore;
  readonly realms: Realms;
  readonly applications: Applications;
  readonly limits: RateLimits;
  readonly shown: Shown;
  readonly masterKey: Buffer;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly verifyToken: VerifyToken;
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  readonly authenticate: Accounts['authenticate'];
};

export function createFlows(deps: FlowsDeps) {
  const { database, entities, realms, clock, ids, log, findUser, masterKey } = deps;
  const families = createFamilies({
    store: createFamilyStore(database),
    clock,
    ids,
    log,
    revoke: (organizationId, ended) =>
      realms.revokeAll(
        organizationId,
        ended.map(({ familyId, accessExpiresAt }) => ({
          id: familyId,
          expiresAt: accessExpiresAt,
        })),
      ),
  });
  const userTokens = createUserTokens({ families, ids });
  const introspection = createIntrospection({
    verify: deps.verifyToken,
    revokeToken: realms.revokeToken,
  });
  const cookieKeys = createCookieKeys(masterKey);
  const providers = createProviders({ ...deps, introspection, userTokens, cookieKeys });
  const providerOf = async (userDomainId: string): Promise<RealmProvider | undefined> => {
    const realm = await realms.find(userDomainId);
    return realm === undefined ? undefined : providers.of(realm);
  };
  const sessions = createSessions({ entities, families, clock, providerOf, findUser });
  return {
    families,
    userTokens,
    sessions,
    interactions: createInteractions({ providerOf, sessions, clock }),
    listenerOf: (realm: Realm): Listener => providers.of(realm).listener,
  };
}
