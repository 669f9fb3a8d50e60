// Converts rows of activations into API responses and audit entries.
import { defined, type ServiceActivation } from '@switchyard/contract';
import { isoTime } from '../../platform/index.ts';
import type { ActivationRow } from './activation-sql.ts';

const timeOf = (at: Date) => isoTime(at.getTime());

export function toActivationView(row: ActivationRow): ServiceActivation {
  return {
    activationId: row.activation_id,
    organizationId: row.organization_id,
    serviceId: row.service_id,
    release: row.release,
    level: row.level,
    entityId: row.entity_id,
    ...(row.merchant_id === null ? {} : { merchantId: row.merchant_id }),
    ...(row.store_id === null ? {} : { storeId: row.store_id }),
    status: row.status,
    includesExisting: row.includes_existing,
    parameters: { ...row.parameters },
    ...(row.secret_pointers.length === 0 ? {} : { secrets: [...row.secret_pointers] }),
    ...(row.provider_parameters === null
      ? {}
      : { providerParameters: { ...row.provider_parameters } }),
    ...(row.reason === null ? {} : { reason: row.reason }),
    requestedAt: timeOf(row.requested_at),
    ...(row.decided_at === null ? {} : { decidedAt: timeOf(row.decided_at) }),
    createdAt: timeOf(row.created_at),
    updatedAt: timeOf(row.updated_at),
  };
}

/**
 * Parameters may contain accounts and keys of the provider, so the audit records only their names.
 */
export function toActivationAuditEntry(row: ActivationRow): object {
  const { parameters, providerParameters, secrets, ...view } = toActivationView(row);
  const names = Object.keys({ ...parameters, ...providerParameters });
  return { ...view, parameterNames: names, ...defined({ sealed: secrets }) };
}
