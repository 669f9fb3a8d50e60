// Applications: made, found, given a new secret, switched off.
import { refuse, roleNamed } from '@switchyard/contract';
import type { Clock, Ids } from '../../platform/index.ts';
import type { Asked, RecordChange } from '../infrastructure/audit-port.ts';
import { createCachedLookup } from '../infrastructure/cached-lookup.ts';
import type { Revision } from '../infrastructure/change-counter.ts';
import { hashSecret, secretMatches } from '../infrastructure/secret-hash.ts';
import { accessTokenSecondsMax } from '../realms-and-keys/key-rotation.ts';
import type { EntityType, SigningAlgorithm, Status } from '../realms-and-keys/realm.ts';
import type {
  AccessTokenType,
  Application,
  ApplicationStatus,
  ApplicationType,
  CallbackError,
  SecurityFlow,
} from './application.ts';
import { type TellApplication, telling } from './application-audit.ts';
import type { ApplicationStore } from './application-sql.ts';
import { permissionsOf } from './permissions.ts';

/** How long another process may take to see a new secret or a changed status. */
export const applicationTtlMs = 5_000;
const cachedApplicationsMax = 10_000;
/** Printable and safe in a URL, a form and HTTP Basic without any escaping. */
const clientIdPattern = /^[A-Za-z0-9._-]{1,128}$/;
const leastSecretLength = 32;
const accessTokenSecondsMin = 60;

export type NewApplication = {
  readonly organizationId: string;
  readonly name: string;
  readonly entityType: EntityType;
  /** The organisation for `tenant`, the merchant for `merchant`. */
  readonly entityId: string;
  readonly merchantId?: string | undefined;
  readonly storeId?: string | undefined;
  /** Identifiers or titles: `PointOfSaleTerminal` or `Point-of-sale Terminal`. */
  readonly roles: readonly string[];
  readonly securityFlows: readonly SecurityFlow[];
  readonly type?: ApplicationType | undefined;
  readonly description?: string | undefined;
  readonly redirectUris?: readonly string[] | undefined;
  readonly webOrigins?: readonly string[] | undefined;
  readonly services?: readonly string[] | undefined;
  readonly callbackError?: CallbackError | undefined;
  readonly accessTokenSeconds?: number | undefined;
  readonly accessTokenAlgorithm?: SigningAlgorithm | undefined;
  readonly accessTokenType?: AccessTokenType | undefined;
  readonly status?: ApplicationStatus | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
};
export type NewPublicApplication = Omit<NewApplication, 'clientSecret'>;

export type Applications = ReturnType<typeof createApplications>;

type Key = { readonly organizationId: string; readonly clientId: string };
export type BuiltIn = {
  readonly clientId: string;
  of(organizationId: string): Promise<Application | undefined>;
};
type Deps = {
  store: ApplicationStore;
  clock: Clock;
  ids: Ids;
  revision: Revision;
  recordChange: RecordChange;
  /** One that every user domain has, and that nobody made; left out: there is none. */
  builtIn?: BuiltIn | undefined;
};

function rolesOf(names: readonly string[]) {
  return names.map((name) => roleNamed(name) ?? refuse('field_invalid', 'No such role.'));
}

/** Refuses what no application can be. */
export function applicationFrom(wanted: NewPublicApplication, ids: Ids): Application {
  const { clientId = ids.uuid(), accessTokenSeconds: seconds } = wanted;
  if (!clientIdPattern.test(clientId)) refuse('field_invalid', 'This client id cannot be used.');
  if (
    seconds !== undefined &&
    !(seconds >= accessTokenSecondsMin && seconds <= accessTokenSecondsMax)
  ) {
    refuse('field_invalid', 'An access token lives between a minute and a day.');
  }
  if (wanted.merchantId !== undefined && wanted.merchantId !== wanted.entityId) {
    refuse('entity_mismatch', 'An application acts for the merchant that it belongs to.');
  }
  const roles = rolesOf(wanted.roles);
  return {
    organizationId: wanted.organizationId,
    clientId,
    serviceAccountId: ids.uuidV4(),
    name: wanted.name,
    description: wanted.description,
    type: wanted.type ?? 'Application',
    entityType: wanted.entityType,
    entityId: wanted.entityId,
    storeId: wanted.storeId,
    roles,
    permissions: permissionsOf(roles),
    securityFlows: wanted.securityFlows,
    redirectUris: wanted.redirectUris ?? [],
    webOrigins: wanted.webOrigins ?? [],
    services: wanted.services ?? [],
    callbackError: wanted.callbackError ?? 'Rfc6749',
    accessTokenSeconds: seconds,
    accessTokenAlgorithm: wanted.accessTokenAlgorithm,
    accessTokenType: wanted.accessTokenType ?? 'JWT',
    status: wanted.status ?? 'Enabled',
  };
}

/** The same place at another port: what somebody has registered instead is left alone. */
function isMoved({ redirectUris }: Application, uri: string): boolean {
  const [own, ...more] = redirectUris;
  if (own === undefined || own === uri || more.length > 0) return false;
  const [from, to] = [new URL(own), new URL(uri)];
  return from.hostname === to.hostname && from.pathname === to.pathname;
}

function refuseUnknown(): never {
  return refuse('resource_not_found', 'There is no such application.');
}

export function createApplications(deps: Deps) {
  const { store, clock, ids, revision, recordChange, builtIn } = deps;
  const lookup = createCachedLookup<Key, Application>({
    max: cachedApplicationsMax,
    ttlMs: applicationTtlMs,
    clock,
    nameOf: ({ organizationId, clientId }) => `${organizationId}/${clientId}`,
    // Whatever else a request names is no client, and need not reach the database.
    async load({ organizationId, clientId }) {
      if (clientId === builtIn?.clientId) return builtIn.of(organizationId);
      return clientIdPattern.test(clientId) ? store.find(organizationId, clientId) : undefined;
    },
  });
  const changed = (organizationId: string, clientId: string) => {
    lookup.forget({ organizationId, clientId });
    revision.bump();
  };

  async function insert(
    wanted: NewPublicApplication,
    secretHash: Buffer | undefined,
    asked?: Asked,
  ) {
    const application = { ...applicationFrom(wanted, ids), secretHash };
    if (application.clientId === builtIn?.clientId) {
      refuse('already_exists', 'This client id is taken.');
    }
    const told = telling(recordChange, 'created', asked);
    const made =
      (await store.insert(application, clock.now(), told)) ??
      refuse('already_exists', 'This client id is taken.');
    changed(made.organizationId, made.clientId);
    return made;
  }

  async function change(
    organizationId: string,
    clientId: string,
    by: (standing: Application) => Application,
    told: TellApplication,
  ): Promise<void> {
    const changedTo = await store.change(organizationId, clientId, clock.now(), by, told);
    if (changedTo === undefined) refuseUnknown();
    changed(organizationId, clientId);
  }

  return {
    find: (organizationId: string, clientId: string) => lookup.find({ organizationId, clientId }),
    /** Its row was changed: this process sees that at once. */
    changed,
    insert,

    /** The secret is shown this once and kept as a hash. */
    async create(
      wanted: NewApplication,
      asked?: Asked,
    ): Promise<{ clientId: string; clientSecret: string }> {
      const clientSecret = wanted.clientSecret ?? ids.secret();
      if (clientSecret.length < leastSecretLength) {
        refuse('field_invalid', 'The secret is too short.');
      }
      const { clientId } = await insert(wanted, hashSecret(clientSecret), asked);
      return { clientId, clientSecret };
    },

    /** One that can keep no secret, such as a page or an app in the hands of its users. */
    async createPublic(wanted: NewPublicApplication): Promise<{ clientId: string }> {
      const { clientId } = await insert(wanted, undefined);
      return { clientId };
    },

    /** The old secret is dead from here on; tokens that were issued live on. */
    async renewSecret(
      organizationId: string,
      clientId: string,
      asked?: Asked,
    ): Promise<{ clientSecret: string }> {
      const clientSecret = ids.secret();
      const renewed = (standing: Application) => {
        if (standing.secretHash === undefined) refuseUnknown();
        return { ...standing, secretHash: hashSecret(clientSecret) };
      };
      await change(
        organizationId,
        clientId,
        renewed,
        telling(recordChange, 'secretRenewed', asked),
      );
      return { clientSecret };
    },

    /** Disabled: no new tokens at once, and the issued ones are refused within a minute. */
    async setStatus(
      { organizationId, clientId }: Key,
      status: Status,
      asked?: Asked,
    ): Promise<void> {
      const told = telling(recordChange, 'updated', asked);
      await change(organizationId, clientId, (standing) => ({ ...standing, status }), told);
    },

    /** Its one callback stands at another address of this machine now; any other stays as it is. */
    async moveCallback(organizationId: string, clientId: string, uri: string): Promise<void> {
      const standing = await lookup.refresh({ organizationId, clientId });
      if (standing === undefined || !isMoved(standing, uri)) return;
      const moved = { redirectUris: [uri], webOrigins: [new URL(uri).origin] };
      const told = telling(recordChange, 'updated');
      await change(organizationId, clientId, (found) => ({ ...found, ...moved }), told);
    },

    async checkSecret(organizationId: string, clientId: string, secret: string): Promise<boolean> {
      const cached = await lookup.find({ organizationId, clientId });
      if (cached?.secretHash === undefined) return false;
      if (secretMatches(secret, cached.secretHash)) return true;
      // Another process may have renewed it a moment ago.
      const fresh = await lookup.refresh({ organizationId, clientId });
      return fresh?.secretHash !== undefined && secretMatches(secret, fresh.secretHash);
    },
  };
}
