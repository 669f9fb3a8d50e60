// Manages the services of providers: drafts, publication, retirement, and the keys of their calls.
import {
  type Service,
  type ServiceInput,
  type ServiceRelease,
  throwProblem,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, requireVersion } from '../../http/index.ts';
import { isoTime, listOlderKeysAfterRotation } from '../../platform/index.ts';
import type { By, Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  demandOrganization,
  isUuid,
  refuseChanges,
  refuseField,
} from '../infrastructure/request-checks.ts';
import { type Run, runIn, runOn } from '../infrastructure/statement-runner.ts';
import type { Parameters } from '../parameters/parameter-validator.ts';
import { imageType } from './image-type.ts';
import {
  changeService,
  type Declaration,
  deleteService,
  findService,
  insertRelease,
  insertService,
  listReleases,
  listServices,
  readSecret,
  replaceSecret,
  type ServiceQuery,
  type ServiceRow,
} from './service-sql.ts';
import { auditedService, declarationOf, releaseView, serviceView } from './service-view.ts';
import { type HandedOut, overlapMs, type SigningSecrets } from './signing-secrets.ts';

type Versioned = { readonly view: Service; readonly version: number };
type Declared = Versioned & HandedOut;

export type Services = {
  declare(by: By, input: ServiceInput, serviceId?: string): Promise<Declared>;
  list(scope: Scope, query: ServiceQuery, page: PageRequest): Promise<FoundPage<Service>>;
  get(scope: Scope, serviceId: string): Promise<Versioned>;
  replace(by: By, serviceId: string, input: ServiceInput, ifMatch?: string): Promise<Versioned>;
  publish(by: By, serviceId: string, ifMatch?: string): Promise<Versioned>;
  retire(by: By, serviceId: string, ifMatch?: string): Promise<Versioned>;
  remove(by: By, serviceId: string, ifMatch?: string): Promise<void>;
  renewSecret(by: By, serviceId: string): Promise<HandedOut>;
  releases(scope: Scope, serviceId: string, page: PageRequest): Promise<FoundPage<ServiceRelease>>;
  /** Returns a published service, which can be offered and activated; refuses others. */
  demandPublished(run: Run, scope: Scope, serviceId: string): Promise<ServiceRow>;
};

type Parts = {
  readonly parameters: Parameters;
  readonly secrets: SigningSecrets;
  demandDefaults(input: ServiceInput): void;
  /** Runs after a change that every organisation sees. */
  onPublish(): void;
  /** Runs after a service got a new signing key. */
  onRenewal(): void;
};

function refuseUnknown(): never {
  return throwProblem(
    'service_not_found',
    'The catalogue shows you no service of this identifier.',
  );
}

/** @example const services = createServices(deps, parts); */
export function createServices(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit' | 'calls'>,
  { parameters, secrets, demandDefaults, onPublish, onRenewal }: Parts,
): Services {
  const { database, clock, ids, audit, calls } = deps;

  async function checked(input: ServiceInput): Promise<Declaration> {
    parameters.demandSchema('/activationParameters', input.activationParameters);
    parameters.demandSchema('/parameterSchema', input.parameterSchema);
    demandDefaults(input);
    const { logo } = input;
    if (logo !== undefined && imageType(logo.data) !== logo.mediaType) {
      refuseField('/logo/data', `is not an image of the type ${logo.mediaType}`);
    }
    const fault =
      input.spiUrl === undefined ? undefined : await calls.findAddressFault(input.spiUrl);
    if (fault !== undefined) refuseField('/spiUrl', fault);
    return declarationOf(input);
  }

  /**
   * Locks a service of the caller's organisation, and checks the version that the caller has seen.
   */
  async function owned(run: Run, by: By, serviceId: string, ifMatch?: string): Promise<ServiceRow> {
    demandOrganization(by, 'declares services');
    const row = isUuid(serviceId)
      ? await findService(run, by.organizationId, serviceId, 'FOR UPDATE')
      : undefined;
    // Other organisations may see the service, but only its provider may change it.
    if (row?.organization_id !== by.organizationId) return refuseUnknown();
    requireVersion(ifMatch, row.version);
    return row;
  }

  const answered = (row: ServiceRow, organizationId: string): Versioned => ({
    view: serviceView(row, organizationId),
    version: row.version,
  });

  function changing(
    by: By,
    serviceId: string,
    ifMatch: string | undefined,
    action: string,
    change: (run: Run, row: ServiceRow, now: string) => Promise<ServiceRow>,
  ): Promise<Versioned> {
    return database.transaction(async (trx) => {
      const run = runIn(trx);
      const before = await owned(run, by, serviceId, ifMatch);
      const after = await change(run, before, isoTime(clock.now()));
      if (after !== before) {
        await audit.record(trx, {
          organizationId: by.organizationId,
          ...by.author,
          action,
          entity: { type: 'service', id: serviceId },
          before: auditedService(before),
          after: auditedService(after),
        });
      }
      return answered(after, by.organizationId);
    });
  }

  return {
    async declare(by, input, serviceId = ids.uuid()) {
      demandOrganization(by, 'declares services');
      const declaration = await checked(input);
      const { sealed, ...handedOut } = secrets.make(serviceId);
      const { organizationId } = by;
      return database.transaction(async (trx) => {
        const now = isoTime(clock.now());
        const made = { serviceId, organizationId, declaration, sealed, now };
        const row = await insertService(runIn(trx), made);
        if (row === undefined) throwProblem('already_exists', 'The service exists already.');
        await audit.record(trx, {
          organizationId,
          ...by.author,
          action: 'service.declared',
          entity: { type: 'service', id: serviceId },
          after: auditedService(row),
        });
        return { ...answered(row, organizationId), ...handedOut };
      });
    },

    async list({ organizationId }, query, page) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listServices(runOn(database), organizationId, query, read);
      const shown = rows.slice(0, page.limit);
      const items = shown.map((row) => {
        const { logo: _logo, defaults: _defaults, ...rest } = serviceView(row, organizationId);
        return rest;
      });
      return { items, next: rows.length > page.limit ? shown.at(-1)?.service_id : undefined };
    },

    async get({ organizationId }, serviceId) {
      const row = isUuid(serviceId)
        ? await findService(runOn(database), organizationId, serviceId)
        : undefined;
      return row === undefined ? refuseUnknown() : answered(row, organizationId);
    },

    async replace(by, serviceId, input, ifMatch) {
      const draft = await checked(input);
      return changing(by, serviceId, ifMatch, 'service.updated', async (run, row, now) => {
        const { status, release, unpublishedChanges, ...view } = serviceView(
          row,
          by.organizationId,
        );
        const { organizationId, providerName, createdAt, updatedAt } = view;
        refuseChanges(input, {
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
          throwProblem('service_state', 'A retired service stays as it is.');
        return changeService(run, serviceId, { draft }, now);
      });
    },

    async publish(by, serviceId, ifMatch) {
      const action = 'service.published';
      const after = await changing(by, serviceId, ifMatch, action, async (run, row, now) => {
        if (row.status === 'Retired')
          throwProblem('service_state', 'A retired service stays retired.');
        // A repeated request creates no second release.
        if (serviceView(row, by.organizationId).unpublishedChanges !== true) return row;
        const change = { status: 'Published', publishes: true } as const;
        const published = await changeService(run, serviceId, change, now);
        await insertRelease(run, published, now);
        return published;
      });
      onPublish();
      return after;
    },

    retire: (by, serviceId, ifMatch) =>
      changing(by, serviceId, ifMatch, 'service.retired', async (run, row, now) => {
        if (row.status === 'Draft')
          throwProblem('service_state', 'A draft is published or deleted.');
        if (row.status === 'Retired') return row;
        return changeService(run, serviceId, { status: 'Retired' }, now);
      }),

    remove: (by, serviceId, ifMatch) =>
      database.transaction(async (trx) => {
        const run = runIn(trx);
        const row = await owned(run, by, serviceId, ifMatch);
        if (row.status !== 'Draft') throwProblem('service_state', 'What was published is retired.');
        await deleteService(run, serviceId);
        await audit.record(trx, {
          organizationId: by.organizationId,
          ...by.author,
          action: 'service.deleted',
          entity: { type: 'service', id: serviceId },
          before: auditedService(row),
        });
      }),

    async renewSecret(by, serviceId) {
      const renewed = await database.transaction(async (trx) => {
        const run = runIn(trx);
        await owned(run, by, serviceId);
        const standing = await readSecret(run, serviceId);
        if (standing === undefined) return refuseUnknown();
        const now = clock.now();
        const older = listOlderKeysAfterRotation(standing, now);
        const { sealed, ...handedOut } = secrets.make(serviceId);
        const previousUntil = isoTime(now + overlapMs);
        await replaceSecret(run, serviceId, { sealed, previousUntil, older });
        await audit.record(trx, {
          organizationId: by.organizationId,
          ...by.author,
          action: 'service.secret_renewed',
          entity: { type: 'service', id: serviceId },
        });
        return handedOut;
      });
      onRenewal();
      return renewed;
    },

    async releases(scope, serviceId, page) {
      const row = isUuid(serviceId)
        ? await findService(runOn(database), scope.organizationId, serviceId)
        : undefined;
      if (row === undefined) return refuseUnknown();
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listReleases(runOn(database), serviceId, read);
      const shown = rows.slice(0, page.limit);
      const isOwn = row.organization_id === scope.organizationId;
      const last = rows.length > page.limit ? shown.at(-1) : undefined;
      return {
        items: shown.map((release) => releaseView(serviceId, release, isOwn)),
        next: last === undefined ? undefined : String(last.release),
      };
    },

    async demandPublished(run, { organizationId }, serviceId) {
      const row = await findService(run, organizationId, serviceId);
      if (row === undefined) return refuseUnknown();
      if (row.status !== 'Published')
        throwProblem('service_state', 'The service is not published.');
      return row;
    },
  };
}
