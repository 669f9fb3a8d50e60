// SQL for merchants, stores and devices with the activation of one service at each of them.
import type { Run } from '../infrastructure/statement-runner.ts';

export type PlaceRow = {
  id: string;
  name: string;
  made_at: Date;
  activation_id: string | null;
  status: string | null;
  decided_at: Date | null;
  covers_at: Date | null;
};

type Kind = {
  readonly table: string;
  readonly id: string;
  /** The column of the parent entity. */
  readonly under: string;
};

const kinds = {
  Merchant: { table: 'merchants', id: 'merchant_id', under: 'organization_id' },
  Store: { table: 'stores', id: 'store_id', under: 'merchant_id' },
  LogicalDevice: { table: 'logical_devices', id: 'logical_device_id', under: 'store_id' },
} as const satisfies Record<string, Kind>;

export type PlaceLevel = keyof typeof kinds;

type PlaceQuery = {
  readonly organizationId: string;
  readonly serviceId: string;
  readonly level: PlaceLevel;
  readonly underId: string;
  /** The one entity that the caller is bound to. */
  readonly onlyId?: string | undefined;
};

const decided = 'a.activation_id, a.status, a.decided_at, a.covers_at';

/** The entities in the order of their creation. */
export async function listPlaces(
  run: Run,
  { organizationId, serviceId, level, underId, onlyId }: PlaceQuery,
  page: { readonly limit: number; readonly after?: string },
): Promise<PlaceRow[]> {
  const { table, id, under } = kinds[level];
  const rows = await run(
    `SELECT e.${id} AS id, e.name, e.created_at AS made_at, ${decided}
     FROM ${table} e
     LEFT JOIN service_activations a ON a.organization_id = $1 AND a.entity_id = e.${id}
       AND a.service_id = $2
     WHERE e.organization_id = $1 AND e.${under} = $3 AND e.removed_at IS NULL
       AND ($4::uuid IS NULL OR e.${id} = $4) AND ($5::uuid IS NULL OR e.${id} > $5)
     ORDER BY e.${id} LIMIT $6`,
    [organizationId, serviceId, underId, onlyId ?? null, page.after ?? null, page.limit],
  );
  return rows as PlaceRow[];
}

export type DecidedRow = Omit<PlaceRow, 'id' | 'name' | 'made_at'> & { entity_id: string };

/** Reads the activations of a service at the given entities. */
export async function decidedAt(
  run: Run,
  organizationId: string,
  serviceId: string,
  entityIds: readonly string[],
): Promise<DecidedRow[]> {
  const rows = await run(
    `SELECT a.entity_id, ${decided} FROM service_activations a
     WHERE a.organization_id = $1 AND a.service_id = $2 AND a.entity_id = ANY ($3::uuid[])`,
    [organizationId, serviceId, `{${entityIds.join(',')}}`],
  );
  return rows as DecidedRow[];
}
