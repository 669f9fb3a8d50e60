// SQL for configurations and their versions, and for the levels above an entity.
import type { ActivationLevel } from '@switchyard/contract';
import type { Actor } from '../../audit/index.ts';
import type { Queries } from '../../platform/index.ts';
import type { EntityPath } from '../activations/activation-sql.ts';
import type { ParameterValues } from '../parameters/types.ts';

export type ConfigurationRow = {
  organization_id: string;
  entity_id: string;
  service_id: string;
  level: ActivationLevel;
  version: number;
  release: number;
  own_values: ParameterValues | null;
  secrets_sealed: Buffer | null;
  updated_at: Date;
};

export type ConfigurationVersionRow = Omit<ConfigurationRow, 'level' | 'updated_at'> & {
  restored_from: number | null;
  author: Actor;
  created_at: Date;
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
): Promise<ConfigurationRow[]> {
  return queries.query<ConfigurationRow>(deviceConfigurationsSql, [
    organizationId,
    logicalDeviceId,
  ]);
}

export type LevelVersion = Pick<ConfigurationRow, 'service_id' | 'entity_id' | 'version'>;

/** Reads the same rows without their values. */
export async function readVersionsOfDevice(
  queries: Queries,
  organizationId: string,
  logicalDeviceId: string,
): Promise<LevelVersion[]> {
  return queries.query<LevelVersion>(deviceVersionsSql, [organizationId, logicalDeviceId]);
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
): Promise<ConfigurationRow[]> {
  return queries.query<ConfigurationRow>(entityConfigurationsSql, [
    organizationId,
    listEntityIds(entity),
    serviceId,
  ]);
}

/** Locks the row of an entity; first inserts a row of version 0 if none exists. */
export async function lockConfiguration(
  queries: Queries,
  key: { organizationId: string; serviceId: string; entity: EntityPath; now: string },
): Promise<ConfigurationRow> {
  const { organizationId, serviceId, entity, now } = key;
  const { entityId, level } = entity;
  await queries.query(
    `INSERT INTO service_configurations
       (organization_id, entity_id, service_id, level, version, release, updated_at)
     VALUES ($1, $2, $3, $4, 0, 0, $5) ON CONFLICT DO NOTHING`,
    [organizationId, entityId, serviceId, level, now],
  );
  const [row] = await queries.query<ConfigurationRow>(
    `SELECT ${columns} FROM service_configurations c
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 FOR UPDATE`,
    [organizationId, entityId, serviceId],
  );
  if (row === undefined) throw new Error('a configuration was deleted between two statements');
  return row;
}

/** Writes a locked row, and adds it as the next version. */
export async function writeConfigurationVersion(
  queries: Queries,
  row: ConfigurationRow,
  made: { author: Actor; restoredFrom?: number; now: string },
): Promise<void> {
  const { organization_id, entity_id, service_id, version, release, own_values } = row;
  const values = own_values === null ? null : JSON.stringify(own_values);
  const written = [organization_id, entity_id, service_id, version, release, values];
  await queries.query(
    `UPDATE service_configurations SET version = $4, release = $5, own_values = $6,
       secrets_sealed = $7, updated_at = $8
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3`,
    [...written, row.secrets_sealed, made.now],
  );
  await queries.query(
    `INSERT INTO service_configuration_versions (organization_id, entity_id, service_id, version,
       release, own_values, secrets_sealed, restored_from, author, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      ...written,
      row.secrets_sealed,
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
): Promise<ConfigurationVersionRow[]> {
  return queries.query<ConfigurationVersionRow>(
    `SELECT ${versionColumns} FROM service_configuration_versions
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3
       AND ($4::int IS NULL OR version < $4)
     ORDER BY version DESC LIMIT $5`,
    [key.organizationId, key.entityId, key.serviceId, page.after ?? null, page.limit],
  );
}

export async function findConfigurationVersion(
  queries: Queries,
  key: { organizationId: string; entityId: string; serviceId: string },
  version: number,
): Promise<ConfigurationVersionRow | undefined> {
  const [row] = await queries.query<ConfigurationVersionRow>(
    `SELECT ${versionColumns} FROM service_configuration_versions
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 AND version = $4`,
    [key.organizationId, key.entityId, key.serviceId, version],
  );
  return row;
}

export type ReleaseInForceRow = { service_id: string; release: number; is_subscribed: boolean };

/** Finds the release in force of a service that the organisation can see. */
export async function findReleaseInForce(
  queries: Queries,
  organizationId: string,
  serviceId: string,
): Promise<ReleaseInForceRow | undefined> {
  const [row] = await queries.query<ReleaseInForceRow>(
    `SELECT c.service_id, c.release, EXISTS (
       SELECT 1 FROM service_package_items i JOIN service_subscriptions s
         ON s.organization_id = i.organization_id AND s.package_id = i.package_id
       WHERE i.organization_id = $1 AND i.service_id = c.service_id) AS is_subscribed
     FROM catalogue_services c
     WHERE c.service_id = $2 AND (c.organization_id = $1 OR c.status <> 'Draft')`,
    [organizationId, serviceId],
  );
  return row;
}

export type ConfigurableServiceRow = {
  service_id: string;
  name: string;
  domain: string;
  release: number;
  version: number;
  is_set: boolean;
  updated_at: Date | null;
};

/**
 * Lists the configurable services of the organisation's packages, with their state at the entity.
 */
export async function listConfigurableServices(
  queries: Queries,
  organizationId: string,
  entityId: string,
  page: { readonly limit: number; readonly after?: string },
): Promise<ConfigurableServiceRow[]> {
  return queries.query<ConfigurableServiceRow>(
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
}
