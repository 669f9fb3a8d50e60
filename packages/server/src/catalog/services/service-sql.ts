// SQL for services and their releases, which every tenant reads.
import {
  type OlderKeyJson,
  type Queries,
  type RetiredKeys,
  toRecords,
} from '../../platform/index.ts';

export type ServiceDeclaration = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly domain: string;
};

export type ServiceStatus = 'Draft' | 'Published' | 'Retired';

/** Times in epoch milliseconds. */
export type ServiceRecord = {
  serviceId: string;
  organizationId: string;
  name: string;
  domain: string;
  status: ServiceStatus;
  release: number;
  draft: ServiceDeclaration;
  published?: ServiceDeclaration;
  version: number;
  createdAt: number;
  updatedAt: number;
  /** The name of the organisation that provides the service. */
  providerName?: string;
};

export type SigningSecretRecord = RetiredKeys & { secretSealed: Buffer };

export type ServiceReleaseRecord = {
  release: number;
  declaration: ServiceDeclaration;
  publishedAt: number;
};

const columns = `service_id, organization_id, name, domain, status, release, draft, published,
  version, created_at, updated_at, (SELECT o.name FROM organizations o
    WHERE o.organization_id = catalogue_services.organization_id) AS provider_name`;

export async function insertService(
  queries: Queries,
  row: {
    serviceId: string;
    organizationId: string;
    declaration: ServiceDeclaration;
    sealed: Buffer;
    now: string;
  },
): Promise<ServiceRecord | undefined> {
  const { serviceId, organizationId, declaration, sealed, now } = row;
  const { name, domain } = declaration;
  const rows = await queries.query(
    `INSERT INTO catalogue_services (service_id, organization_id, name, domain, status, release,
       draft, secret_sealed, version, created_at, updated_at)
     VALUES ($1, $2, $3, $4, 'Draft', 0, $5, $6, 1, $7, $7)
     ON CONFLICT (service_id) DO NOTHING RETURNING ${columns}`,
    [serviceId, organizationId, name, domain, JSON.stringify(declaration), sealed, now],
  );
  return toRecords<ServiceRecord>(rows)[0];
}

/** The provider sees every service of its own; other organisations see it once it is published. */
export async function findService(
  queries: Queries,
  organizationId: string,
  serviceId: string,
  lock = '',
): Promise<ServiceRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${columns} FROM catalogue_services
     WHERE service_id = $2 AND (organization_id = $1 OR status <> 'Draft') ${lock}`,
    [organizationId, serviceId],
  );
  return toRecords<ServiceRecord>(rows)[0];
}

export type ServiceQuery = {
  readonly domain?: string;
  readonly status?: string;
  readonly providerId?: string;
};

export async function listServices(
  queries: Queries,
  organizationId: string,
  query: ServiceQuery,
  page: { readonly limit: number; readonly after?: string },
): Promise<ServiceRecord[]> {
  const { domain = null, status = null, providerId = null } = query;
  const rows = await queries.query(
    `SELECT ${columns} FROM catalogue_services
     WHERE (organization_id = $1 OR status <> 'Draft')
       AND ($2::text IS NULL OR domain = $2) AND ($3::text IS NULL OR status = $3)
       AND ($4::uuid IS NULL OR organization_id = $4) AND ($5::uuid IS NULL OR service_id > $5)
     ORDER BY service_id LIMIT $6`,
    [organizationId, domain, status, providerId, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}

/** The row is locked; omitted members keep their values. */
export async function updateService(
  queries: Queries,
  serviceId: string,
  change: { draft?: ServiceDeclaration; status?: ServiceStatus; publishes?: true },
  now: string,
): Promise<ServiceRecord> {
  const rows = await queries.query(
    `UPDATE catalogue_services SET
       draft = coalesce($2::jsonb, draft), status = coalesce($3, status),
       release = release + CASE WHEN $4 THEN 1 ELSE 0 END,
       published = CASE WHEN $4 THEN draft ELSE published END,
       name = CASE WHEN $4 OR published IS NULL THEN coalesce($2::jsonb, draft)->>'name' ELSE name END,
       domain = CASE WHEN $4 OR published IS NULL THEN coalesce($2::jsonb, draft)->>'domain'
         ELSE domain END,
       version = version + 1, updated_at = $5
     WHERE service_id = $1 RETURNING ${columns}`,
    [
      serviceId,
      change.draft === undefined ? null : JSON.stringify(change.draft),
      change.status ?? null,
      change.publishes === true,
      now,
    ],
  );
  const [row] = toRecords<ServiceRecord>(rows);
  if (row === undefined) throw new Error('a locked service no longer exists');
  return row;
}

export async function insertRelease(
  queries: Queries,
  row: ServiceRecord,
  now: string,
): Promise<void> {
  await queries.query(
    `INSERT INTO catalogue_releases (service_id, release, declaration, published_at)
     VALUES ($1, $2, $3, $4)`,
    [row.serviceId, row.release, JSON.stringify(row.published), now],
  );
}

/** Newest first; `after` is the last release of the previous page. */
export async function listReleases(
  queries: Queries,
  serviceId: string,
  page: { readonly limit: number; readonly after?: string },
): Promise<ServiceReleaseRecord[]> {
  const rows = await queries.query(
    `SELECT release, declaration, published_at FROM catalogue_releases
     WHERE service_id = $1 AND ($2::int IS NULL OR release < $2)
     ORDER BY release DESC LIMIT $3`,
    [serviceId, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}

export async function deleteService(queries: Queries, serviceId: string): Promise<void> {
  await queries.query('DELETE FROM catalogue_services WHERE service_id = $1', [serviceId]);
}

export async function readEncryptedSigningSecret(
  queries: Queries,
  serviceId: string,
): Promise<SigningSecretRecord | undefined> {
  const rows = await queries.query(
    `SELECT secret_sealed, previous_sealed, previous_until, older_keys FROM catalogue_services
     WHERE service_id = $1`,
    [serviceId],
  );
  return toRecords<SigningSecretRecord>(rows)[0];
}

/** The row is locked. */
export async function replaceSigningSecret(
  queries: Queries,
  serviceId: string,
  keys: { sealed: Buffer; previousUntil: string; older: readonly OlderKeyJson[] },
): Promise<void> {
  await queries.query(
    `UPDATE catalogue_services SET secret_sealed = $2, previous_sealed = secret_sealed,
       previous_until = $3, older_keys = $4 WHERE service_id = $1`,
    [serviceId, keys.sealed, keys.previousUntil, JSON.stringify(keys.older)],
  );
}
