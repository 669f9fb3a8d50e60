// The interface of the module identity: user domains, users, applications, devices, tokens.
import { throwProblem } from '@switchyard/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type {
  CleanupJob,
  Clock,
  Database,
  Environment,
  Ids,
  Jobs,
  Log,
  Mail,
} from '../platform/index.ts';
import { type Accounts, createAccounts } from './accounts/index.ts';
import type { PasswordHasher } from './accounts/passwords/password-hashing.ts';
import type { PasswordStrength } from './accounts/passwords/password-strength.ts';
import type { AttemptLimits } from './accounts/sign-in-attempts/attempts-per-ip-address.ts';
import { createApplicationLastUsed } from './clients/application-last-used.ts';
import {
  createApplicationManagement,
  type LocationChecks,
} from './clients/application-management/operations.ts';
import { registerApplicationRoutes } from './clients/application-management/routes.ts';
import { createApplicationStore } from './clients/application-sql.ts';
import {
  type Applications,
  createApplications,
  type NewApplication,
  type NewPublicApplication,
} from './clients/applications.ts';
import { createPortalClient } from './clients/portal-client.ts';
import { createPortalUrls, type PortalUrls } from './clients/portal-urls.ts';
import { createPosClients, type PosClients } from './clients/pos-clients.ts';
import {
  createDevices,
  type DeviceSettings,
  type Devices,
  devicePathPrefix,
  deviceTokenPath,
} from './devices/index.ts';
import type {
  FindDevice,
  FindMerchantName,
  FindTerminal,
  TerminalClaims,
} from './devices/types.ts';
import {
  type AuditContext,
  type RecordChange,
  recordNothing,
} from './infrastructure/audit-port.ts';
import { createChangeCounter } from './infrastructure/change-counter.ts';
import {
  createOAuthEndpointLimits,
  defaultTokenLimits,
  type TokenLimits,
} from './infrastructure/oauth-endpoint-limits.ts';
import { createOidcEntityStore } from './infrastructure/oidc-entity-sql.ts';
import {
  createLoginPageFrame,
  createLoginPages,
  type LoginPageSettings,
  type SubmitSignUp,
} from './login-pages/index.ts';
import {
  createAuthorizationServer,
  registerAuthorizationServer,
} from './oauth/authorization-server.ts';
import { type ClientVerifier, createClientVerifier } from './oauth/client-verifier.ts';
import { createRegisteredOrigins } from './oauth/endpoints/cors.ts';
import { registerDemoDeviceToken } from './oauth/endpoints/demo-device-token.ts';
import { registerDeviceTokenRoute } from './oauth/endpoints/device-token-route.ts';
import { createPortalAuthorization, type PortalAuthorization } from './oauth/portal-sign-in.ts';
import { createKeyRotation } from './realms-and-keys/key-rotation.ts';
import { createRealmStore } from './realms-and-keys/realm-sql.ts';
import { createRealms } from './realms-and-keys/realms.ts';
import { createKeyRing, type GeneratePrivateKey } from './realms-and-keys/signing-keys.ts';
import { createUserDomains, type NewUserDomain } from './realms-and-keys/user-domains.ts';
import type { LoginInteractions } from './sessions/login-interactions.ts';
import type { Sessions } from './sessions/sessions.ts';
import { createRevokedTokens } from './tokens/revoked-tokens.ts';
import { createAccessTokenVerifier } from './tokens/verify-access-token.ts';

export type {
  Accounts,
  TransactionHook,
  User,
  UserChangeHooks,
  UserProfile,
} from './accounts/index.ts';
export type { LocationChecks } from './clients/application-management/operations.ts';
export type { NewApplication } from './clients/applications.ts';
export { effectivePermissions } from './clients/permissions.ts';
export { portalClientId } from './clients/portal-client.ts';
export {
  type PortalSite,
  type PortalUrls,
  portalCallbackPath,
  portalPath,
  providerPortalPath,
} from './clients/portal-urls.ts';
export type {
  CertificateHolder,
  FindDevice,
  FindMerchantName,
  FindTerminal,
  FoundDevice,
  Terminal,
} from './devices/types.ts';
export type { AuditChange, AuditContext, RecordChange } from './infrastructure/audit-port.ts';
export type { TokenLimits } from './infrastructure/oauth-endpoint-limits.ts';
export { requireOwnUserDomain, userDomainIdSchema } from './infrastructure/own-user-domain.ts';
export type { ClientVerifier, VerifiedClient } from './oauth/client-verifier.ts';
export type { PortalAuthorization, PortalSignIn, PortalTokens } from './oauth/portal-sign-in.ts';
export type { SigningKeySummary } from './realms-and-keys/key-rotation.ts';
export { reservedDomainNames } from './realms-and-keys/user-domains.ts';
export { browserSessionLifetime } from './tokens/refresh-token-families.ts';

/** Only the device listener serves these paths. */
export const deviceListener = {
  prefix: devicePathPrefix,
  exclusiveRoutes: [deviceTokenPath],
} as const;

const defaultKeyRotationDays = 90;

export type IdentityDeps = {
  readonly database: Database;
  readonly settings: DeviceSettings &
    LoginPageSettings & {
      readonly authUrl: string;
      /** The address of the device listener, for the discovery documents. */
      readonly deviceAuthUrl?: string;
      /** Default: production, with all of its checks. */
      readonly environment?: Environment;
      readonly realmKeyRotationDays?: number;
    };
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** 32 bytes; a key derived from it encrypts the private keys of the realms. */
  readonly masterKey: Buffer;
  /** Generates the private keys of realms; default: a new key each time. */
  readonly generatePrivateKey?: GeneratePrivateKey;
  readonly tokenLimits?: TokenLimits;
  readonly attemptLimits?: AttemptLimits;
  /** Default: word lists of its own; several instances in one process can share them. */
  readonly passwordStrength?: PasswordStrength;
  /** For tests; default: argon2id with the parameters of ADR 0016. */
  readonly passwordHasher?: PasswordHasher;
  /** Without jobs, signing keys rotate by command only, and the server sends no mail. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue' | 'wake'>;
  readonly mail?: Pick<Mail, 'send'>;
  /** Writes the audit log; without it, changes are not recorded (tests of other features). */
  readonly recordChange?: RecordChange;
  readonly findDevice: FindDevice;
  /** Without this and `findMerchantName`, no device gets a certificate. */
  readonly findTerminal?: FindTerminal;
  /** Without it, no terminal can be claimed (tests of other features). */
  readonly terminalClaims?: TerminalClaims;
  readonly findMerchantName?: FindMerchantName;
};

export type IssuedCredentials = { readonly clientId: string; readonly clientSecret: string };

export type Identity = {
  /** The users of the user domains. */
  readonly accounts: Accounts;
  /** Login requests of applications, for the login pages. */
  readonly interactions: LoginInteractions;
  readonly sessions: Sessions;
  /** Device certificates, and the ports that the listeners need. */
  readonly devices: Pick<Devices, 'reader' | 'certificates' | 'authorities'>;
  /** Authenticates applications that do not use the token endpoint, such as WebSocket clients. */
  readonly clientVerifier: ClientVerifier;
  /** The OAuth clients of points of sale; provisioning changes them in its own transactions. */
  readonly posClients: PosClients;
  /** Rejects with a ProblemError `token_invalid` or `token_expired`. */
  readonly verifyToken: ReturnType<typeof createAccessTokenVerifier>;
  /** Registers the OAuth endpoints under /oauth2/v1 and /auth/realms, and the login pages. */
  register(app: FastifyInstance): Promise<void>;
  /** The authorization server as the portal calls it, in this process. */
  readonly portalAuthorization: PortalAuthorization;
  readonly portalUrls: PortalUrls;
  /** Registers the routes of device certificates, and those below /oauth2-mtls. */
  registerDevices(app: FastifyInstance): Promise<void>;
  /** Registers the routes of application management. */
  registerApplicationManagement(app: FastifyInstance, locationChecks: LocationChecks): void;
  /** Registers the pages for visitors without an account; `submitSignUp` receives the form. */
  registerSignUpPages(app: FastifyInstance, submitSignUp: SubmitSignUp): void;
  /** A user domain is a realm with signing keys of its own; each organisation has one. */
  createUserDomain(domain: NewUserDomain): Promise<void>;
  readonly userDomains: ReturnType<typeof createUserDomains>;
  /** Whether an enabled user domain has this name. */
  userDomainExists(userDomainId: string): Promise<boolean>;
  /** Whether the organisation operates the platform: only there the role PlatformOperator exists. */
  isOperator(organizationId: string): Promise<boolean>;
  /** The signing keys of the user domains. */
  readonly signingKeys: Pick<
    ReturnType<typeof createKeyRotation>,
    'rotate' | 'replaceAtOnce' | 'list'
  >;
  createApplication(
    newApplication: NewApplication & { userDomainId: string },
    context?: AuditContext,
  ): Promise<IssuedCredentials>;
  /** For an application that cannot keep a secret, such as a page or a mobile app. */
  createPublicApplication(
    newApplication: NewPublicApplication & { userDomainId: string },
  ): Promise<{ clientId: string }>;
  rotateSecret(
    organizationId: string,
    clientId: string,
    context?: AuditContext,
  ): Promise<{ clientSecret: string }>;
  /** Replaces the one callback of an application on this machine where only the port has changed. */
  updateCallbackPort(organizationId: string, clientId: string, uri: string): Promise<void>;
  readonly setApplicationStatus: Applications['setStatus'];
  /** Delete expired codes, sessions, refresh tokens, links and login records. */
  readonly cleanupJobs: readonly CleanupJob[];
  close(): Promise<void>;
};

const deleteEveryMs = 300_000;
const rowsAtOnce = 500;

export function createIdentity(deps: IdentityDeps): Identity {
  const { database, settings, clock, ids, log, masterKey, terminalClaims } = deps;
  const { authUrl, baseUrl = authUrl, portalDomain, environment = 'production' } = settings;
  const { recordChange = recordNothing } = deps;
  const changeCounter = createChangeCounter();
  const entities = createOidcEntityStore(database);

  const realmStore = createRealmStore(database);
  const keyRing = createKeyRing(masterKey, deps.generatePrivateKey);
  const revocations = createRevokedTokens({ entities, clock, log });
  const realms = createRealms({
    store: realmStore,
    revocations,
    keyRing,
    clock,
    changeCounter,
    authUrl,
  });
  const rotation = createKeyRotation({
    store: realmStore,
    keyRing,
    realms,
    clock,
    log,
    recordChange,
    jobs: deps.jobs,
    rotationDays: settings.realmKeyRotationDays ?? defaultKeyRotationDays,
  });
  const userDomains = createUserDomains({ realms, rotation, store: realmStore });

  const portalUrls = createPortalUrls({ baseUrl, portalDomain });
  const { findDomainOfOrganization } = realmStore;
  const builtIn = createPortalClient({ portalUrls, masterKey, findDomainOfOrganization });
  const applicationStore = createApplicationStore(database);
  const applications = createApplications({
    store: applicationStore,
    clock,
    ids,
    changeCounter,
    recordChange,
    builtIn,
  });
  const lastUsed = createApplicationLastUsed({ database, clock, log });

  const accounts = createAccounts({
    database,
    clock,
    ids,
    log,
    masterKey,
    revision: changeCounter,
    authUrl,
    jobs: deps.jobs,
    mail: deps.mail,
    limits: deps.attemptLimits,
    environment,
    passwordStrength: deps.passwordStrength,
    passwordHasher: deps.passwordHasher,
    endSessions: (...which) => sessions.endAll(...which),
  });
  const findUser = accounts.find;
  const verifyToken = createAccessTokenVerifier({
    findUser,
    clock,
    recordUse: lastUsed.record,
    realms,
    revocations,
    applications,
    changeCounter,
  });

  const devices = createDevices({
    database,
    settings,
    clock,
    ids,
    log,
    masterKey,
    applications,
    recordChange,
    findDevice: deps.findDevice,
    findTerminal: deps.findTerminal,
    findMerchantName: deps.findMerchantName,
    terminalClaims,
  });

  const limits = createOAuthEndpointLimits(deps.tokenLimits ?? defaultTokenLimits, ids.secret());
  const origins = createRegisteredOrigins({ database, clock });
  const frame = createLoginPageFrame(settings);
  const pageRenderer = frame.providerPages;
  const authorizationServer = createAuthorizationServer({
    database,
    entities,
    realms,
    applications,
    limits,
    origins,
    pageRenderer,
    masterKey,
    findUser,
    clock,
    recordUse: lastUsed.record,
    ids,
    log,
    verifyToken,
    authenticate: accounts.authenticate,
    deviceAuthUrl: settings.deviceAuthUrl,
    verifyDeviceSecret: devices.verifySecret,
  });
  const { families, sessions, interactions, findListener } = authorizationServer;
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
  const cleanupJob = (
    data: string,
    deleteRows: (limit: number) => Promise<number>,
  ): CleanupJob => ({
    data,
    intervalMs: deleteEveryMs,
    deleteBatch: async () => (await deleteRows(rowsAtOnce)) === rowsAtOnce,
  });

  async function requireUserDomain(userDomainId: string, organizationId: string): Promise<void> {
    const realm = await realms.find(userDomainId);
    if (realm?.organizationId !== organizationId) {
      throwProblem('organization_not_found', 'The organisation has no user domain with this name.');
    }
  }

  return {
    accounts,
    interactions,
    sessions,
    devices,
    verifyToken,
    portalAuthorization: createPortalAuthorization({ ...authorizationServer, findUser, clock }),
    portalUrls,
    clientVerifier: createClientVerifier({
      applications,
      applicationStore,
      devices,
      clock,
      realms,
      revocations,
      findUser,
    }),
    posClients: createPosClients({ applications, clock, ids }),
    async register(app) {
      await registerAuthorizationServer(app, {
        authorizationServer,
        findRealm: realms.find,
        applications,
        limits,
        origins,
        pageRenderer,
        findUser,
        verifyRequest: (request: FastifyRequest, token: string) =>
          verifyToken(token, devices.reader.presentedCertificate(request)),
      });
      if (settings.environment === 'demo') {
        await registerDemoDeviceToken(app, {
          findRealm: realms.find,
          verifyToken,
          findUser,
          findDevice: deps.findDevice,
          limits,
          clock,
          families,
          userTokens: authorizationServer.userTokens,
          findApplication: applications.find,
        });
      }
      pages.register(app);
    },
    registerSignUpPages: pages.registerPublicPages,
    async registerDevices(app) {
      await devices.register(app);
      await registerDeviceTokenRoute(app, {
        devices,
        findRealm: realms.find,
        findListener,
        limits,
      });
    },
    registerApplicationManagement(app, locationChecks) {
      const management = createApplicationManagement({
        store: applicationStore,
        applications,
        lastUsed,
        locationChecks,
        clock,
        ids,
        recordChange,
        allowsLoopback: environment !== 'production',
      });
      registerApplicationRoutes(app, management);
    },
    createUserDomain: userDomains.create,
    userDomains,
    userDomainExists: async (userDomainId) => (await realms.find(userDomainId)) !== undefined,
    isOperator: (organizationId) => applicationStore.hasRole(organizationId, 'PlatformOperator'),
    signingKeys: rotation,
    async createApplication({ userDomainId, ...newApplication }, context) {
      await requireUserDomain(userDomainId, newApplication.organizationId);
      return applications.create(newApplication, context);
    },
    async createPublicApplication({ userDomainId, ...newApplication }) {
      await requireUserDomain(userDomainId, newApplication.organizationId);
      return applications.createPublic(newApplication);
    },
    rotateSecret: applications.rotateSecret,
    updateCallbackPort: applications.updateCallbackPort,
    setApplicationStatus: applications.setStatus,
    cleanupJobs: [
      cleanupJob('codes and sessions', (limit) => entities.deleteExpired(clock.now(), limit)),
      cleanupJob('refresh tokens', families.deleteExpired),
      cleanupJob('links and sign-ins', (limit) => accounts.deleteExpired(clock.now(), limit)),
    ],
    async close() {
      await lastUsed.close();
      await accounts.close();
    },
  };
}
