// SQL for packages and subscriptions, each of which belongs to one organisation.
import type { ServicePackage, Subscription } from '@switchyard/contract';
import { type Queries, toRecords } from '../../platform/index.ts';

/** Times in epoch milliseconds. */
export type PackageRecord = Omit<ServicePackage, 'createdAt' | 'updatedAt'> & {
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

export type SubscriptionRecord = Omit<Subscription, 'createdAt'> & { readonly createdAt: number };

export type DependentActivation = { readonly activationId: string; readonly name: string };

type Page = { readonly limit: number; readonly after?: string };

const packageColumns = `p.organization_id, p.package_id, p.name, p.description, p.status, p.version,
  p.created_at, p.updated_at,
  (SELECT coalesce(jsonb_agg(i.service_id ORDER BY i.service_id), '[]')
   FROM service_package_items i
   WHERE i.organization_id = p.organization_id AND i.package_id = p.package_id) AS service_ids`;

/** Returns false if the package exists: a seed names its package, and creates it only once. */
export async function insertPackage(
  queries: Queries,
  row: { organizationId: string; packageId: string; name: string; now: string },
): Promise<boolean> {
  const made = await queries.query(
    `INSERT INTO service_packages
       (organization_id, package_id, name, status, version, created_at, updated_at)
     VALUES ($1, $2, $3, 'Enabled', 0, $4, $4)
     ON CONFLICT (organization_id, package_id) DO NOTHING RETURNING package_id`,
    [row.organizationId, row.packageId, row.name, row.now],
  );
  return made.length > 0;
}

export async function findPackage(
  queries: Queries,
  organizationId: string,
  packageId: string,
  lock = '',
): Promise<PackageRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${packageColumns} FROM service_packages p
     WHERE p.organization_id = $1 AND p.package_id = $2 ${lock}`,
    [organizationId, packageId],
  );
  return toRecords<PackageRecord>(rows)[0];
}

export async function listPackages(
  queries: Queries,
  organizationId: string,
  page: Page,
): Promise<PackageRecord[]> {
  const rows = await queries.query(
    `SELECT ${packageColumns} FROM service_packages p
     WHERE p.organization_id = $1 AND ($2::uuid IS NULL OR p.package_id > $2)
     ORDER BY p.package_id LIMIT $3`,
    [organizationId, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}

/** The row is locked. Afterwards the package holds exactly the given services. */
export async function writePackage(
  queries: Queries,
  key: { organizationId: string; packageId: string },
  input: { name: string; description?: string; status: string; serviceIds: readonly string[] },
  now: string,
): Promise<void> {
  const { organizationId, packageId } = key;
  await queries.query(
    `UPDATE service_packages SET name = $3, description = $4, status = $5, updated_at = $6,
       version = version + 1
     WHERE organization_id = $1 AND package_id = $2`,
    [organizationId, packageId, input.name, input.description ?? null, input.status, now],
  );
  await queries.query(
    `DELETE FROM service_package_items
     WHERE organization_id = $1 AND package_id = $2 AND NOT service_id = ANY($3::uuid[])`,
    [organizationId, packageId, input.serviceIds],
  );
  await queries.query(
    `INSERT INTO service_package_items (organization_id, package_id, service_id)
     SELECT $1, $2, service_id FROM unnest($3::uuid[]) AS service_id ON CONFLICT DO NOTHING`,
    [organizationId, packageId, input.serviceIds],
  );
}

export async function deletePackage(
  queries: Queries,
  organizationId: string,
  packageId: string,
): Promise<void> {
  const key = [organizationId, packageId];
  const where = 'WHERE organization_id = $1 AND package_id = $2';
  await queries.query(`DELETE FROM service_package_items ${where}`, key);
  await queries.query(`DELETE FROM service_packages ${where}`, key);
}

/** Returns those of the services that are published. */
export async function findPublishedServices(
  queries: Queries,
  serviceIds: readonly string[],
): Promise<Set<string>> {
  const rows = await queries.query<{ id: string }>(
    `SELECT service_id AS id FROM catalogue_services
     WHERE service_id = ANY($1::uuid[]) AND status = 'Published'`,
    [serviceIds],
  );
  return new Set(rows.map(({ id }) => id));
}

export async function insertSubscription(
  queries: Queries,
  row: { organizationId: string; subscriptionId: string; packageId: string; now: string },
): Promise<SubscriptionRecord | undefined> {
  const rows = await queries.query(
    `INSERT INTO service_subscriptions (organization_id, subscription_id, package_id, created_at)
     VALUES ($1, $2, $3, $4) ON CONFLICT (organization_id, package_id) DO NOTHING
     RETURNING organization_id, subscription_id, package_id, created_at`,
    [row.organizationId, row.subscriptionId, row.packageId, row.now],
  );
  return toRecords<SubscriptionRecord>(rows)[0];
}

export async function findSubscription(
  queries: Queries,
  organizationId: string,
  selector: { readonly subscriptionId: string } | { readonly packageId: string },
): Promise<SubscriptionRecord | undefined> {
  const [column, id] =
    'packageId' in selector
      ? ['package_id', selector.packageId]
      : ['subscription_id', selector.subscriptionId];
  const rows = await queries.query(
    `SELECT organization_id, subscription_id, package_id, created_at FROM service_subscriptions
     WHERE organization_id = $1 AND ${column} = $2`,
    [organizationId, id],
  );
  return toRecords<SubscriptionRecord>(rows)[0];
}

export async function listSubscriptions(
  queries: Queries,
  organizationId: string,
  page: Page,
): Promise<SubscriptionRecord[]> {
  const rows = await queries.query(
    `SELECT organization_id, subscription_id, package_id, created_at FROM service_subscriptions
     WHERE organization_id = $1 AND ($2::uuid IS NULL OR subscription_id > $2)
     ORDER BY subscription_id LIMIT $3`,
    [organizationId, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}

export async function deleteSubscription(
  queries: Queries,
  organizationId: string,
  subscriptionId: string,
): Promise<void> {
  await queries.query(
    'DELETE FROM service_subscriptions WHERE organization_id = $1 AND subscription_id = $2',
    [organizationId, subscriptionId],
  );
}

/** The activations of the organisation that depend on this package alone for these services. */
export async function listDependentActivations(
  queries: Queries,
  organizationId: string,
  packageId: string,
  serviceIds: readonly string[],
): Promise<DependentActivation[]> {
  const rows = await queries.query(
    `SELECT a.activation_id, c.name FROM service_activations a
     JOIN catalogue_services c ON c.service_id = a.service_id
     WHERE a.organization_id = $1 AND a.entity_id = $1 AND a.service_id = ANY($3::uuid[])
       AND a.status IN ('Requested', 'Pending', 'Active')
       AND EXISTS (SELECT 1 FROM service_subscriptions s
         WHERE s.organization_id = $1 AND s.package_id = $2)
       AND NOT EXISTS (SELECT 1 FROM service_subscriptions s
         JOIN service_package_items i
           ON i.organization_id = s.organization_id AND i.package_id = s.package_id
         WHERE s.organization_id = $1 AND s.package_id <> $2 AND i.service_id = a.service_id)
     ORDER BY a.activation_id`,
    [organizationId, packageId, serviceIds],
  );
  return toRecords(rows);
}

/** Checks that the organisation has the service, and locks the subscription for the transaction. */
export async function lockSubscription(
  queries: Queries,
  organizationId: string,
  serviceId: string,
): Promise<boolean> {
  const rows = await queries.query(
    `SELECT s.subscription_id FROM service_package_items i
     JOIN service_packages p
       ON p.organization_id = i.organization_id AND p.package_id = i.package_id
     JOIN service_subscriptions s
       ON s.organization_id = i.organization_id AND s.package_id = i.package_id
     WHERE i.organization_id = $1 AND i.service_id = $2 FOR SHARE OF p, s`,
    [organizationId, serviceId],
  );
  return rows.length > 0;
}
