// SQL for merchants, stores and devices with the activation of one service at each of them.
import type { ActivationState } from '@switchyard/contract';
import { type Queries, toRecords } from '../../platform/index.ts';

export type EntityStateRecord = {
  id: string;
  name: string;
  madeAt: number;
  /** The activation of the entity itself, if one exists. */
  activationId?: string;
  status?: ActivationState;
  decidedAt?: number;
  coversAt?: number;
};

type EntityTable = {
  readonly table: string;
  readonly id: string;
  /** The column of the parent entity. */
  readonly parentColumn: string;
};

const entityTables = {
  Merchant: { table: 'merchants', id: 'merchant_id', parentColumn: 'organization_id' },
  Store: { table: 'stores', id: 'store_id', parentColumn: 'merchant_id' },
  LogicalDevice: { table: 'logical_devices', id: 'logical_device_id', parentColumn: 'store_id' },
} as const satisfies Record<string, EntityTable>;

export type ChildLevel = keyof typeof entityTables;

type EntityStateQuery = {
  readonly organizationId: string;
  readonly serviceId: string;
  readonly level: ChildLevel;
  readonly parentId: string;
  /** The one entity that the caller is bound to. */
  readonly onlyId?: string | undefined;
};

const activationColumns = 'a.activation_id, a.status, a.decided_at, a.covers_at';

/** The entities in the order of their creation. */
export async function listEntityStates(
  queries: Queries,
  { organizationId, serviceId, level, parentId, onlyId }: EntityStateQuery,
  page: { readonly limit: number; readonly after?: string },
): Promise<EntityStateRecord[]> {
  const { table, id, parentColumn } = entityTables[level];
  const rows = await queries.query(
    `SELECT e.${id} AS id, e.name, e.created_at AS made_at, ${activationColumns}
     FROM ${table} e
     LEFT JOIN service_activations a ON a.organization_id = $1 AND a.entity_id = e.${id}
       AND a.service_id = $2
     WHERE e.organization_id = $1 AND e.${parentColumn} = $3 AND e.removed_at IS NULL
       AND ($4::uuid IS NULL OR e.${id} = $4) AND ($5::uuid IS NULL OR e.${id} > $5)
     ORDER BY e.${id} LIMIT $6`,
    [organizationId, serviceId, parentId, onlyId ?? null, page.after ?? null, page.limit],
  );
  return toRecords(rows);
}

export type EntityActivationRecord = Omit<EntityStateRecord, 'id' | 'name' | 'madeAt'> & {
  entityId: string;
};

/** Reads the activations of a service at the given entities. */
export async function readActivationsOfEntities(
  queries: Queries,
  organizationId: string,
  serviceId: string,
  entityIds: readonly string[],
): Promise<EntityActivationRecord[]> {
  const rows = await queries.query(
    `SELECT a.entity_id, ${activationColumns} FROM service_activations a
     WHERE a.organization_id = $1 AND a.service_id = $2 AND a.entity_id = ANY ($3::uuid[])`,
    [organizationId, serviceId, `{${entityIds.join(',')}}`],
  );
  return toRecords(rows);
}
