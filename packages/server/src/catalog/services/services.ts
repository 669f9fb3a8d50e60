// Manages the services of providers: drafts, publication, retirement, and the keys of their calls.
import {
  type Service,
  type ServiceInput,
  type ServiceRelease,
  throwProblem,
} from '@switchyard/contract';
import {
  type FoundPage,
  type PageRequest,
  readPage,
  requireVersion,
  type Versioned,
} from '../../http/index.ts';
import { isoTime, isUuid, listOlderKeysAfterRotation, type Queries } from '../../platform/index.ts';
import type { AuthoredScope, CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  requireOrganizationScope,
  requireUnchangedMembers,
  throwMemberProblem,
} from '../infrastructure/request-checks.ts';
import type { ParameterValidator } from '../parameters/parameter-validator.ts';
import {
  deleteService,
  findService,
  insertRelease,
  insertService,
  listReleases,
  listServices,
  readEncryptedSigningSecret,
  replaceSigningSecret,
  type ServiceDeclaration,
  type ServiceQuery,
  type ServiceRecord,
  updateService,
} from './service-sql.ts';
import {
  toReleaseView,
  toServiceAuditEntry,
  toServiceView,
  toStoredDeclaration,
} from './service-view.ts';
import {
  type SigningCredentials,
  type SigningSecrets,
  secretOverlapMs,
} from './signing-secrets.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');

const imageTypes = [
  { type: 'image/png', at: 0, bytes: latin1('\u0089PNG\r\n\u001a\n') },
  { type: 'image/jpeg', at: 0, bytes: latin1('\u00ff\u00d8\u00ff') },
  // A RIFF file has its length before its type.
  { type: 'image/webp', at: 8, bytes: latin1('WEBP') },
] as const;

/** @example imageType('iVBORw0KGgo='); // 'image/png' */
function imageType(base64: string): (typeof imageTypes)[number]['type'] | undefined {
  const image = Buffer.from(base64, 'base64');
  return imageTypes.find(({ at, bytes }) => {
    if (at > 0 && !image.subarray(0, at).toString('latin1').startsWith('RIFF')) return false;
    return image.subarray(at, at + bytes.length).equals(bytes);
  })?.type;
}

type VersionedService = Versioned<Service>;
type CreatedService = VersionedService & SigningCredentials;

export type Services = {
  create(scope: AuthoredScope, input: ServiceInput, serviceId?: string): Promise<CreatedService>;
  list(scope: CallerScope, query: ServiceQuery, page: PageRequest): Promise<FoundPage<Service>>;
  get(scope: CallerScope, serviceId: string): Promise<VersionedService>;
  replace(
    scope: AuthoredScope,
    serviceId: string,
    input: ServiceInput,
    ifMatch?: string,
  ): Promise<VersionedService>;
  publish(scope: AuthoredScope, serviceId: string, ifMatch?: string): Promise<VersionedService>;
  retire(scope: AuthoredScope, serviceId: string, ifMatch?: string): Promise<VersionedService>;
  remove(scope: AuthoredScope, serviceId: string, ifMatch?: string): Promise<void>;
  rotateSecret(scope: AuthoredScope, serviceId: string): Promise<SigningCredentials>;
  listReleases(
    scope: CallerScope,
    serviceId: string,
    page: PageRequest,
  ): Promise<FoundPage<ServiceRelease>>;
  /** Returns a published service, which can be offered and activated; refuses others. */
  requirePublished(queries: Queries, scope: CallerScope, serviceId: string): Promise<ServiceRecord>;
};

type ServiceParts = {
  readonly parameterValidator: ParameterValidator;
  readonly signingSecrets: SigningSecrets;
  requireValidDefaults(input: ServiceInput): void;
  /** Runs after a change that every organisation sees. */
  onPublish(): void;
  /** Runs after a service got a new signing key. */
  onSecretRotation(): void;
};

function throwServiceNotFound(): never {
  return throwProblem('service_not_found', 'No service that you may see has this identifier.');
}

/** @example const services = createServices(deps, parts); */
export function createServices(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit' | 'calls'>,
  {
    parameterValidator,
    signingSecrets,
    requireValidDefaults,
    onPublish,
    onSecretRotation,
  }: ServiceParts,
): Services {
  const { database, clock, ids, audit, calls } = deps;

  async function validateInput(input: ServiceInput): Promise<ServiceDeclaration> {
    parameterValidator.requireValidSchema('/activationParameters', input.activationParameters);
    parameterValidator.requireValidSchema('/parameterSchema', input.parameterSchema);
    requireValidDefaults(input);
    const { logo } = input;
    if (logo !== undefined && imageType(logo.data) !== logo.mediaType) {
      throwMemberProblem('/logo/data', `is not an image of the type ${logo.mediaType}`);
    }
    const fault =
      input.spiUrl === undefined ? undefined : await calls.findAddressFault(input.spiUrl);
    if (fault !== undefined) throwMemberProblem('/spiUrl', fault);
    return toStoredDeclaration(input);
  }

  /**
   * Locks a service of the caller's organisation, and checks the version that the caller has seen.
   */
  async function lockOwnService(
    queries: Queries,
    scope: AuthoredScope,
    serviceId: string,
    ifMatch?: string,
  ): Promise<ServiceRecord> {
    requireOrganizationScope(scope, 'manage services');
    const row = isUuid(serviceId)
      ? await findService(queries, scope.organizationId, serviceId, 'FOR UPDATE')
      : undefined;
    // Other organisations may see the service, but only its provider may change it.
    if (row?.organizationId !== scope.organizationId) return throwServiceNotFound();
    requireVersion(ifMatch, row.version);
    return row;
  }

  const toVersionedService = (row: ServiceRecord, organizationId: string): VersionedService => ({
    view: toServiceView(row, organizationId),
    version: row.version,
  });

  function applyChange(
    scope: AuthoredScope,
    serviceId: string,
    ifMatch: string | undefined,
    action: string,
    change: (queries: Queries, row: ServiceRecord, now: string) => Promise<ServiceRecord>,
  ): Promise<VersionedService> {
    return database.transaction(async (trx) => {
      const before = await lockOwnService(trx, scope, serviceId, ifMatch);
      const after = await change(trx, before, isoTime(clock.now()));
      if (after !== before) {
        await audit.record(trx, {
          organizationId: scope.organizationId,
          ...scope.author,
          action,
          entity: { type: 'service', id: serviceId },
          before: toServiceAuditEntry(before),
          after: toServiceAuditEntry(after),
        });
      }
      return toVersionedService(after, scope.organizationId);
    });
  }

  return {
    async create(scope, input, serviceId = ids.uuid()) {
      requireOrganizationScope(scope, 'manage services');
      const declaration = await validateInput(input);
      const { sealed, ...credentials } = signingSecrets.create(serviceId);
      const { organizationId } = scope;
      return database.transaction(async (trx) => {
        const now = isoTime(clock.now());
        const newService = { serviceId, organizationId, declaration, sealed, now };
        const row = await insertService(trx, newService);
        if (row === undefined) throwProblem('already_exists', 'The service already exists.');
        await audit.record(trx, {
          organizationId,
          ...scope.author,
          action: 'service.declared',
          entity: { type: 'service', id: serviceId },
          after: toServiceAuditEntry(row),
        });
        return { ...toVersionedService(row, organizationId), ...credentials };
      });
    },

    list: ({ organizationId }, query, page) =>
      readPage(
        page,
        (read) => listServices(database, organizationId, query, read),
        ({ serviceId }) => serviceId,
        (row) => {
          const { logo: _logo, defaults: _defaults, ...rest } = toServiceView(row, organizationId);
          return rest;
        },
      ),

    async get({ organizationId }, serviceId) {
      const row = isUuid(serviceId)
        ? await findService(database, organizationId, serviceId)
        : undefined;
      return row === undefined ? throwServiceNotFound() : toVersionedService(row, organizationId);
    },

    async replace(scope, serviceId, input, ifMatch) {
      const draft = await validateInput(input);
      return applyChange(
        scope,
        serviceId,
        ifMatch,
        'service.updated',
        async (queries, row, now) => {
          const { status, release, unpublishedChanges, ...view } = toServiceView(
            row,
            scope.organizationId,
          );
          const { organizationId, providerName, createdAt, updatedAt } = view;
          requireUnchangedMembers(input, {
            serviceId,
            organizationId,
            providerName,
            createdAt,
            updatedAt,
            status,
            release,
            unpublishedChanges,
          });
          if (row.status === 'Retired')
            throwProblem('service_state', 'A retired service cannot be changed.');
          return updateService(queries, serviceId, { draft }, now);
        },
      );
    },

    async publish(scope, serviceId, ifMatch) {
      const action = 'service.published';
      const after = await applyChange(
        scope,
        serviceId,
        ifMatch,
        action,
        async (queries, row, now) => {
          if (row.status === 'Retired')
            throwProblem('service_state', 'A retired service cannot be published.');
          // A repeated request creates no second release.
          if (toServiceView(row, scope.organizationId).unpublishedChanges !== true) return row;
          const change = { status: 'Published', publishes: true } as const;
          const published = await updateService(queries, serviceId, change, now);
          await insertRelease(queries, published, now);
          return published;
        },
      );
      onPublish();
      return after;
    },

    retire: (scope, serviceId, ifMatch) =>
      applyChange(scope, serviceId, ifMatch, 'service.retired', async (queries, row, now) => {
        if (row.status === 'Draft')
          throwProblem('service_state', 'A draft cannot be retired; publish or delete it.');
        if (row.status === 'Retired') return row;
        return updateService(queries, serviceId, { status: 'Retired' }, now);
      }),

    remove: (scope, serviceId, ifMatch) =>
      database.transaction(async (trx) => {
        const row = await lockOwnService(trx, scope, serviceId, ifMatch);
        if (row.status !== 'Draft')
          throwProblem('service_state', 'A published service cannot be deleted; retire it.');
        await deleteService(trx, serviceId);
        await audit.record(trx, {
          organizationId: scope.organizationId,
          ...scope.author,
          action: 'service.deleted',
          entity: { type: 'service', id: serviceId },
          before: toServiceAuditEntry(row),
        });
      }),

    async rotateSecret(scope, serviceId) {
      const newCredentials = await database.transaction(async (trx) => {
        await lockOwnService(trx, scope, serviceId);
        const currentSecret = await readEncryptedSigningSecret(trx, serviceId);
        if (currentSecret === undefined) return throwServiceNotFound();
        const now = clock.now();
        const older = listOlderKeysAfterRotation(currentSecret, now);
        const { sealed, ...credentials } = signingSecrets.create(serviceId);
        const previousUntil = isoTime(now + secretOverlapMs);
        await replaceSigningSecret(trx, serviceId, { sealed, previousUntil, older });
        await audit.record(trx, {
          organizationId: scope.organizationId,
          ...scope.author,
          action: 'service.secret_renewed',
          entity: { type: 'service', id: serviceId },
        });
        return credentials;
      });
      onSecretRotation();
      return newCredentials;
    },

    async listReleases(scope, serviceId, page) {
      const row = isUuid(serviceId)
        ? await findService(database, scope.organizationId, serviceId)
        : undefined;
      if (row === undefined) return throwServiceNotFound();
      const isOwn = row.organizationId === scope.organizationId;
      return readPage(
        page,
        (read) => listReleases(database, serviceId, read),
        ({ release }) => String(release),
        (release) => toReleaseView(serviceId, release, isOwn),
      );
    },

    async requirePublished(queries, { organizationId }, serviceId) {
      const row = await findService(queries, organizationId, serviceId);
      if (row === undefined) return throwServiceNotFound();
      if (row.status !== 'Published')
        throwProblem('service_state', 'The service is not published.');
      return row;
    },
  };
}
