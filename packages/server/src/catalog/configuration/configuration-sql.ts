// SQL for configurations and their versions, and for the levels above an entity.
import type { ActivationLevel } from '@switchyard/contract';
import type { Actor } from '../../audit/index.ts';
import type { Place } from '../activations/activation-sql.ts';
import type { Run } from '../infrastructure/statement-runner.ts';
import type { Values } from '../parameters/types.ts';

export type ConfigurationRow = {
  organization_id: string;
  entity_id: string;
  service_id: string;
  level: ActivationLevel;
  version: number;
  release: number;
  own_values: Values | null;
  secrets_sealed: Buffer | null;
  updated_at: Date;
};

export type VersionRow = Omit<ConfigurationRow, 'level' | 'updated_at'> & {
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
const line = `line AS (
  SELECT organization_id, parent_organization_id, 4 AS height
  FROM organizations WHERE organization_id = $1
  UNION ALL
  SELECT o.organization_id, o.parent_organization_id, l.height + 1
  FROM line l JOIN organizations o ON o.organization_id = l.parent_organization_id
  WHERE l.height < ${4 + ancestorsMax}
)`;

const configured = `FROM places p
  JOIN service_configurations c
    ON c.organization_id = p.organization_id AND c.entity_id = p.entity_id AND c.version > 0`;

const deviceText = (selected: string) => `WITH RECURSIVE ${line}, places AS (
    SELECT organization_id, organization_id AS entity_id, height FROM line
    UNION ALL
    SELECT $1::uuid, e.entity_id, e.height FROM logical_devices d
    CROSS JOIN LATERAL
      (VALUES (d.merchant_id, 3), (d.store_id, 2), (d.logical_device_id, 1)) e (entity_id, height)
    WHERE d.organization_id = $1 AND d.logical_device_id = $2 AND d.removed_at IS NULL
  )
  SELECT ${selected} ${configured} ORDER BY c.service_id, p.height DESC`;
const deviceLine = deviceText(columns);
const deviceVersions = deviceText('c.service_id, c.entity_id, c.version');

/** Reads the configurations of every service at a device and above it, from the top down. */
export async function readDeviceLine(
  run: Run,
  organizationId: string,
  logicalDeviceId: string,
): Promise<ConfigurationRow[]> {
  const rows = await run(deviceLine, [organizationId, logicalDeviceId]);
  return rows as ConfigurationRow[];
}

export type SetVersion = Pick<ConfigurationRow, 'service_id' | 'entity_id' | 'version'>;

/** Reads the same rows without their values. */
export async function readDeviceVersions(
  run: Run,
  organizationId: string,
  logicalDeviceId: string,
): Promise<SetVersion[]> {
  const rows = await run(deviceVersions, [organizationId, logicalDeviceId]);
  return rows as SetVersion[];
}

const placeText = `WITH RECURSIVE ${line}, places AS (
    SELECT organization_id, organization_id AS entity_id, height FROM line
    UNION ALL
    SELECT $1::uuid, e.entity_id, 4 - e.depth FROM unnest($2::uuid[]) WITH ORDINALITY e (entity_id, depth)
  )
  SELECT ${columns} ${configured} AND c.service_id = $3 ORDER BY p.height DESC`;

/** The entities below the organisation, from the top down. */
const entitiesOf = ({ level, entityId, merchantId, storeId }: Place): string[] => {
  const above = {
    Organization: [],
    Merchant: [],
    Store: [merchantId],
    LogicalDevice: [merchantId, storeId],
  };
  const own = level === 'Organization' ? [] : [entityId];
  return [...above[level], ...own].filter((id) => id !== undefined);
};

/** Reads the configurations of one service at an entity and above it, from the top down. */
export async function readLine(
  run: Run,
  organizationId: string,
  place: Place,
  serviceId: string,
): Promise<ConfigurationRow[]> {
  const rows = await run(placeText, [organizationId, entitiesOf(place), serviceId]);
  return rows as ConfigurationRow[];
}

/** Locks the row of an entity; first inserts a row of version 0 if none exists. */
export async function lockConfiguration(
  run: Run,
  key: { organizationId: string; serviceId: string; place: Place; now: string },
): Promise<ConfigurationRow> {
  const { organizationId, serviceId, place, now } = key;
  const { entityId, level } = place;
  await run(
    `INSERT INTO service_configurations
       (organization_id, entity_id, service_id, level, version, release, updated_at)
     VALUES ($1, $2, $3, $4, 0, 0, $5) ON CONFLICT DO NOTHING`,
    [organizationId, entityId, serviceId, level, now],
  );
  const [row] = await run(
    `SELECT ${columns} FROM service_configurations c
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 FOR UPDATE`,
    [organizationId, entityId, serviceId],
  );
  if (row === undefined) throw new Error('a configuration is gone between two statements');
  return row as ConfigurationRow;
}

/** Writes a locked row, and adds it as the next version. */
export async function writeVersion(
  run: Run,
  row: ConfigurationRow,
  made: { author: Actor; restoredFrom?: number; now: string },
): Promise<void> {
  const { organization_id, entity_id, service_id, version, release, own_values } = row;
  const values = own_values === null ? null : JSON.stringify(own_values);
  const written = [organization_id, entity_id, service_id, version, release, values];
  await run(
    `UPDATE service_configurations SET version = $4, release = $5, own_values = $6,
       secrets_sealed = $7, updated_at = $8
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3`,
    [...written, row.secrets_sealed, made.now],
  );
  await run(
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
export async function listVersions(
  run: Run,
  key: { organizationId: string; entityId: string; serviceId: string },
  page: { readonly limit: number; readonly after?: string },
): Promise<VersionRow[]> {
  const rows = await run(
    `SELECT ${versionColumns} FROM service_configuration_versions
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3
       AND ($4::int IS NULL OR version < $4)
     ORDER BY version DESC LIMIT $5`,
    [key.organizationId, key.entityId, key.serviceId, page.after ?? null, page.limit],
  );
  return rows as VersionRow[];
}

export async function findVersion(
  run: Run,
  key: { organizationId: string; entityId: string; serviceId: string },
  version: number,
): Promise<VersionRow | undefined> {
  const [row] = await run(
    `SELECT ${versionColumns} FROM service_configuration_versions
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 AND version = $4`,
    [key.organizationId, key.entityId, key.serviceId, version],
  );
  return row as VersionRow | undefined;
}

export type InForceRow = { service_id: string; release: number; is_subscribed: boolean };

/** Finds the release in force of a service that the organisation can see. */
export async function findInForce(
  run: Run,
  organizationId: string,
  serviceId: string,
): Promise<InForceRow | undefined> {
  const [row] = await run(
    `SELECT c.service_id, c.release, EXISTS (
       SELECT 1 FROM service_package_items i JOIN service_subscriptions s
         ON s.organization_id = i.organization_id AND s.package_id = i.package_id
       WHERE i.organization_id = $1 AND i.service_id = c.service_id) AS is_subscribed
     FROM catalogue_services c
     WHERE c.service_id = $2 AND (c.organization_id = $1 OR c.status <> 'Draft')`,
    [organizationId, serviceId],
  );
  return row as InForceRow | undefined;
}

export type ConfigurableRow = {
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
export async function listConfigurable(
  run: Run,
  organizationId: string,
  entityId: string,
  page: { readonly limit: number; readonly after?: string },
): Promise<ConfigurableRow[]> {
  const rows = await run(
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
  return rows as ConfigurableRow[];
}
