// The door of identity: realms, applications, tokens.
import { refuse } from '@switchyard/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock, Database, Environment, Ids, Jobs, Log, Mail } from '../platform/index.ts';
import type { AttemptLimits } from './accounts/attempt-limits.ts';
import { type Accounts, createAccounts } from './accounts/index.ts';
import type { PasswordStrength } from './accounts/password-strength.ts';
import { createApplicationUses } from './clients/application-last-used.ts';
import {
  createApplicationManagement,
  type Places,
} from './clients/application-management/operations.ts';
import { registerApplicationRoutes } from './clients/application-management/routes.ts';
import { createApplicationStore } from './clients/application-sql.ts';
import {
  createApplications,
  type NewApplication,
  type NewPublicApplication,
} from './clients/applications.ts';
import { createPortalApplication } from './clients/portal-client.ts';
import { createPortalPlaces, type PortalPlaces } from './clients/portal-urls.ts';
import { createTills, type Tills } from './clients/pos-clients.ts';
import {
  createDevices,
  type DeviceSettings,
  type Devices,
  devicePrefix,
  deviceTokenPath,
} from './devices/index.ts';
import type { FindDevice, FindHardware, NameMerchant, TerminalClaims } from './devices/types.ts';
import { type Asked, type RecordChange, recordNothing } from './infrastructure/audit-port.ts';
import { createRevision } from './infrastructure/change-counter.ts';
import { createEntityStore } from './infrastructure/oidc-entity-sql.ts';
import {
  createRateLimits,
  defaultTokenLimits,
  type TokenLimits,
} from './infrastructure/rate-limits.ts';
import { createFlows, registerFlows } from './oauth/authorization-server.ts';
import { type Clients, createClients } from './oauth/client-verifier.ts';
import { createOrigins } from './oauth/endpoints/cors.ts';
import { registerCustomToken } from './oauth/endpoints/demo-device-token.ts';
import { registerDeviceTokenRoute } from './oauth/endpoints/device-token-route.ts';
import { createPortalIdentity, type PortalIdentity } from './oauth/portal-sign-in.ts';
import { createPageFrame, createPages, type PageSettings, type TakeSignUp } from './pages/index.ts';
import { createKeyRotation, type KeyFacts } from './realms-and-keys/key-rotation.ts';
import { createIdentityStore } from './realms-and-keys/realm-sql.ts';
import { createRealms } from './realms-and-keys/realms.ts';
import { createKeyRing, type MakeKey } from './realms-and-keys/signing-keys.ts';
import { createUserDomains, type NewUserDomain } from './realms-and-keys/user-domains.ts';
import { createSweep } from './sessions/delete-expired.ts';
import type { Interactions } from './sessions/login-interactions.ts';
import type { Sessions } from './sessions/sessions.ts';
import { createRevocations } from './tokens/revoked-tokens.ts';
import { createVerifyToken } from './tokens/verify-access-token.ts';

export type { Accounts, Profile, Upon, User, Within } from './accounts/index.ts';
export type { Places } from './clients/application-management/operations.ts';
export type { NewApplication } from './clients/applications.ts';
export { permissionsAt } from './clients/permissions.ts';
export { portalClientId } from './clients/portal-client.ts';
export {
  type PortalPlace,
  type PortalPlaces,
  portalCallbackPath,
  portalPath,
  providerPortalPath,
} from './clients/portal-urls.ts';
export type {
  CertificateHolder,
  FindDevice,
  FindHardware,
  FoundDevice,
  Hardware,
  NameMerchant,
} from './devices/types.ts';
export type { Asked, Change, RecordChange } from './infrastructure/audit-port.ts';
export type { TokenLimits } from './infrastructure/rate-limits.ts';
export type { Clients, ProvenClient } from './oauth/client-verifier.ts';
export type { PortalIdentity, PortalSignIn, PortalTokens } from './oauth/portal-sign-in.ts';
export type { KeyFacts } from './realms-and-keys/key-rotation.ts';
export { reservedDomainNames } from './realms-and-keys/user-domains.ts';
export { browserLifetime } from './tokens/refresh-token-families.ts';

/** What the device listener serves, and what nobody else does. */
export const deviceListener = { prefix: devicePrefix, only: [deviceTokenPath] } as const;

const defaultKeyDays = 90;

export type IdentityDeps = {
  readonly database: Database;
  readonly settings: DeviceSettings &
    PageSettings & {
      readonly authUrl: string;
      /** Where devices get their tokens; for the discovery documents. */
      readonly deviceAuthUrl?: string;
      /** Left out: as strict as production. */
      readonly environment?: Environment;
      readonly realmKeyDays?: number;
    };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** 32 bytes; the realms' private keys are sealed under a key derived from it. */
  readonly masterKey: Buffer;
  /** Makes the realms' private keys; left out, each is a new one. */
  readonly makeKey?: MakeKey;
  readonly tokenLimits?: TokenLimits;
  readonly attemptLimits?: AttemptLimits;
  /** Left out: word lists of its own, which several in one process may share. */
  readonly passwordStrength?: PasswordStrength;
  /** Left out, signing keys rotate by command alone, and nobody can be sent mail. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue' | 'poke'>;
  readonly mail?: Pick<Mail, 'send'>;
  /** The audit's; left out, nobody hears what was changed: for tests of other things. */
  readonly recordChange?: RecordChange;
  readonly findDevice: FindDevice;
  /** Left out, these two, no device can be certified. */
  readonly findHardware?: FindHardware;
  /** Left out, no terminal can be claimed: for tests of other things. */
  readonly terminalClaims?: TerminalClaims;
  readonly nameMerchant?: NameMerchant;
};

export type IssuedCredentials = { readonly clientId: string; readonly clientSecret: string };

export type Identity = {
  /** The people of the user domains. */
  readonly accounts: Accounts;
  /** Requests to sign in, and the sessions that come of them: for the pages. */
  readonly interactions: Interactions;
  readonly sessions: Sessions;
  /** Device certificates, and what the listeners need to know of them. */
  readonly devices: Pick<Devices, 'reader' | 'certificates' | 'authorities'>;
  /** Applications that prove themselves elsewhere than at the token endpoint. */
  readonly clients: Clients;
  /** The applications of points of sale, which change together with what provisioning has of them. */
  readonly tills: Tills;
  /** Rejects with a Refusal `token_invalid` or `token_expired`. */
  readonly verifyToken: ReturnType<typeof createVerifyToken>;
  /** The OAuth endpoints under /oauth2/v1 and /auth/realms. */
  register(app: FastifyInstance): Promise<void>;
  /** What the portal asks of the authorization server, and where portals stand. */
  readonly portal: PortalIdentity;
  readonly portalPlaces: PortalPlaces;
  /** The routes of device certificates, and those below /oauth2-mtls. */
  registerDevices(app: FastifyInstance): Promise<void>;
  /** The routes by which clients manage their applications. */
  registerManagement(app: FastifyInstance, places: Places): void;
  /** The pages for whoever has no account yet; `take` is what becomes of the form. */
  registerFront(app: FastifyInstance, take: TakeSignUp): void;
  /** A user domain is a realm: one of each organisation, with signing keys of its own. */
  createRealm(domain: NewUserDomain): Promise<void>;
  createUserDomain(domain: NewUserDomain): Promise<void>;
  /** Undefined where the organisation has none yet. */
  userDomainOf(organizationId: string): Promise<string | undefined>;
  /** All that the organisations' own administration asks of user domains. */
  readonly userDomains: ReturnType<typeof createUserDomains>;
  /** Whether somebody can sign in to it. */
  isUserDomain(userDomainId: string): Promise<boolean>;
  /** The platform's own organisation: the role of its operator is given nowhere else. */
  isOperator(organizationId: string): Promise<boolean>;
  /** New keys sign in an hour; false where that is under way already. */
  rotateKeys(userDomainId: string): Promise<boolean>;
  /** For a stolen key: new ones sign at once, and every token of the others is refused. */
  replaceKeysAtOnce(userDomainId: string): Promise<void>;
  listKeys(userDomainId: string): Promise<KeyFacts[]>;
  createApplication(
    wanted: NewApplication & { userDomainId: string },
    asked?: Asked,
  ): Promise<IssuedCredentials>;
  /** One that can keep no secret, such as a page or an app in the hands of its users. */
  createPublicApplication(
    wanted: NewPublicApplication & { userDomainId: string },
  ): Promise<{ clientId: string }>;
  renewSecret(
    organizationId: string,
    clientId: string,
    asked?: Asked,
  ): Promise<{ clientSecret: string }>;
  /** The callback of an application that stands on this machine, where its port is another one now. */
  moveCallback(organizationId: string, clientId: string, uri: string): Promise<void>;
  disableApplication(organizationId: string, clientId: string, asked?: Asked): Promise<void>;
  enableApplication(organizationId: string, clientId: string, asked?: Asked): Promise<void>;
  /** Deletes what has expired, in bounded batches; tells how many rows it found. */
  sweep(): Promise<number>;
  close(): Promise<void>;
};

type ApplicationParts = Omit<Parameters<typeof createApplications>[0], 'store' | 'builtIn'> &
  Pick<Parameters<typeof createPortalApplication>[0], 'domainOf'>;

/** Those that were registered, and the portal's, which stands where the settings say. */
function openApplications(
  { database, settings, masterKey, log }: IdentityDeps,
  { domainOf, ...parts }: ApplicationParts,
) {
  const { authUrl, baseUrl = authUrl, portalDomain } = settings;
  const portalPlaces = createPortalPlaces({ baseUrl, portalDomain });
  const builtIn = createPortalApplication({ places: portalPlaces, masterKey, domainOf });
  const applicationStore = createApplicationStore(database);
  const applications = createApplications({ ...parts, store: applicationStore, builtIn });
  const uses = createApplicationUses({ database, clock: parts.clock, log });
  return { applicationStore, applications, portalPlaces, uses };
}

type RealmParts = Pick<Parameters<typeof createRealms>[0], 'store' | 'revision'> &
  Pick<Parameters<typeof createRevocations>[0], 'entities'> &
  Pick<Parameters<typeof createKeyRotation>[0], 'clock' | 'recordChange' | 'store'>;

/** With what has been revoked in them, and new keys in their time. */
function openRealms(deps: IdentityDeps, parts: RealmParts) {
  const { masterKey, makeKey, clock, log, jobs, settings } = deps;
  const { store, entities, revision, ...told } = parts;
  const { authUrl, realmKeyDays: keyDays = defaultKeyDays } = settings;
  const keyRing = createKeyRing(masterKey, makeKey);
  const revocations = createRevocations({ entities, clock, log });
  const realms = createRealms({ store, revocations, keyRing, clock, revision, authUrl });
  const rotation = createKeyRotation({
    ...told,
    store,
    keyRing,
    realms,
    log,
    jobs,
    keyDays,
  });
  return { realms, revocations, rotation };
}

export function createIdentity(deps: IdentityDeps): Identity {
  const { database, settings, clock, ids, log, masterKey } = deps;
  const told = { clock, ids, recordChange: deps.recordChange ?? recordNothing };
  const revision = createRevision();
  const store = createIdentityStore(database);
  const entities = createEntityStore(database);
  const { authUrl, environment = 'production' } = settings;
  const opening = { ...told, store, entities, revision };
  const { realms, revocations, rotation } = openRealms(deps, opening);
  const opened = openApplications(deps, { ...told, revision, domainOf: store.findDomainOf });
  const { applicationStore, applications, portalPlaces, uses } = opened;
  const accounts = createAccounts({
    database,
    clock,
    ids,
    log,
    masterKey,
    revision,
    authUrl,
    jobs: deps.jobs,
    mail: deps.mail,
    limits: deps.attemptLimits,
    environment,
    strength: deps.passwordStrength,
    endSessions: (...which) => flows.sessions.endAll(...which),
  });
  const findUser = accounts.find;
  const using = { findUser, clock, noteUse: uses.note };
  const verifyToken = createVerifyToken({
    ...using,
    realms,
    revocations,
    applications,
    revision,
  });
  const limits = createRateLimits(deps.tokenLimits ?? defaultTokenLimits, ids.secret());
  const origins = createOrigins({ database, clock });
  const frame = createPageFrame(settings);
  const { shown } = frame;
  const devices = createDevices({ ...deps, applications });
  const flows = createFlows({
    database,
    entities,
    realms,
    applications,
    limits,
    origins,
    shown,
    masterKey,
    ...using,
    ids,
    log,
    verifyToken,
    authenticate: accounts.authenticate,
    deviceAuthUrl: settings.deviceAuthUrl,
    checkDeviceSecret: devices.checkSecret,
  });
  const { families, sessions, interactions } = flows;
  const pages = createPages({
    accounts,
    interactions,
    sessions,
    entities,
    clock,
    ids,
    masterKey,
    settings,
    frame,
    findRealm: realms.find,
  });
  const portal = createPortalIdentity({ ...flows, findUser, clock });
  const userDomains = createUserDomains({ realms, rotation, store });
  const sweep = createSweep({ entities, families, accounts, clock, log });

  async function demandDomain(userDomainId: string, organizationId: string): Promise<void> {
    const realm = await realms.find(userDomainId);
    if (realm?.organizationId !== organizationId) {
      refuse('organization_not_found', 'The organization has no such user domain.');
    }
  }

  return {
    accounts,
    interactions,
    sessions,
    devices,
    verifyToken,
    portal,
    portalPlaces,
    clients: createClients({
      applications,
      applicationStore,
      devices,
      clock,
      realms,
      revocations,
      findUser,
    }),
    tills: createTills({ applications, clock, ids }),
    async register(app) {
      const findRealm = realms.find;
      const verifyRequest = (request: FastifyRequest, token: string) =>
        verifyToken(token, devices.reader.presentedBy(request));
      await registerFlows(app, {
        flows,
        findRealm,
        applications,
        limits,
        origins,
        shown,
        findUser,
        verifyRequest,
      });
      if (settings.environment === 'demo') {
        await registerCustomToken(app, {
          findRealm,
          verifyToken,
          findUser,
          findDevice: deps.findDevice,
          limits,
          clock,
          families,
          userTokens: flows.userTokens,
          findApplication: applications.find,
        });
      }
      pages.register(app);
      sweep.start();
    },
    registerFront: pages.registerFront,
    async registerDevices(app) {
      await devices.register(app);
      const { listenerOf } = flows;
      await registerDeviceTokenRoute(app, { devices, findRealm: realms.find, listenerOf, limits });
    },
    registerManagement(app, places) {
      const allowsLoopback = environment !== 'production';
      const made = { ...told, store: applicationStore, applications, uses, places, allowsLoopback };
      registerApplicationRoutes(app, createApplicationManagement(made));
    },
    createRealm: userDomains.create,
    createUserDomain: userDomains.create,
    userDomains,
    userDomainOf: userDomains.of,
    isUserDomain: async (userDomainId) => (await realms.find(userDomainId)) !== undefined,
    isOperator: (organizationId) => applicationStore.hasRole(organizationId, 'PlatformOperator'),
    rotateKeys: rotation.rotate,
    replaceKeysAtOnce: rotation.replaceAtOnce,
    listKeys: rotation.list,
    async createApplication({ userDomainId, ...wanted }, asked) {
      await demandDomain(userDomainId, wanted.organizationId);
      return applications.create(wanted, asked);
    },
    async createPublicApplication({ userDomainId, ...wanted }) {
      await demandDomain(userDomainId, wanted.organizationId);
      return applications.createPublic(wanted);
    },
    renewSecret: applications.renewSecret,
    moveCallback: applications.moveCallback,
    disableApplication: (organizationId, clientId, asked) =>
      applications.setStatus({ organizationId, clientId }, 'Disabled', asked),
    enableApplication: (organizationId, clientId, asked) =>
      applications.setStatus({ organizationId, clientId }, 'Enabled', asked),
    sweep: sweep.run,
    async close() {
      await Promise.all([sweep.stop(), uses.close()]);
      await accounts.close();
    },
  };
}
