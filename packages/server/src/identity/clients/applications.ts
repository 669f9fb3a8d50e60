// Creates and finds applications, rotates their secrets and changes their status.
import { roleNamed, throwProblem } from '@switchyard/contract';
import type { Clock, Ids } from '../../platform/index.ts';
import type { AuditContext, RecordChange } from '../infrastructure/audit-port.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import { hashSecret, secretMatches } from '../infrastructure/secret-hash.ts';
import { maxAccessTokenSeconds } from '../realms-and-keys/key-rotation.ts';
import type { EntityType, SigningAlgorithm, Status } from '../realms-and-keys/realm-types.ts';
import { applicationChangeRecorder, type RecordApplicationChange } from './application-audit.ts';
import type {
  AccessTokenType,
  Application,
  ApplicationStatus,
  ApplicationType,
  CallbackErrorFormat,
  SecurityFlow,
} from './application-record.ts';
import type { ApplicationStore } from './application-sql.ts';
import { permissionsOfRoles } from './permissions.ts';

/** Other processes see a new secret or status within this time. */
export const applicationCacheTtlMs = 5_000;
const maxCachedApplications = 10_000;
/** Printable, and safe in URLs, forms and HTTP Basic without escaping. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
const minSecretLength = 32;
const minAccessTokenSeconds = 60;

export type NewApplication = {
  readonly organizationId: string;
  readonly name: string;
  readonly entityType: EntityType;
  /** The organisation for `tenant`, the merchant for `merchant`. */
  readonly entityId: string;
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
  /** Role names or titles: `PointOfSaleTerminal` or `Point-of-sale Terminal`. */
  readonly roles: readonly string[];
  readonly securityFlows: readonly SecurityFlow[];
  readonly type?: ApplicationType | undefined;
  readonly description?: string | undefined;
  readonly redirectUris?: readonly string[] | undefined;
  readonly webOrigins?: readonly string[] | undefined;
  readonly services?: readonly string[] | undefined;
  readonly callbackError?: CallbackErrorFormat | undefined;
  readonly accessTokenSeconds?: number | undefined;
  readonly accessTokenAlgorithm?: SigningAlgorithm | undefined;
  readonly accessTokenType?: AccessTokenType | undefined;
  readonly status?: ApplicationStatus | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
};
export type NewPublicApplication = Omit<NewApplication, 'clientSecret'>;

export type Applications = ReturnType<typeof createApplications>;

type ApplicationKey = { readonly organizationId: string; readonly clientId: string };
export type BuiltInApplication = {
  readonly clientId: string;
  findForOrganization(organizationId: string): Promise<Application | undefined>;
};
type Deps = {
  store: ApplicationStore;
  clock: Clock;
  ids: Ids;
  changeCounter: ChangeCounter;
  recordChange: RecordChange;
  /** An application that every user domain has without a row, such as the portal. */
  builtIn?: BuiltInApplication | undefined;
};

function rolesOf(names: readonly string[]) {
  return names.map(
    (name) => roleNamed(name) ?? throwProblem('field_invalid', 'The role does not exist.'),
  );
}

/** Builds an application from the input; throws on invalid values. */
export function buildApplication(newApplication: NewPublicApplication, ids: Ids): Application {
  const { clientId = ids.uuid(), accessTokenSeconds: seconds } = newApplication;
  if (!clientIdPattern.test(clientId))
    throwProblem(
      'field_invalid',
      'The client id must have 1 to 128 characters of A-Z, a-z, 0-9, dot, underscore and hyphen.',
    );
  if (
    seconds !== undefined &&
    !(seconds >= minAccessTokenSeconds && seconds <= maxAccessTokenSeconds)
  ) {
    throwProblem('field_invalid', 'accessTokenSeconds must be between 60 and 86400.');
  }
  if (
    newApplication.merchantId !== undefined &&
    newApplication.merchantId !== newApplication.entityId
  ) {
    throwProblem(
      'entity_mismatch',
      'merchantId must equal entityId: an application acts for its own merchant.',
    );
  }
  const roles = rolesOf(newApplication.roles);
  return {
    organizationId: newApplication.organizationId,
    clientId,
    serviceAccountId: ids.uuidV4(),
    name: newApplication.name,
    description: newApplication.description,
    type: newApplication.type ?? 'Application',
    entityType: newApplication.entityType,
    entityId: newApplication.entityId,
    storeId: newApplication.storeId,
    roles,
    permissions: permissionsOfRoles(roles),
    securityFlows: newApplication.securityFlows,
    redirectUris: newApplication.redirectUris ?? [],
    webOrigins: newApplication.webOrigins ?? [],
    services: newApplication.services ?? [],
    callbackError: newApplication.callbackError ?? 'Rfc6749',
    accessTokenSeconds: seconds,
    accessTokenAlgorithm: newApplication.accessTokenAlgorithm,
    accessTokenType: newApplication.accessTokenType ?? 'JWT',
    status: newApplication.status ?? 'Enabled',
  };
}

/**
 * Whether the only redirect URI differs from `uri` in nothing but the port; anything else is left
 * unchanged.
 */
function differsOnlyInPort({ redirectUris }: Application, uri: string): boolean {
  const [own, ...more] = redirectUris;
  if (own === undefined || own === uri || more.length > 0) return false;
  const [from, to] = [new URL(own), new URL(uri)];
  return from.hostname === to.hostname && from.pathname === to.pathname;
}

function throwNotFound(): never {
  return throwProblem('resource_not_found', 'The application does not exist.');
}

export function createApplications(deps: Deps) {
  const { store, clock, ids, changeCounter, recordChange, builtIn } = deps;
  const lookup = createCachedLookup<ApplicationKey, Application>({
    max: maxCachedApplications,
    ttlMs: applicationCacheTtlMs,
    clock,
    keyOf: ({ organizationId, clientId }) => `${organizationId}/${clientId}`,
    // Other texts are no client ids and need no database query.
    async load({ organizationId, clientId }) {
      if (clientId === builtIn?.clientId) return builtIn.findForOrganization(organizationId);
      return clientIdPattern.test(clientId) ? store.find(organizationId, clientId) : undefined;
    },
  });
  const invalidate = (organizationId: string, clientId: string) => {
    lookup.forget({ organizationId, clientId });
    changeCounter.bump();
  };

  async function insert(
    newApplication: NewPublicApplication,
    secretHash: Buffer | undefined,
    context?: AuditContext,
  ) {
    const application = { ...buildApplication(newApplication, ids), secretHash };
    if (application.clientId === builtIn?.clientId) {
      throwProblem(
        'already_exists',
        'The organisation has or had an application with this client id. Use another one.',
      );
    }
    const recordApplicationChange = applicationChangeRecorder(recordChange, 'created', context);
    const inserted =
      (await store.insert(application, clock.now(), recordApplicationChange)) ??
      throwProblem(
        'already_exists',
        'The organisation has or had an application with this client id. Use another one.',
      );
    invalidate(inserted.organizationId, inserted.clientId);
    return inserted;
  }

  async function change(
    organizationId: string,
    clientId: string,
    update: (current: Application) => Application,
    recordApplicationChange: RecordApplicationChange,
  ): Promise<void> {
    const changed = await store.change(
      organizationId,
      clientId,
      clock.now(),
      update,
      recordApplicationChange,
    );
    if (changed === undefined) throwNotFound();
    invalidate(organizationId, clientId);
  }

  return {
    find: (organizationId: string, clientId: string) => lookup.find({ organizationId, clientId }),
    /** Call after a change of the row: this process then reads it again. */
    invalidate,
    insert,

    /** Returns the secret once; the database stores its hash. */
    async create(
      newApplication: NewApplication,
      context?: AuditContext,
    ): Promise<{ clientId: string; clientSecret: string }> {
      const clientSecret = newApplication.clientSecret ?? ids.secret();
      if (clientSecret.length < minSecretLength) {
        throwProblem('field_invalid', 'The client secret must have at least 32 characters.');
      }
      const { clientId } = await insert(newApplication, hashSecret(clientSecret), context);
      return { clientId, clientSecret };
    },

    /** For an application that cannot keep a secret, such as a page or a mobile app. */
    async createPublic(newApplication: NewPublicApplication): Promise<{ clientId: string }> {
      const { clientId } = await insert(newApplication, undefined);
      return { clientId };
    },

    /** The old secret stops working at once; issued tokens stay valid. */
    async rotateSecret(
      organizationId: string,
      clientId: string,
      context?: AuditContext,
    ): Promise<{ clientSecret: string }> {
      const clientSecret = ids.secret();
      const withNewSecret = (current: Application) => {
        if (current.secretHash === undefined) throwNotFound();
        return { ...current, secretHash: hashSecret(clientSecret) };
      };
      await change(
        organizationId,
        clientId,
        withNewSecret,
        applicationChangeRecorder(recordChange, 'secretRenewed', context),
      );
      return { clientSecret };
    },

    /**
     * After `Disabled`, the application gets no new tokens, and its issued tokens are refused
     * within a minute.
     */
    async setStatus(
      organizationId: string,
      clientId: string,
      status: Status,
      context?: AuditContext,
    ): Promise<void> {
      const recordApplicationChange = applicationChangeRecorder(recordChange, 'updated', context);
      await change(
        organizationId,
        clientId,
        (current) => ({ ...current, status }),
        recordApplicationChange,
      );
    },

    /** Replaces the single callback if only its port has changed. */
    async updateCallbackPort(organizationId: string, clientId: string, uri: string): Promise<void> {
      const current = await lookup.refresh({ organizationId, clientId });
      if (current === undefined || !differsOnlyInPort(current, uri)) return;
      const moved = { redirectUris: [uri], webOrigins: [new URL(uri).origin] };
      const recordApplicationChange = applicationChangeRecorder(recordChange, 'updated');
      await change(
        organizationId,
        clientId,
        (stored) => ({ ...stored, ...moved }),
        recordApplicationChange,
      );
    },

    async verifySecret(organizationId: string, clientId: string, secret: string): Promise<boolean> {
      const cached = await lookup.find({ organizationId, clientId });
      if (cached?.secretHash === undefined) return false;
      if (secretMatches(secret, cached.secretHash)) return true;
      // Another process may have rotated the secret a moment ago.
      const fresh = await lookup.refresh({ organizationId, clientId });
      return fresh?.secretHash !== undefined && secretMatches(secret, fresh.secretHash);
    },
  };
}
