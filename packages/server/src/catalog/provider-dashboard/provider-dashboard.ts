// Shows a provider the activations of its services and the calls to its server.
import { type ServiceCalls, type ServiceUse, throwProblem } from '@switchyard/contract';
import type { FoundPage, PageRequest } from '../../http/index.ts';
import { type Clock, type Database, isoTime } from '../../platform/index.ts';
import type { Scope } from '../infrastructure/caller-scope.ts';
import { demandOrganization, isUuid } from '../infrastructure/request-checks.ts';
import { runOn } from '../infrastructure/statement-runner.ts';
import { readCalls } from '../provider-calls/call-count-sql.ts';
import { callsOf } from '../provider-calls/call-statistics.ts';
import { findService } from '../services/service-sql.ts';
import { listUses, type UseQuery, type UseRow } from './service-use-sql.ts';

const hourMs = 3_600_000;

export type Watch = {
  uses(
    scope: Scope,
    serviceId: string,
    query: UseQuery,
    page: PageRequest,
  ): Promise<FoundPage<ServiceUse>>;
  calls(scope: Scope, serviceId: string, hours: number): Promise<ServiceCalls>;
};

function useView(row: UseRow): ServiceUse {
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

/** @example const watch = createWatch({ database, clock }); await watch.calls(scope, serviceId, 24); */
export function createWatch({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): Watch {
  /** Every organisation sees published services; only the provider sees their uses and calls. */
  async function demandOwn(scope: Scope, serviceId: string): Promise<string> {
    demandOrganization(scope, 'watches its services');
    const row = isUuid(serviceId)
      ? await findService(runOn(database), scope.organizationId, serviceId)
      : undefined;
    if (row?.organization_id === scope.organizationId) return row.service_id;
    return throwProblem(
      'service_not_found',
      'Your organisation provides no service of this identifier.',
    );
  }

  return {
    async uses(scope, serviceId, query, page) {
      const own = await demandOwn(scope, serviceId);
      const read = { ...page, limit: page.limit + 1 };
      const rows = await listUses(runOn(database), own, query, read);
      const shown = rows.slice(0, page.limit);
      const next = rows.length > page.limit ? shown.at(-1)?.activation_id : undefined;
      return { items: shown.map(useView), next };
    },

    async calls(scope, serviceId, hours) {
      const own = await demandOwn(scope, serviceId);
      const to = clock.now();
      const from = to - hours * hourMs;
      return callsOf(own, await readCalls(database, own, from), { from, to });
    },
  };
}
