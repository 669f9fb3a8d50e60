// The door of identity: realms, applications, tokens.
import { refuse } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import type { Caller, Presented } from '../http/index.ts';
import type { Clock, Database, Environment, Ids, Log } from '../platform/index.ts';
import { createApplicationManagement, type Places } from './application-management/operations.ts';
import { registerApplicationRoutes } from './application-management/routes.ts';
import { createApplicationStore } from './application-store.ts';
import {
  createApplications,
  type NewApplication,
  type NewPublicApplication,
} from './applications.ts';
import { createEntityStore } from './entity-store.ts';
import { createIntrospection } from './introspection.ts';
import { createProviders } from './providers.ts';
import { createRateLimits, defaultTokenLimits, type TokenLimits } from './rate-limits.ts';
import { createKeyRing } from './realm-keys.ts';
import { createRealms } from './realms.ts';
import { createRevision } from './revision.ts';
import { registerOauthRoutes } from './routes.ts';
import { createIdentityStore } from './store.ts';
import { createSweep } from './sweep.ts';
import type { FindDevice } from './types.ts';
import { createVerifyToken } from './verify-token.ts';

export type { Places } from './application-management/operations.ts';
export type { NewApplication } from './applications.ts';
export type { TokenLimits } from './rate-limits.ts';
export type { FindDevice, FoundDevice } from './types.ts';

export type IdentityDeps = {
  readonly database: Database;
  readonly settings: {
    readonly authUrl: string;
    /** Left out: as strict as production. */
    readonly environment?: Environment;
  };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** 32 bytes; the realms' private keys are sealed under a key derived from it. */
  readonly masterKey: Buffer;
  readonly tokenLimits?: TokenLimits;
  readonly findDevice: FindDevice;
};

export type NewUserDomain = { readonly userDomainId: string; readonly organizationId: string };
export type IssuedCredentials = { readonly clientId: string; readonly clientSecret: string };

export type Identity = {
  /** Rejects with a Refusal `token_invalid` or `token_expired`. */
  verifyToken(token: string, presented?: Presented): Promise<Caller>;
  /** The OAuth endpoints under /oauth2/v1 and /auth/realms. */
  register(app: FastifyInstance): Promise<void>;
  /** The routes by which clients manage their applications. */
  registerManagement(app: FastifyInstance, places: Places): void;
  /** A user domain is a realm: one of each organisation, with signing keys of its own. */
  createRealm(domain: NewUserDomain): Promise<void>;
  createUserDomain(domain: NewUserDomain): Promise<void>;
  rotateKeys(userDomainId: string): Promise<void>;
  createApplication(wanted: NewApplication & { userDomainId: string }): Promise<IssuedCredentials>;
  /** One that can keep no secret, such as a page or an app in the hands of its users. */
  createPublicApplication(
    wanted: NewPublicApplication & { userDomainId: string },
  ): Promise<{ clientId: string }>;
  renewSecret(organizationId: string, clientId: string): Promise<{ clientSecret: string }>;
  disableApplication(organizationId: string, clientId: string): Promise<void>;
  enableApplication(organizationId: string, clientId: string): Promise<void>;
  /** Deletes what has expired, in bounded batches; tells how many rows went. */
  sweep(): Promise<number>;
  close(): Promise<void>;
};

export function createIdentity(deps: IdentityDeps): Identity {
  const { database, settings, clock, ids, log, masterKey } = deps;
  const revision = createRevision();
  const store = createIdentityStore(database);
  const entities = createEntityStore(database);
  const keyRing = createKeyRing(masterKey);
  const { authUrl } = settings;
  const realms = createRealms({ store, entities, keyRing, clock, log, revision, authUrl });
  const applicationStore = createApplicationStore(database);
  const applications = createApplications({ store: applicationStore, clock, ids, revision });
  const verifyToken = createVerifyToken({ realms, applications, clock, revision });
  const introspection = createIntrospection({
    verify: verifyToken,
    revokeToken: realms.revokeToken,
  });
  const limits = createRateLimits(deps.tokenLimits ?? defaultTokenLimits, ids.secret());
  const providers = createProviders({
    applications,
    entities,
    introspection,
    limits,
    clock,
    ids,
    log,
  });
  const sweep = createSweep({ entities, clock, log });

  async function demandDomain(userDomainId: string, organizationId: string): Promise<void> {
    const realm = await realms.find(userDomainId);
    if (realm?.organizationId !== organizationId) {
      refuse('organization_not_found', 'The organization has no such user domain.');
    }
  }

  return {
    verifyToken,
    async register(app) {
      await registerOauthRoutes(app, {
        findRealm: realms.find,
        listenerOf: providers.of,
        limits,
      });
      sweep.start();
    },
    registerManagement(app, places) {
      const { environment = 'production' } = settings;
      const allowsLoopback = environment !== 'production';
      const store = applicationStore;
      const made = { store, applications, places, clock, ids, allowsLoopback };
      registerApplicationRoutes(app, createApplicationManagement(made));
    },
    createRealm: realms.create,
    createUserDomain: realms.create,
    rotateKeys: realms.rotateKeys,
    async createApplication({ userDomainId, ...wanted }) {
      await demandDomain(userDomainId, wanted.organizationId);
      return applications.create(wanted);
    },
    async createPublicApplication({ userDomainId, ...wanted }) {
      await demandDomain(userDomainId, wanted.organizationId);
      return applications.createPublic(wanted);
    },
    renewSecret: applications.renewSecret,
    disableApplication: (organizationId, clientId) =>
      applications.setStatus(organizationId, clientId, 'Disabled'),
    enableApplication: (organizationId, clientId) =>
      applications.setStatus(organizationId, clientId, 'Enabled'),
    sweep: sweep.run,
    close: sweep.stop,
  };
}
