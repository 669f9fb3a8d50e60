// Manages the packages of an organisation, and its subscriptions to them.
import {
  defined,
  type ServicePackage,
  type ServicePackageInput,
  type Subscription,
  throwProblem,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, requireVersion } from '../../http/index.ts';
import { isoTime, isUuid, type Queries } from '../../platform/index.ts';
import type { AuthoredScope, CallerScope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  requireOrganizationScope,
  requireUnchangedMembers,
  throwMemberProblem,
} from '../infrastructure/request-checks.ts';
import {
  deletePackage,
  deleteSubscription,
  findPackage,
  findPublishedServices,
  findSubscription,
  insertPackage,
  insertSubscription,
  listDependentActivations,
  listPackages,
  listSubscriptions,
  type PackageRecord,
  type SubscriptionRecord,
  writePackage,
} from './package-and-subscription-sql.ts';

type VersionedPackage = { readonly view: ServicePackage; readonly version: number };

export type PackageAndSubscriptionOperations = {
  createPackage(
    scope: AuthoredScope,
    input: ServicePackageInput,
    packageId?: string,
  ): Promise<VersionedPackage>;
  listPackages(scope: CallerScope, page: PageRequest): Promise<FoundPage<ServicePackage>>;
  getPackage(scope: CallerScope, packageId: string): Promise<VersionedPackage>;
  replacePackage(
    scope: AuthoredScope,
    packageId: string,
    input: ServicePackageInput,
    ifMatch?: string,
  ): Promise<VersionedPackage>;
  removePackage(scope: AuthoredScope, packageId: string, ifMatch?: string): Promise<void>;
  subscribe(
    scope: AuthoredScope,
    packageId: string,
    subscriptionId?: string,
  ): Promise<Subscription>;
  listSubscriptions(scope: CallerScope, page: PageRequest): Promise<FoundPage<Subscription>>;
  getSubscription(scope: CallerScope, subscriptionId: string): Promise<Subscription>;
  unsubscribe(scope: AuthoredScope, subscriptionId: string): Promise<void>;
};

const toPackageView = (record: PackageRecord): ServicePackage => {
  const { version: _version, createdAt, updatedAt, ...servicePackage } = record;
  return { ...servicePackage, createdAt: isoTime(createdAt), updatedAt: isoTime(updatedAt) };
};

const toSubscriptionView = ({ createdAt, ...subscription }: SubscriptionRecord): Subscription => ({
  ...subscription,
  createdAt: isoTime(createdAt),
});

const toVersionedPackage = (row: PackageRecord): VersionedPackage => ({
  view: toPackageView(row),
  version: row.version,
});

function throwNotFound(resource: string): never {
  return throwProblem(
    'resource_not_found',
    `No ${resource} of your organisation has this identifier.`,
  );
}

function requireNoDependants(
  type: string,
  dependants: readonly { id: string; name: string }[],
): void {
  if (dependants.length === 0) return;
  throwProblem(
    'has_dependants',
    `Other resources depend on it: ${dependants.length} × ${type}. Remove or deactivate them first.`,
    {
      extensions: {
        dependants: dependants.slice(0, 10).map((dependant) => ({ type, ...dependant })),
      },
    },
  );
}

/** @example const packagesAndSubscriptions = createPackagesAndSubscriptions({ database, clock, ids, audit }); */
export function createPackagesAndSubscriptions(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit'>,
): PackageAndSubscriptionOperations {
  return { ...createPackages(deps), ...createSubscriptions(deps) };
}

/** An active service keeps its subscription; the client deactivates the service first. */
async function requireNoActiveServices(
  queries: Queries,
  organizationId: string,
  packageId: string,
  serviceIds: readonly string[],
): Promise<void> {
  if (serviceIds.length === 0) return;
  const activations = await listDependentActivations(
    queries,
    organizationId,
    packageId,
    serviceIds,
  );
  const dependants = activations.map(({ activationId: id, name }) => ({ id, name }));
  requireNoDependants('Activation', dependants);
}

async function requirePublishedServices(
  queries: Queries,
  serviceIds: readonly string[],
): Promise<void> {
  const published = await findPublishedServices(queries, serviceIds);
  const missing = serviceIds.findIndex((serviceId) => !published.has(serviceId));
  if (missing < 0) return;
  throwMemberProblem(`/serviceIds/${missing}`, 'is not a published service', 'service_not_found');
}

/** Writes identifiers in lower case, as PostgreSQL returns them. */
const withLowerCaseIds = (input: ServicePackageInput): ServicePackageInput => ({
  ...input,
  serviceIds: input.serviceIds.map((serviceId) => serviceId.toLowerCase()),
});

async function lockPackage(
  queries: Queries,
  scope: CallerScope,
  packageId: string,
): Promise<PackageRecord> {
  requireOrganizationScope(scope, 'manage packages');
  const row = isUuid(packageId)
    ? await findPackage(queries, scope.organizationId, packageId, 'FOR UPDATE OF p')
    : undefined;
  return row ?? throwNotFound('package');
}

function createPackages({
  database,
  clock,
  ids,
  audit,
}: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit'>) {
  async function writePackageRow(
    queries: Queries,
    key: { organizationId: string; packageId: string },
    { name, description, status = 'Enabled', serviceIds }: ServicePackageInput,
  ): Promise<PackageRecord> {
    const described = defined({ description });
    const now = isoTime(clock.now());
    await writePackage(queries, key, { name, ...described, status, serviceIds }, now);
    return lockPackage(queries, key, key.packageId);
  }

  const createPackage: PackageAndSubscriptionOperations['createPackage'] = (
    scope,
    request,
    packageId = ids.uuid(),
  ) => {
    requireOrganizationScope(scope, 'manage packages');
    const { organizationId } = scope;
    const input = withLowerCaseIds(request);
    return database.transaction(async (trx) => {
      await requirePublishedServices(trx, input.serviceIds);
      const key = { organizationId, packageId };
      const now = isoTime(clock.now());
      const isNew = await insertPackage(trx, { ...key, name: input.name, now });
      if (!isNew) throwProblem('already_exists', 'The package already exists.');
      const row = await writePackageRow(trx, key, input);
      await audit.record(trx, {
        organizationId,
        ...scope.author,
        action: 'package.created',
        entity: { type: 'package', id: packageId },
        after: toPackageView(row),
      });
      return toVersionedPackage(row);
    });
  };

  const replacePackage: PackageAndSubscriptionOperations['replacePackage'] = (
    scope,
    packageId,
    request,
    ifMatch,
  ) =>
    database.transaction(async (trx) => {
      const input = withLowerCaseIds(request);
      const { organizationId } = scope;
      const before = await lockPackage(trx, scope, packageId);
      requireVersion(ifMatch, before.version);
      const { createdAt, updatedAt } = toPackageView(before);
      requireUnchangedMembers(input, { packageId, organizationId, createdAt, updatedAt });
      const previousIds = new Set(before.serviceIds);
      // A service that was retired later stays in the packages that contain it.
      const addedIds = input.serviceIds.filter((serviceId) => !previousIds.has(serviceId));
      await requirePublishedServices(trx, addedIds);
      const removedIds = before.serviceIds.filter(
        (serviceId) => !input.serviceIds.includes(serviceId),
      );
      await requireNoActiveServices(trx, organizationId, packageId, removedIds);
      const after = await writePackageRow(trx, { organizationId, packageId }, input);
      await audit.record(trx, {
        organizationId,
        ...scope.author,
        action: 'package.updated',
        entity: { type: 'package', id: packageId },
        before: toPackageView(before),
        after: toPackageView(after),
      });
      return toVersionedPackage(after);
    });

  const removePackage: PackageAndSubscriptionOperations['removePackage'] = (
    scope,
    packageId,
    ifMatch,
  ) =>
    database.transaction(async (trx) => {
      const { organizationId } = scope;
      const row = await lockPackage(trx, scope, packageId);
      requireVersion(ifMatch, row.version);
      const subscription = await findSubscription(trx, organizationId, { packageId });
      if (subscription !== undefined) {
        requireNoDependants('Subscription', [{ id: subscription.subscriptionId, name: row.name }]);
      }
      await deletePackage(trx, organizationId, packageId);
      await audit.record(trx, {
        organizationId,
        ...scope.author,
        action: 'package.deleted',
        entity: { type: 'package', id: packageId },
        before: toPackageView(row),
      });
    });

  return {
    createPackage,
    replacePackage,
    removePackage,

    async listPackages({ organizationId }: CallerScope, page: PageRequest) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listPackages(database, organizationId, read);
      const pageRows = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? pageRows.at(-1)?.packageId : undefined;
      return { items: pageRows.map(toPackageView), next };
    },

    async getPackage({ organizationId }: CallerScope, packageId: string) {
      const row = isUuid(packageId)
        ? await findPackage(database, organizationId, packageId)
        : undefined;
      return row === undefined ? throwNotFound('package') : toVersionedPackage(row);
    },
  };
}

function createSubscriptions({
  database,
  clock,
  ids,
  audit,
}: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit'>) {
  const subscribe: PackageAndSubscriptionOperations['subscribe'] = (
    scope,
    packageId,
    subscriptionId = ids.uuid(),
  ) => {
    requireOrganizationScope(scope, 'create subscriptions');
    const { organizationId } = scope;
    return database.transaction(async (trx) => {
      const servicePackage = await findPackage(trx, organizationId, packageId, 'FOR SHARE OF p');
      if (servicePackage === undefined)
        return throwMemberProblem('/packageId', 'is unknown', 'resource_not_found');
      if (servicePackage.status !== 'Enabled')
        throwProblem(
          'service_state',
          'The package is disabled. Enable it before you subscribe to it.',
        );
      const now = isoTime(clock.now());
      const newSubscription = { organizationId, subscriptionId, packageId, now };
      const row = await insertSubscription(trx, newSubscription);
      if (row === undefined) {
        return throwMemberProblem('/packageId', 'is subscribed already', 'already_exists');
      }
      await audit.record(trx, {
        organizationId,
        ...scope.author,
        action: 'subscription.created',
        entity: { type: 'subscription', id: subscriptionId },
        after: toSubscriptionView(row),
      });
      return toSubscriptionView(row);
    });
  };

  const unsubscribe: PackageAndSubscriptionOperations['unsubscribe'] = (scope, subscriptionId) => {
    requireOrganizationScope(scope, 'delete subscriptions');
    const { organizationId } = scope;
    return database.transaction(async (trx) => {
      const row = isUuid(subscriptionId)
        ? await findSubscription(trx, organizationId, { subscriptionId })
        : undefined;
      if (row === undefined) return throwNotFound('subscription');
      const servicePackage = await lockPackage(trx, scope, row.packageId);
      await requireNoActiveServices(trx, organizationId, row.packageId, servicePackage.serviceIds);
      await deleteSubscription(trx, organizationId, subscriptionId);
      await audit.record(trx, {
        organizationId,
        ...scope.author,
        action: 'subscription.deleted',
        entity: { type: 'subscription', id: subscriptionId },
        before: toSubscriptionView(row),
      });
    });
  };

  return {
    subscribe,
    unsubscribe,

    async listSubscriptions({ organizationId }: CallerScope, page: PageRequest) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listSubscriptions(database, organizationId, read);
      const pageRows = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? pageRows.at(-1)?.subscriptionId : undefined;
      return { items: pageRows.map(toSubscriptionView), next };
    },

    async getSubscription({ organizationId }: CallerScope, subscriptionId: string) {
      const row = isUuid(subscriptionId)
        ? await findSubscription(database, organizationId, { subscriptionId })
        : undefined;
      return row === undefined ? throwNotFound('subscription') : toSubscriptionView(row);
    },
  };
}
