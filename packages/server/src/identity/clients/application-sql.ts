// The SQL of applications.
import { type RoleName, roleNamed } from '@switchyard/contract';
import { type Database, isoTime, type Queries, type Row, toRecords } from '../../platform/index.ts';
import type { RecordApplicationChange } from './application-audit.ts';
import type {
  Application,
  ApplicationRecord,
  ApplicationStatus,
  ApplicationType,
} from './application-record.ts';
import { permissionsOfRoles } from './permissions.ts';

export type ApplicationStore = ReturnType<typeof createApplicationStore>;

export type ApplicationFilters = {
  readonly name?: string | undefined;
  readonly entityId?: string | undefined;
  readonly storeId?: string | undefined;
  readonly type?: ApplicationType | undefined;
  readonly status?: ApplicationStatus | undefined;
};

const columns = `organization_id, client_id, service_account_id, name, description, type, entity_type,
  entity_id, store_id, roles, services, security_flows, redirect_uris, web_origins, callback_error,
  access_token_seconds, access_token_algorithm, access_token_type, secret_hash, secret_changed_at, status, version, created_at, updated_at`;

function toApplications(rows: readonly Row[]): ApplicationRecord[] {
  return toRecords<Omit<ApplicationRecord, 'permissions'>>(rows).map((application) => {
    const roles = application.roles.map(roleNamed).filter((role) => role !== undefined);
    return { ...application, roles, permissions: permissionsOfRoles(roles) };
  });
}

/** The columns that an update can change. */
const changeableValues = (application: Application) => [
  application.name,
  application.description ?? null,
  application.type,
  JSON.stringify(application.roles),
  JSON.stringify(application.services),
  JSON.stringify(application.securityFlows),
  JSON.stringify(application.redirectUris),
  JSON.stringify(application.webOrigins),
  application.callbackError,
  application.accessTokenSeconds ?? null,
  application.status,
  application.secretHash ?? null,
  application.accessTokenAlgorithm ?? null,
  application.accessTokenType,
];

const findText = `SELECT ${columns} FROM applications
  WHERE organization_id = $1 AND client_id = $2 AND removed_at IS NULL`;

/** Uses the index on both columns: any number of organisations may have the same client id. */
export const findOrganizationsText = `SELECT organization_id FROM applications
  WHERE client_id = $1 AND secret_hash = $2 AND removed_at IS NULL`;

const insertText = `INSERT INTO applications (organization_id, client_id, name, description, type,
    roles, services, security_flows, redirect_uris, web_origins, callback_error,
    access_token_seconds, status, secret_hash, access_token_algorithm, access_token_type,
    service_account_id, entity_type, entity_id, store_id, secret_changed_at, created_at, updated_at,
    version)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::bytea, $15, $16, $17, $18, $19,
    $20, CASE WHEN $14::bytea IS NULL THEN NULL ELSE $21::timestamptz END, $21, $21, 1)
  ON CONFLICT (organization_id, client_id) DO NOTHING RETURNING ${columns}`;

const replaceText = `UPDATE applications SET name = $3, description = $4, type = $5, roles = $6,
    services = $7, security_flows = $8, redirect_uris = $9, web_origins = $10, callback_error = $11,
    access_token_seconds = $12, status = $13, secret_hash = $14::bytea,
    access_token_algorithm = $15, access_token_type = $16, updated_at = $17,
    secret_changed_at = CASE WHEN secret_hash IS DISTINCT FROM $14::bytea
      THEN $17::timestamptz ELSE secret_changed_at END,
    version = version + 1
  WHERE organization_id = $1 AND client_id = $2 RETURNING ${columns}`;

const removeText = `UPDATE applications SET removed_at = $3, updated_at = $3, secret_hash = NULL,
    status = 'Disabled', version = version + 1
  WHERE organization_id = $1 AND client_id = $2 RETURNING ${columns}`;

const deleteLastUseText =
  'DELETE FROM application_uses WHERE organization_id = $1 AND client_id = $2';

function filterClauses(filters: ApplicationFilters, values: unknown[]): string[] {
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const { name, entityId, storeId, type, status } = filters;
  const escaped = name?.toLowerCase().replace(/[\\%_]/g, '\\$&');
  return [
    ...(escaped === undefined ? [] : [`lower(name) LIKE ${parameter(`${escaped}%`)}`]),
    ...(entityId === undefined ? [] : [`entity_id = ${parameter(entityId)}`]),
    ...(storeId === undefined ? [] : [`store_id = ${parameter(storeId)}`]),
    ...(type === undefined ? [] : [`type = ${parameter(type)}`]),
    ...(status === undefined ? [] : [`status = ${parameter(status)}`]),
  ];
}

async function queryRecord(trx: Queries, text: string, values: readonly unknown[]) {
  return toApplications(await trx.query(text, values))[0];
}

type ApplicationKey = { readonly organizationId: string; readonly clientId: string };

/** Undefined if the organisation has, or ever had, this client id. */
export async function insertApplication(
  trx: Queries,
  application: Application,
  now: number,
  recordChange: RecordApplicationChange,
): Promise<ApplicationRecord | undefined> {
  const inserted = await queryRecord(trx, insertText, [
    application.organizationId,
    application.clientId,
    ...changeableValues(application),
    application.serviceAccountId,
    application.entityType,
    application.entityId,
    application.storeId ?? null,
    isoTime(now),
  ]);
  if (inserted !== undefined) await recordChange(trx, { after: inserted });
  return inserted;
}

/** `update` gets the locked row and returns the new values; it may throw. */
export async function changeApplication(
  trx: Queries,
  { organizationId, clientId }: ApplicationKey,
  now: number,
  update: (current: ApplicationRecord) => Application,
  recordChange: RecordApplicationChange,
): Promise<ApplicationRecord | undefined> {
  const key = [organizationId, clientId];
  const current = await queryRecord(trx, `${findText} FOR UPDATE`, key);
  if (current === undefined) return undefined;
  const values = [...key, ...changeableValues(update(current)), isoTime(now)];
  const changed = await queryRecord(trx, replaceText, values);
  if (changed !== undefined) await recordChange(trx, { before: current, after: changed });
  return changed;
}

/** Marks the application as removed and deletes its secret and last use; `check` may throw. */
export async function removeApplication(
  trx: Queries,
  { organizationId, clientId }: ApplicationKey,
  now: number,
  check: (current: ApplicationRecord) => void,
  recordChange: RecordApplicationChange,
): Promise<ApplicationRecord | undefined> {
  const key = [organizationId, clientId];
  const current = await queryRecord(trx, `${findText} FOR UPDATE`, key);
  if (current === undefined) return undefined;
  check(current);
  const removed = await queryRecord(trx, removeText, [...key, isoTime(now)]);
  await trx.query(deleteLastUseText, key);
  await recordChange(trx, { before: current });
  return removed;
}

export function createApplicationStore(database: Database) {
  return {
    async find(organizationId: string, clientId: string): Promise<ApplicationRecord | undefined> {
      return toApplications(await database.query(findText, [organizationId, clientId]))[0];
    },

    /**
     * The organisations with an application that has this client id and secret hash: rarely more
     * than one.
     */
    async findOrganizations(clientId: string, secretHash: Buffer): Promise<string[]> {
      const values = [clientId, secretHash];
      const rows = await database.query<{ organization_id: string }>(findOrganizationsText, values);
      return rows.map((row) => row.organization_id);
    },

    async hasRole(organizationId: string, role: RoleName): Promise<boolean> {
      const rows = await database.query(
        `SELECT 1 FROM applications WHERE organization_id = $1 AND roles @> $2::jsonb
           AND status = 'Enabled' AND removed_at IS NULL LIMIT 1`,
        [organizationId, JSON.stringify([role])],
      );
      return rows.length > 0;
    },

    /** Sorted by client id. */
    async list(
      organizationId: string,
      filters: ApplicationFilters,
      page: { limit: number; after?: string },
    ): Promise<ApplicationRecord[]> {
      const values: unknown[] = [organizationId];
      const clauses = filterClauses(filters, values);
      if (page.after !== undefined) clauses.push(`client_id > $${values.push(page.after)}`);
      const rows = await database.query(
        `SELECT ${columns} FROM applications
         WHERE ${['organization_id = $1', 'removed_at IS NULL', ...clauses].join(' AND ')}
         ORDER BY client_id LIMIT $${values.push(page.limit)}`,
        values,
      );
      return toApplications(rows);
    },

    insert: (
      application: Application,
      now: number,
      recordChange: RecordApplicationChange,
    ): Promise<ApplicationRecord | undefined> =>
      database.transaction((trx) => insertApplication(trx, application, now, recordChange)),

    change: (
      organizationId: string,
      clientId: string,
      now: number,
      update: (current: ApplicationRecord) => Application,
      recordChange: RecordApplicationChange,
    ): Promise<ApplicationRecord | undefined> =>
      database.transaction((trx) =>
        changeApplication(trx, { organizationId, clientId }, now, update, recordChange),
      ),

    remove: (
      organizationId: string,
      clientId: string,
      now: number,
      check: (current: ApplicationRecord) => void,
      recordChange: RecordApplicationChange,
    ): Promise<ApplicationRecord | undefined> =>
      database.transaction((trx) =>
        removeApplication(trx, { organizationId, clientId }, now, check, recordChange),
      ),
  };
}
