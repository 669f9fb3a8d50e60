// SQL for activations, and for the state of services at a device.

import type { ActivationLevel, ActivationState } from '@switchyard/contract';
import { isoTime, type Queries, toRecords } from '../../platform/index.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import type { ParameterValues } from '../parameters/types.ts';

/** Times in epoch milliseconds. */
export type ActivationRecord = {
  organizationId: string;
  activationId: string;
  serviceId: string;
  level: ActivationLevel;
  entityId: string;
  merchantId?: string;
  storeId?: string;
  status: ActivationState;
  release: number;
  handshakeId: string;
  includesExisting: boolean;
  coversAt?: number | undefined;
  parameters: ParameterValues;
  /** JSON pointers to the secret parameters; `secretsSealed` holds their encrypted values. */
  secretPointers: readonly string[];
  secretsSealed?: Buffer | undefined;
  providerParameters?: ParameterValues | undefined;
  reason?: string | undefined;
  requestedAt: number;
  decidedAt?: number | undefined;
  createdAt: number;
  updatedAt: number;
};

/** The position of an entity in its organisation. */
export type EntityPath = {
  readonly level: ActivationLevel;
  readonly entityId: string;
  readonly merchantId?: string;
  readonly storeId?: string;
};

const columns = `organization_id, activation_id, service_id, level, entity_id, merchant_id, store_id,
  status, release, handshake_id, includes_existing, covers_at, parameters, secret_pointers,
  secrets_sealed, provider_parameters, reason, requested_at, decided_at, created_at, updated_at`;

/** Inserts an inactive row if none exists, so that a row can always be locked. */
export async function insertActivationIfAbsent(
  queries: Queries,
  row: {
    organizationId: string;
    activationId: string;
    serviceId: string;
    release: number;
    entity: EntityPath;
    now: string;
  },
): Promise<void> {
  const { organizationId, activationId, serviceId, release, entity, now } = row;
  await queries.query(
    `INSERT INTO service_activations (organization_id, activation_id, service_id, level, entity_id,
       merchant_id, store_id, status, release, handshake_id, includes_existing, parameters,
       requested_at, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 'Inactive', $8, $2, false, '{}', $9, $9, $9)
     ON CONFLICT (organization_id, entity_id, service_id) DO NOTHING`,
    [
      organizationId,
      activationId,
      serviceId,
      entity.level,
      entity.entityId,
      entity.merchantId ?? null,
      entity.storeId ?? null,
      release,
      now,
    ],
  );
}

export async function lockActivationOfEntity(
  queries: Queries,
  organizationId: string,
  entityId: string,
  serviceId: string,
): Promise<ActivationRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${columns} FROM service_activations
     WHERE organization_id = $1 AND entity_id = $2 AND service_id = $3 FOR UPDATE`,
    [organizationId, entityId, serviceId],
  );
  return toRecords<ActivationRecord>(rows)[0];
}

export async function findActivation(
  queries: Queries,
  { organizationId, merchantId }: CallerScope,
  activationId: string,
  lock = '',
): Promise<ActivationRecord | undefined> {
  const rows = await queries.query(
    `SELECT ${columns} FROM service_activations
     WHERE organization_id = $1 AND activation_id = $2
       AND ($3::uuid IS NULL OR merchant_id = $3) ${lock}`,
    [organizationId, activationId, merchantId ?? null],
  );
  return toRecords<ActivationRecord>(rows)[0];
}

export type ActivationQuery = {
  readonly serviceId?: string;
  readonly level?: string;
  readonly entityId?: string;
  readonly status?: string;
};

export async function listActivations(
  queries: Queries,
  { organizationId, merchantId }: CallerScope,
  query: ActivationQuery,
  page: { readonly limit: number; readonly after?: string },
): Promise<ActivationRecord[]> {
  const { serviceId = null, level = null, entityId = null, status = null } = query;
  const rows = await queries.query(
    `SELECT ${columns} FROM service_activations
     WHERE organization_id = $1 AND ($2::uuid IS NULL OR merchant_id = $2)
       AND ($3::uuid IS NULL OR service_id = $3) AND ($4::text IS NULL OR level = $4)
       AND ($5::uuid IS NULL OR entity_id = $5) AND ($6::text IS NULL OR status = $6)
       AND ($7::uuid IS NULL OR activation_id > $7)
     ORDER BY activation_id LIMIT $8`,
    [
      organizationId,
      merchantId ?? null,
      serviceId,
      level,
      entityId,
      status,
      page.after ?? null,
      page.limit,
    ],
  );
  return toRecords(rows);
}

const toTimestamp = (at: number | undefined) => (at === undefined ? null : isoTime(at));

/** Writes the new values of a locked row. */
export async function updateActivation(
  queries: Queries,
  row: ActivationRecord,
  now: string,
): Promise<ActivationRecord> {
  const rows = await queries.query(
    `UPDATE service_activations SET status = $3, release = $4, handshake_id = $5,
       includes_existing = $6, covers_at = $7, parameters = $8, provider_parameters = $9,
       reason = $10, requested_at = $11, decided_at = $12, updated_at = $13,
       secret_pointers = $14, secrets_sealed = $15
     WHERE organization_id = $1 AND activation_id = $2 RETURNING ${columns}`,
    [
      row.organizationId,
      row.activationId,
      row.status,
      row.release,
      row.handshakeId,
      row.includesExisting,
      toTimestamp(row.coversAt),
      JSON.stringify(row.parameters),
      row.providerParameters === undefined ? null : JSON.stringify(row.providerParameters),
      row.reason ?? null,
      toTimestamp(row.requestedAt),
      toTimestamp(row.decidedAt),
      now,
      JSON.stringify(row.secretPointers),
      row.secretsSealed ?? null,
    ],
  );
  const [written] = toRecords<ActivationRecord>(rows);
  if (written === undefined) throw new Error('a locked activation no longer exists');
  return written;
}

type LevelMembers<Alias extends string> = {
  [Name in `${Alias}Id` | `${Alias}Status`]?: string;
} & { [Name in `${Alias}Decided` | `${Alias}Covers`]?: number };

/** A service at a device: the activation at each level, with the creation times of the levels. */
export type DeviceServiceRecord = LevelMembers<'o'> &
  LevelMembers<'m'> &
  LevelMembers<'s'> &
  LevelMembers<'d'> & {
    serviceId: string;
    providerId: string;
    release: number;
    name: string;
    domain: string;
    methods?: string[];
    paymentTypes?: string[];
    merchantId: string;
    storeId: string;
    merchantAt: number;
    storeAt: number;
    deviceAt: number;
  };

const selectLevelColumns = (
  alias: string,
) => `${alias}.activation_id AS ${alias}_id, ${alias}.status AS ${alias}_status,
  ${alias}.decided_at AS ${alias}_decided, ${alias}.covers_at AS ${alias}_covers`;

const joinLevelActivation = (
  alias: string,
  entityColumn: string,
  organizationColumn = '$1',
) => `LEFT JOIN service_activations ${alias}
  ON ${alias}.organization_id = ${organizationColumn} AND ${alias}.entity_id = ${entityColumn} AND ${alias}.service_id = o.service_id`;

/**
 * The statement omits services without an activation of the organisation itself: they are inactive.
 */
const deviceServicesSql = `SELECT o.service_id, c.organization_id AS provider_id, c.release, c.name, c.domain,
    c.published->'methods' AS methods, c.published->'paymentTypes' AS payment_types,
    pd.merchant_id, pd.store_id, pm.created_at AS merchant_at, ps.created_at AS store_at,
    pd.created_at AS device_at, ${['o', 'm', 's', 'd'].map(selectLevelColumns).join(', ')}
  FROM logical_devices pd
  JOIN stores ps ON ps.organization_id = $1 AND ps.store_id = pd.store_id
  JOIN merchants pm ON pm.organization_id = $1 AND pm.merchant_id = pd.merchant_id
  JOIN service_activations o ON o.organization_id = $1 AND o.entity_id = $1
  JOIN catalogue_services c ON c.service_id = o.service_id
  ${joinLevelActivation('m', 'pd.merchant_id')}
  ${joinLevelActivation('s', 'pd.store_id')}
  ${joinLevelActivation('d', 'pd.logical_device_id')}
  WHERE pd.organization_id = $1 AND pd.logical_device_id = $2 AND pd.removed_at IS NULL
  ORDER BY o.service_id`;

const requestedOrganizationId = 'requested.organization_id';

const serviceAtDevicesSql = `SELECT requested.organization_id, requested.logical_device_id, pd.merchant_id,
    pd.store_id, pm.created_at AS merchant_at, ps.created_at AS store_at,
    pd.created_at AS device_at, ${['o', 'm', 's', 'd'].map(selectLevelColumns).join(', ')}
  FROM unnest($1::uuid[], $2::uuid[]) AS requested (organization_id, logical_device_id)
  JOIN logical_devices pd ON pd.organization_id = ${requestedOrganizationId}
    AND pd.logical_device_id = requested.logical_device_id AND pd.removed_at IS NULL
  JOIN stores ps ON ps.organization_id = ${requestedOrganizationId} AND ps.store_id = pd.store_id
  JOIN merchants pm ON pm.organization_id = ${requestedOrganizationId} AND pm.merchant_id = pd.merchant_id
  JOIN service_activations o ON o.organization_id = ${requestedOrganizationId} AND o.entity_id = ${requestedOrganizationId}
  JOIN catalogue_services c ON c.service_id = o.service_id AND c.name = $3 AND c.domain = $4
  ${joinLevelActivation('m', 'pd.merchant_id', requestedOrganizationId)}
  ${joinLevelActivation('s', 'pd.store_id', requestedOrganizationId)}
  ${joinLevelActivation('d', 'pd.logical_device_id', requestedOrganizationId)}`;

/** The state of services with one name at many devices. */
export type DeviceActivationRecord = Omit<
  DeviceServiceRecord,
  'serviceId' | 'providerId' | 'release' | 'name' | 'domain' | 'methods' | 'paymentTypes'
> & { organizationId: string; logicalDeviceId: string };

export async function readServiceAtDevices(
  queries: Queries,
  devices: readonly { readonly organizationId: string; readonly logicalDeviceId: string }[],
  { name, domain }: { readonly name: string; readonly domain: string },
): Promise<DeviceActivationRecord[]> {
  const rows = await queries.query(serviceAtDevicesSql, [
    devices.map(({ organizationId }) => organizationId),
    devices.map(({ logicalDeviceId }) => logicalDeviceId),
    name,
    domain,
  ]);
  return toRecords(rows);
}

export async function readDeviceServices(
  queries: Queries,
  organizationId: string,
  logicalDeviceId: string,
): Promise<DeviceServiceRecord[]> {
  const rows = await queries.query(deviceServicesSql, [organizationId, logicalDeviceId]);
  return toRecords(rows);
}
