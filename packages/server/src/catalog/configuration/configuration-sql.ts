// SQL for configurations and their versions, and for the levels above an entity.
import type { ActivationLevel } from '@switchyard/contract';
import type { Actor } from '../../audit/index.ts';
import { type Queries, toRecords } from '../../platform/index.ts';
import type { EntityPath } from '../activations/activation-sql.ts';
import type { ParameterValues } from '../parameters/types.ts';

/** Times in epoch milliseconds. */
export type ConfigurationRecord = {
  organizationId: string;
  entityId: string;
  serviceId: string;
  level: ActivationLevel;
  version: number;
  release: number;
  /** Absent if the level inherits all values. */
  ownValues?: ParameterValues | undefined;
  secretsSealed?: Buffer | undefined;
  updatedAt: number;
};

export type ConfigurationVersionRecord = Omit<ConfigurationRecord, 'level' | 'updatedAt'> & {
  restoredFrom?: number;
  author: Actor;
  createdAt: number;
};

const columns = `c.organization_id, c.entity_id, c.service_id, c.level, c.version, c.release,
  c.own_values, c.secrets_sealed, c.updated_at`;

/**
 * Organisations nest less deep than this; the limit also stops at an unexpected cycle of parents.
 */
const ancestorsMax = 16;

/** The organisation and all organisations above it. */
const ancestorsSql = `line AS (
  SELECT organization_id, parent_organization_id, 4 AS height
  FROM organizations WHERE organization_id = $1
  UNION ALL
  SELECT o.organization_id, o.parent_organization_id, l.height + 1
  FROM line l JOIN organizations o ON o.organization_id = l.parent_organization_id
  WHERE l.height < ${4 + ancestorsMax}
)`;

const configuredLevelsSql = `FROM places p
  JOIN service_configurations c
    ON c.organization_id = p.organization_id AND c.entity_id = p.entity_id AND c.version > 0`;

const buildDeviceSql = (selected: string) => `WITH RECURSIVE ${ancestorsSql}, places AS (
    SELECT organization_id, organization_id AS entity_id, height FROM line
    UNION ALL
    SELECT $1::uuid, e.entity_id, e.height FROM logical_devices d
    CROSS JOIN LATERAL
      (VALUES (d.merchant_id, 3), (d.store_id, 2), (d.logical_device_id, 1)) e (entity_id, height)
    WHERE d.organization_id = $1 AND d.logical_device_id = $2 AND d.removed_at IS NULL
  )
  SELECT ${selected} ${configuredLevelsSql} ORDER BY c.service_id, p.height DESC`;
const deviceConfigurationsSql = buildDeviceSql(columns);
const deviceVersionsSql = buildDeviceSql('c.service_id, c.entity_id, c.version');

/** Reads the configurations of every service at a device and above it, from the top down. */
export async function readConfigurationsOfDevice(
  queries: Queries,
  organizationId: string,
  logicalDeviceId: string,
): Promise<ConfigurationRecord[]> {
  const rows = await queries.query(deviceConfigurationsSql, [organizationId, logicalDeviceId]);
  return toRecords(rows);
}

export type LevelVersion = Pick<ConfigurationRecord, 'serviceId' | 'entityId' | 'version'>;

/** Reads the same rows without their values. */
export async function readLevelVersionsOfDevice(
  queries: Queries,
  organizationId: string,
  logicalDeviceId: string,
): Promise<LevelVersion[]> {
  const rows = await queries.query(deviceVersionsSql, [organizationId, logicalDeviceId]);
  return toRecords(rows);
}

const entityConfigurationsSql = `WITH RECURSIVE ${ancestorsSql}, places AS (
    SELECT organization_id, organization_id AS entity_id, height FROM line
    UNION ALL
    SELECT $1::uuid, e.entity_id, 4 - e.depth FROM unnest($2::uuid[]) WITH ORDINALITY e (entity_id, depth)
  )
  SELECT ${columns} ${configuredLevelsSql} AND c.service_id = $3 ORDER BY p.height DESC`;

/** The entities below the organisation, from the top down. */
const listEntityIds = ({ level, entityId, merchantId, storeId }: EntityPath): string[] => {
  const above = {
    Organization: [],
    Merchant: [],
    Store: [merchantId],
    LogicalDevice: [merchantId, storeId],
  };
  const ownIds = level === 'Organization' ? [] : [entityId];
  return [...above[level], ...ownIds].filter((id) => id !== undefined);
};

/** Reads the configurations of one service at an entity and above it, from the top down. */
export async function readConfigurationsOfEntity(
  queries: Queries,
  organizationId: string,
  entity: EntityPath,
  serviceId: string,
): Promise<ConfigurationRecord[]> {
  const rows = await queries.query(entityConfigurationsSql, [
    organizationId,
    listEntityIds(entity),
    serviceId,
  ]);
  return toRecords(rows);
}

/** Locks the row of an entity; first inserts a row of version 0 if none exists. */
export async function lockConfiguration(
  queries: Queries,
  key: { organizationId: string; serviceId: string; entity: EntityPath; now: string },
): Promise<ConfigurationRecord> {
  const { organizationId, serviceId, entity, now } = key;
  const { entityId, level } = entity;
  await queries.query(
    `INSERT INTO service_configurations
       (organization_id, entity_id, service_id, level, version, release, updated_at)
     VALUES ($1, $2, $3, $4, 0, 0, $5) ON CONFLICT DO NOTHING`,
    [organizationId, entityId, serviceId, level, now],
  );
  const rows = await queries.query(
    `SELECT ${columns} FROM service_configurations c
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 FOR UPDATE`,
    [organizationId, entityId, serviceId],
  );
  const [row] = toRecords<ConfigurationRecord>(rows);
  if (row === undefined) throw new Error('a configuration was deleted between two statements');
  return row;
}

/** Writes a locked row, and adds it as the next version. */
export async function writeConfigurationVersion(
  queries: Queries,
  row: ConfigurationRecord,
  made: { author: Actor; restoredFrom?: number; now: string },
): Promise<void> {
  const { organizationId, entityId, serviceId, version, release, ownValues } = row;
  const values = ownValues === undefined ? null : JSON.stringify(ownValues);
  const written = [organizationId, entityId, serviceId, version, release, values];
  await queries.query(
    `UPDATE service_configurations SET version = $4, release = $5, own_values = $6,
       secrets_sealed = $7, updated_at = $8
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3`,
    [...written, row.secretsSealed ?? null, made.now],
  );
  await queries.query(
    `INSERT INTO service_configuration_versions (organization_id, entity_id, service_id, version,
       release, own_values, secrets_sealed, restored_from, author, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      ...written,
      row.secretsSealed ?? null,
      made.restoredFrom ?? null,
      JSON.stringify(made.author),
      made.now,
    ],
  );
}

const versionColumns = `organization_id, entity_id, service_id, version, release, own_values,
  secrets_sealed, restored_from, author, created_at`;

/** Newest first; `after` is the last version of the previous page. */
export async function listConfigurationVersions(
  queries: Queries,
  key: { organizationId: string; entityId: string; serviceId: string },
  page: { readonly limit: number; readonly after?: string },
): Promise<ConfigurationVersionRecord[]> {
  const rows = await queries.query(
    `SELECT ${versionColumns} FROM service_configuration_versions
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3
       AND ($4::int IS NULL OR version < $4)
     ORDER BY version DESC LIMIT $5`,
    [key.organizationId, key.entityId, key.serviceId, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}

export async function findConfigurationVersion(
  queries: Queries,
  key: { organizationId: string; entityId: string; serviceId: string },
  version: number,
): Promise<ConfigurationVersionRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${versionColumns} FROM service_configuration_versions
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 AND version = $4`,
    [key.organizationId, key.entityId, key.serviceId, version],
  );
  return toRecords<ConfigurationVersionRecord>(rows)[0];
}

export type ReleaseInForce = { serviceId: string; release: number; isSubscribed: boolean };

/** Finds the release in force of a service that the organisation can see. */
export async function findReleaseInForce(
  queries: Queries,
  organizationId: string,
  serviceId: string,
): Promise<ReleaseInForce | undefined> {
  const rows = await queries.query(
    `SELECT c.service_id, c.release, EXISTS (
       SELECT 1 FROM service_package_items i JOIN service_subscriptions s
         ON s.organization_id = i.organization_id AND s.package_id = i.package_id
       WHERE i.organization_id = $1 AND i.service_id = c.service_id) AS is_subscribed
     FROM catalogue_services c
     WHERE c.service_id = $2 AND (c.organization_id = $1 OR c.status <> 'Draft')`,
    [organizationId, serviceId],
  );
  return toRecords<ReleaseInForce>(rows)[0];
}

export type ConfigurableServiceRecord = {
  serviceId: string;
  name: string;
  domain: string;
  release: number;
  version: number;
  isSet: boolean;
  updatedAt?: number;
};

/**
 * Lists the configurable services of the organisation's packages, with their state at the entity.
 */
export async function listConfigurableServices(
  queries: Queries,
  organizationId: string,
  entityId: string,
  page: { readonly limit: number; readonly after?: string },
): Promise<ConfigurableServiceRecord[]> {
  const rows = await queries.query(
    `SELECT c.service_id, c.name, c.domain, c.release, coalesce(v.version, 0) AS version,
       v.own_values IS NOT NULL AS is_set, v.updated_at
     FROM catalogue_services c
     LEFT JOIN service_configurations v
       ON v.organization_id = $1 AND v.entity_id = $2 AND v.service_id = c.service_id
     WHERE c.published -> 'parameterSchema' IS NOT NULL AND ($3::uuid IS NULL OR c.service_id > $3)
       AND c.service_id IN (
         SELECT i.service_id FROM service_subscriptions s JOIN service_package_items i
           ON i.organization_id = s.organization_id AND i.package_id = s.package_id
         WHERE s.organization_id = $1)
     ORDER BY c.service_id LIMIT $4`,
    [organizationId, entityId, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}
