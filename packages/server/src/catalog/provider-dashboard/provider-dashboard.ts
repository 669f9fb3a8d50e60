// Shows a provider the activations of its services and the calls to its server.
import { defined, type ServiceCalls, type ServiceUse, throwProblem } from '@switchyard/contract';
import { type FoundPage, type PageRequest, readPage } from '../../http/index.ts';
import {
  type Clock,
  type Database,
  hourMs,
  isoTime,
  isUuid,
  type Queries,
  toRecords,
} from '../../platform/index.ts';
import type { CallerScope } from '../infrastructure/caller-scope.ts';
import { requireOrganizationScope } from '../infrastructure/request-checks.ts';
import { readCallCounts } from '../provider-calls/call-count-sql.ts';
import { summarizeCalls } from '../provider-calls/call-statistics.ts';
import { findService } from '../services/service-sql.ts';

type ServiceUseQuery = { readonly level?: string; readonly status?: string };

export type ProviderDashboard = {
  listUses(
    scope: CallerScope,
    serviceId: string,
    query: ServiceUseQuery,
    page: PageRequest,
  ): Promise<FoundPage<ServiceUse>>;
  getCallStatistics(scope: CallerScope, serviceId: string, hours: number): Promise<ServiceCalls>;
};

/** Times in epoch milliseconds. */
type ServiceUseRecord = Omit<ServiceUse, 'requestedAt' | 'decidedAt'> & {
  readonly requestedAt: number;
  readonly decidedAt?: number;
};

/** Newest first; the caller has checked that its organisation provides the service. */
async function listServiceUses(
  queries: Queries,
  serviceId: string,
  { level = 'Organization', status }: ServiceUseQuery,
  page: PageRequest,
): Promise<ServiceUseRecord[]> {
  const rows = await queries.query(
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
  return toRecords(rows);
}

const toServiceUse = ({ requestedAt, decidedAt, ...use }: ServiceUseRecord): ServiceUse => ({
  ...use,
  requestedAt: isoTime(requestedAt),
  ...defined({ decidedAt: decidedAt === undefined ? undefined : isoTime(decidedAt) }),
});

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
    if (row?.organizationId === scope.organizationId) return row.serviceId;
    return throwProblem(
      'service_not_found',
      'Your organisation is not the provider of a service with this identifier.',
    );
  }

  return {
    async listUses(scope, serviceId, query, page) {
      const ownServiceId = await requireOwnService(scope, serviceId);
      return readPage(
        page,
        (read) => listServiceUses(database, ownServiceId, query, read),
        ({ activationId }) => activationId,
        toServiceUse,
      );
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
