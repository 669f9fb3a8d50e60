// Shows a provider the activations of its services and the calls to its server.
import { type ServiceCalls, type ServiceUse, throwProblem } from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import { type Clock, type Database, hourMs, isoTime, isUuid } from '../../platform/index.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import { requireOrganizationScope } from '../infrastructure/request-checks.ts';
import { readCallCounts } from '../provider-calls/call-count-sql.ts';
import { summarizeCalls } from '../provider-calls/call-statistics.ts';
import { findService } from '../services/service-sql.ts';
import { listServiceUses, type ServiceUseQuery, type ServiceUseRow } from './service-use-sql.ts';

export type ProviderDashboard = {
  listUses(
    scope: CallerScope,
    serviceId: string,
    query: ServiceUseQuery,
    page: PageRequest,
  ): Promise<FoundPage<ServiceUse>>;
  getCallStatistics(scope: CallerScope, serviceId: string, hours: number): Promise<ServiceCalls>;
};

function toServiceUse(row: ServiceUseRow): ServiceUse {
  const timeOf = (at: Date) => isoTime(at.getTime());
  return {
    activationId: row.activation_id,
    handshakeId: row.handshake_id,
    serviceId: row.service_id,
    organizationId: row.organization_id,
    ...(row.organization_name === null ? {} : { organizationName: row.organization_name }),
    release: row.release,
    level: row.level,
    entityId: row.entity_id,
    ...(row.merchant_id === null ? {} : { merchantId: row.merchant_id }),
    ...(row.store_id === null ? {} : { storeId: row.store_id }),
    status: row.status,
    ...(row.reason === null ? {} : { reason: row.reason }),
    requestedAt: timeOf(row.requested_at),
    ...(row.decided_at === null ? {} : { decidedAt: timeOf(row.decided_at) }),
  };
}

/** @example const dashboard = createProviderDashboard({ database, clock }); await dashboard.getCallStatistics(scope, serviceId, 24); */
export function createProviderDashboard({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): ProviderDashboard {
  /** Every organisation sees published services; only the provider sees their uses and calls. */
  async function requireOwnService(scope: CallerScope, serviceId: string): Promise<string> {
    requireOrganizationScope(scope, 'see the use of its services');
    const row = isUuid(serviceId)
      ? await findService(database, scope.organizationId, serviceId)
      : undefined;
    if (row?.organization_id === scope.organizationId) return row.service_id;
    return throwProblem(
      'service_not_found',
      'Your organisation is not the provider of a service with this identifier.',
    );
  }

  return {
    async listUses(scope, serviceId, query, page) {
      const ownServiceId = await requireOwnService(scope, serviceId);
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listServiceUses(database, ownServiceId, query, read);
      const pageRows = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? pageRows.at(-1)?.activation_id : undefined;
      return { items: pageRows.map(toServiceUse), next };
    },

    async getCallStatistics(scope, serviceId, hours) {
      const ownServiceId = await requireOwnService(scope, serviceId);
      const to = clock.now();
      const from = to - hours * hourMs;
      return summarizeCalls(ownServiceId, await readCallCounts(database, ownServiceId, from), {
        from,
        to,
      });
    },
  };
}
