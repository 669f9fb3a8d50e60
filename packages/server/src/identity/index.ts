// The door of identity: realms, applications, tokens.
import { refuse } from '@switchyard/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock, Database, Environment, Ids, Jobs, Log, Mail } from '../platform/index.ts';
import { type Accounts, createAccounts } from './accounts/index.ts';
import type { PasswordStrength } from './accounts/passwords/password-strength.ts';
import type { AttemptLimits } from './accounts/sign-in-attempts/attempt-limits.ts';
import { createApplicationManagement, type Places } from './application-management/operations.ts';
import { registerApplicationRoutes } from './application-management/routes.ts';
import { createApplicationStore } from './application-store.ts';
import { createApplicationUses } from './application-uses.ts';
import {
  createApplications,
  type NewApplication,
  type NewPublicApplication,
} from './applications.ts';
import { type Asked, type RecordChange, recordNothing } from './changes.ts';
import { type Clients, createClients } from './clients.ts';
import { registerCustomToken } from './custom-token.ts';
import {
  createDevices,
  type DeviceSettings,
  type Devices,
  devicePrefix,
  deviceTokenPath,
} from './devices/index.ts';
import type { FindHardware, NameMerchant, TerminalClaims } from './devices/types.ts';
import { createEntityStore } from './entity-store.ts';
import { createFlows, registerFlows } from './flows.ts';
import type { Interactions } from './interactions.ts';
import { createKeyRotation, type KeyFacts } from './key-rotation.ts';
import {
  createLoginPageFrame,
  createLoginPages,
  type LoginPageSettings,
  type SubmitSignUp,
} from './login-pages/index.ts';
import { createOrigins } from './origins.ts';
import { createPortalApplication } from './portal-application.ts';
import { createPortalPlaces, type PortalPlaces } from './portal-places.ts';
import { createPortalIdentity, type PortalIdentity } from './portal-sign-in.ts';
import { createRateLimits, defaultTokenLimits, type TokenLimits } from './rate-limits.ts';
import { createKeyRing, type MakeKey } from './realm-keys.ts';
import { createRealms } from './realms.ts';
import { createRevision } from './revision.ts';
import { createRevocations } from './revocations.ts';
import type { Sessions } from './sessions.ts';
import { createIdentityStore } from './store.ts';
import { createSweep } from './sweep.ts';
import { createTills, type Tills } from './tills.ts';
import type { FindDevice } from './types.ts';
import { createUserDomains, type NewUserDomain } from './user-domains.ts';
import { createVerifyToken } from './verify-token.ts';

export type {
  Accounts,
  TransactionHook,
  User,
  UserChangeHooks,
  UserProfile,
} from './accounts/index.ts';
export type { Places } from './application-management/operations.ts';
export type { NewApplication } from './applications.ts';
export type { Asked, Change, RecordChange } from './changes.ts';
export type { Clients, ProvenClient } from './clients.ts';
export type {
  CertificateHolder,
  FindHardware,
  Hardware,
  NameMerchant,
} from './devices/types.ts';
export { browserLifetime } from './families.ts';
export type { KeyFacts } from './key-rotation.ts';
export { permissionsAt } from './permissions.ts';
export { portalClientId } from './portal-application.ts';
export {
  type PortalPlace,
  type PortalPlaces,
  portalCallbackPath,
  portalPath,
  providerPortalPath,
} from './portal-places.ts';
export type { PortalIdentity, PortalSignIn, PortalTokens } from './portal-sign-in.ts';
export type { TokenLimits } from './rate-limits.ts';
export type { FindDevice, FoundDevice } from './types.ts';
export { reservedDomainNames } from './user-domains.ts';

/** What the device listener serves, and what nobody else does. */
export const deviceListener = { prefix: devicePrefix, exclusiveRoutes: [deviceTokenPath] } as const;

const defaultKeyDays = 90;

export type IdentityDeps = {
  readonly database: Database;
  readonly settings: DeviceSettings &
    LoginPageSettings & {
      readonly authUrl: string;
      /** Where devices get their tokens; for the discovery documents. */
      readonly deviceAuthUrl?: string;
      /** Left out: as strict as production. */
      readonly environment?: Environment;
      readonly realmKeyRotationDays?: number;
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
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
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
  registerFront(app: FastifyInstance, take: SubmitSignUp): void;
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
  const { authUrl, realmKeyRotationDays: keyDays = defaultKeyDays } = settings;
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
    passwordStrength: deps.passwordStrength,
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
  const frame = createLoginPageFrame(settings);
  const { providerPages: shown } = frame;
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
  const pages = createLoginPages({
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
        verifyToken(token, devices.reader.presentedCertificate(request));
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
    registerFront: pages.registerPublicPages,
    registerDevices: (app) =>
      devices.register(app, { findRealm: realms.find, listenerOf: flows.listenerOf, limits }),
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
