// SQL for the provider of a service to read its activations in every organisation.
import type { Queries } from '../../platform/index.ts';
import type { ActivationRow } from '../activations/activation-sql.ts';

export type ServiceUseQuery = { readonly level?: string; readonly status?: string };

export type ServiceUseRow = Pick<
  ActivationRow,
  | 'organization_id'
  | 'activation_id'
  | 'handshake_id'
  | 'service_id'
  | 'release'
  | 'level'
  | 'entity_id'
  | 'merchant_id'
  | 'store_id'
  | 'status'
  | 'reason'
  | 'requested_at'
  | 'decided_at'
> & { readonly organization_name: string | null };

/** Newest first; the caller has checked that its organisation provides the service. */
export async function listServiceUses(
  queries: Queries,
  serviceId: string,
  { level = 'Organization', status }: ServiceUseQuery,
  page: { readonly limit: number; readonly after?: string },
): Promise<ServiceUseRow[]> {
  return queries.query<ServiceUseRow>(
    `SELECT a.organization_id, a.activation_id, a.handshake_id, a.service_id, a.release, a.level,
       a.entity_id, a.merchant_id, a.store_id, a.status, a.reason, a.requested_at, a.decided_at,
       o.name AS organization_name
     FROM service_activations a
     LEFT JOIN organizations o ON o.organization_id = a.organization_id
     WHERE a.service_id = $1 AND a.level = $2 AND ($3::text IS NULL OR a.status = $3)
       AND ($4::uuid IS NULL OR a.activation_id < $4)
     ORDER BY a.activation_id DESC LIMIT $5`,
    [serviceId, level, status ?? null, page.after ?? null, page.limit],
  );
}
