// Manages the packages of an organisation, and its subscriptions to them.
import {
  defined,
  type ServicePackage,
  type ServicePackageInput,
  type Subscription,
  throwProblem,
} from '@switchyard/contract';
import { type FoundPage, type PageRequest, requireVersion } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { By, Scope } from '../infrastructure/caller-scope.ts';
import type { CatalogDeps } from '../infrastructure/catalog-deps.ts';
import {
  demandOrganization,
  isUuid,
  refuseChanges,
  refuseField,
} from '../infrastructure/request-checks.ts';
import { type Run, runIn, runOn } from '../infrastructure/statement-runner.ts';
import {
  activationsThrough,
  deletePackage,
  deleteSubscription,
  findPackage,
  findSubscription,
  insertPackage,
  insertSubscription,
  listPackages,
  listSubscriptions,
  type PackageRow,
  publishedOf,
  type SubscriptionRow,
  writePackage,
} from './package-and-subscription-sql.ts';

type Versioned = { readonly view: ServicePackage; readonly version: number };

export type Offers = {
  createPackage(by: By, input: ServicePackageInput, packageId?: string): Promise<Versioned>;
  listPackages(scope: Scope, page: PageRequest): Promise<FoundPage<ServicePackage>>;
  getPackage(scope: Scope, packageId: string): Promise<Versioned>;
  replacePackage(
    by: By,
    packageId: string,
    input: ServicePackageInput,
    ifMatch?: string,
  ): Promise<Versioned>;
  removePackage(by: By, packageId: string, ifMatch?: string): Promise<void>;
  subscribe(by: By, packageId: string, subscriptionId?: string): Promise<Subscription>;
  listSubscriptions(scope: Scope, page: PageRequest): Promise<FoundPage<Subscription>>;
  getSubscription(scope: Scope, subscriptionId: string): Promise<Subscription>;
  unsubscribe(by: By, subscriptionId: string): Promise<void>;
};

const packageView = (row: PackageRow): ServicePackage => ({
  packageId: row.package_id,
  organizationId: row.organization_id,
  name: row.name,
  ...(row.description === null ? {} : { description: row.description }),
  serviceIds: row.service_ids,
  status: row.status,
  createdAt: isoTime(row.created_at.getTime()),
  updatedAt: isoTime(row.updated_at.getTime()),
});

const subscriptionView = (row: SubscriptionRow): Subscription => ({
  subscriptionId: row.subscription_id,
  organizationId: row.organization_id,
  packageId: row.package_id,
  createdAt: isoTime(row.created_at.getTime()),
});

const versioned = (row: PackageRow): Versioned => ({
  view: packageView(row),
  version: row.version,
});

function refuseUnknown(what: string): never {
  return throwProblem('resource_not_found', `No ${what} of your organisation has this identifier.`);
}

function refuseDependants(type: string, found: readonly { id: string; name: string }[]): void {
  if (found.length === 0) return;
  throwProblem('has_dependants', `Still depending on it: ${found.length} × ${type}.`, {
    extensions: { dependants: found.slice(0, 10).map((one) => ({ type, ...one })) },
  });
}

/** @example const offers = createOffers({ database, clock, ids, audit }); */
export function createOffers(
  deps: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit'>,
): Offers {
  return { ...createPackages(deps), ...createSubscriptions(deps) };
}

/** An active service keeps its subscription; the client deactivates the service first. */
async function demandUnused(
  run: Run,
  organizationId: string,
  packageId: string,
  serviceIds: readonly string[],
): Promise<void> {
  if (serviceIds.length === 0) return;
  const live = await activationsThrough(run, organizationId, packageId, serviceIds);
  const named = live.map(({ activation_id, name }) => ({ id: activation_id, name }));
  refuseDependants('Activation', named);
}

async function demandPublished(run: Run, serviceIds: readonly string[]): Promise<void> {
  const published = await publishedOf(run, serviceIds);
  const missing = serviceIds.findIndex((serviceId) => !published.has(serviceId));
  if (missing < 0) return;
  refuseField(`/serviceIds/${missing}`, 'is no published service', 'service_not_found');
}

/** Writes identifiers in lower case, as PostgreSQL returns them. */
const spelled = (input: ServicePackageInput): ServicePackageInput => ({
  ...input,
  serviceIds: input.serviceIds.map((serviceId) => serviceId.toLowerCase()),
});

async function locked(run: Run, scope: Scope, packageId: string): Promise<PackageRow> {
  demandOrganization(scope, 'makes packages');
  const row = isUuid(packageId)
    ? await findPackage(run, scope.organizationId, packageId, 'FOR UPDATE OF p')
    : undefined;
  return row ?? refuseUnknown('package');
}

function createPackages({
  database,
  clock,
  ids,
  audit,
}: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit'>) {
  async function written(
    run: Run,
    key: { organizationId: string; packageId: string },
    { name, description, status = 'Enabled', serviceIds }: ServicePackageInput,
  ): Promise<PackageRow> {
    const described = defined({ description });
    const now = isoTime(clock.now());
    await writePackage(run, key, { name, ...described, status, serviceIds }, now);
    return locked(run, key, key.packageId);
  }

  const createPackage: Offers['createPackage'] = (by, given, packageId = ids.uuid()) => {
    demandOrganization(by, 'makes packages');
    const { organizationId } = by;
    const input = spelled(given);
    return database.transaction(async (trx) => {
      const run = runIn(trx);
      await demandPublished(run, input.serviceIds);
      const key = { organizationId, packageId };
      const now = isoTime(clock.now());
      const isNew = await insertPackage(run, { ...key, name: input.name, now });
      if (!isNew) throwProblem('already_exists', 'The package exists already.');
      const row = await written(run, key, input);
      await audit.record(trx, {
        organizationId,
        ...by.author,
        action: 'package.created',
        entity: { type: 'package', id: packageId },
        after: packageView(row),
      });
      return versioned(row);
    });
  };

  const replacePackage: Offers['replacePackage'] = (by, packageId, given, ifMatch) =>
    database.transaction(async (trx) => {
      const run = runIn(trx);
      const input = spelled(given);
      const { organizationId } = by;
      const before = await locked(run, by, packageId);
      requireVersion(ifMatch, before.version);
      const { createdAt, updatedAt } = packageView(before);
      refuseChanges(input, { packageId, organizationId, createdAt, updatedAt });
      const had = new Set(before.service_ids);
      // A service that was retired later stays in the packages that contain it.
      const added = input.serviceIds.filter((serviceId) => !had.has(serviceId));
      await demandPublished(run, added);
      const gone = before.service_ids.filter((serviceId) => !input.serviceIds.includes(serviceId));
      await demandUnused(run, organizationId, packageId, gone);
      const after = await written(run, { organizationId, packageId }, input);
      await audit.record(trx, {
        organizationId,
        ...by.author,
        action: 'package.updated',
        entity: { type: 'package', id: packageId },
        before: packageView(before),
        after: packageView(after),
      });
      return versioned(after);
    });

  const removePackage: Offers['removePackage'] = (by, packageId, ifMatch) =>
    database.transaction(async (trx) => {
      const run = runIn(trx);
      const { organizationId } = by;
      const row = await locked(run, by, packageId);
      requireVersion(ifMatch, row.version);
      const subscription = await findSubscription(run, organizationId, { packageId });
      if (subscription !== undefined) {
        refuseDependants('Subscription', [{ id: subscription.subscription_id, name: row.name }]);
      }
      await deletePackage(run, organizationId, packageId);
      await audit.record(trx, {
        organizationId,
        ...by.author,
        action: 'package.deleted',
        entity: { type: 'package', id: packageId },
        before: packageView(row),
      });
    });

  return {
    createPackage,
    replacePackage,
    removePackage,

    async listPackages({ organizationId }: Scope, page: PageRequest) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listPackages(runOn(database), organizationId, read);
      const shown = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? shown.at(-1)?.package_id : undefined;
      return { items: shown.map(packageView), next };
    },

    async getPackage({ organizationId }: Scope, packageId: string) {
      const row = isUuid(packageId)
        ? await findPackage(runOn(database), organizationId, packageId)
        : undefined;
      return row === undefined ? refuseUnknown('package') : versioned(row);
    },
  };
}

function createSubscriptions({
  database,
  clock,
  ids,
  audit,
}: Pick<CatalogDeps, 'database' | 'clock' | 'ids' | 'audit'>) {
  const subscribe: Offers['subscribe'] = (by, packageId, subscriptionId = ids.uuid()) => {
    demandOrganization(by, 'subscribes');
    const { organizationId } = by;
    return database.transaction(async (trx) => {
      const run = runIn(trx);
      const offer = await findPackage(run, organizationId, packageId, 'FOR SHARE OF p');
      if (offer === undefined) return refuseField('/packageId', 'is unknown', 'resource_not_found');
      if (offer.status !== 'Enabled') throwProblem('service_state', 'The package is disabled.');
      const now = isoTime(clock.now());
      const made = { organizationId, subscriptionId, packageId, now };
      const row = await insertSubscription(run, made);
      if (row === undefined) {
        return refuseField('/packageId', 'is subscribed already', 'already_exists');
      }
      await audit.record(trx, {
        organizationId,
        ...by.author,
        action: 'subscription.created',
        entity: { type: 'subscription', id: subscriptionId },
        after: subscriptionView(row),
      });
      return subscriptionView(row);
    });
  };

  const unsubscribe: Offers['unsubscribe'] = (by, subscriptionId) => {
    demandOrganization(by, 'ends subscriptions');
    const { organizationId } = by;
    return database.transaction(async (trx) => {
      const run = runIn(trx);
      const row = isUuid(subscriptionId)
        ? await findSubscription(run, organizationId, { subscriptionId })
        : undefined;
      if (row === undefined) return refuseUnknown('subscription');
      const offer = await locked(run, by, row.package_id);
      await demandUnused(run, organizationId, row.package_id, offer.service_ids);
      await deleteSubscription(run, organizationId, subscriptionId);
      await audit.record(trx, {
        organizationId,
        ...by.author,
        action: 'subscription.deleted',
        entity: { type: 'subscription', id: subscriptionId },
        before: subscriptionView(row),
      });
    });
  };

  return {
    subscribe,
    unsubscribe,

    async listSubscriptions({ organizationId }: Scope, page: PageRequest) {
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listSubscriptions(runOn(database), organizationId, read);
      const shown = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? shown.at(-1)?.subscription_id : undefined;
      return { items: shown.map(subscriptionView), next };
    },

    async getSubscription({ organizationId }: Scope, subscriptionId: string) {
      const row = isUuid(subscriptionId)
        ? await findSubscription(runOn(database), organizationId, { subscriptionId })
        : undefined;
      return row === undefined ? refuseUnknown('subscription') : subscriptionView(row);
    },
  };
}
