// Deletes old deliveries, and the deliveries of deleted endpoints, in small steps.
import {
  type CleanupJob,
  type Clock,
  type Database,
  dayMs,
  type Jobs,
} from '../../platform/index.ts';
import { deleteDeliveriesOfEndpoint, deleteOldDeliveries } from './delivery-log-sql.ts';

const deleteEveryMs = 60_000;
export const deleteDeliveriesJobKind = 'webhook-endpoint-forgotten';

export type RetentionDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly jobs: Pick<Jobs, 'handle'>;
  readonly days: number;
};

/** @example const cleanupJob = createDeliveryRetention(deps); */
export function createDeliveryRetention(deps: RetentionDeps): CleanupJob {
  const { database, clock, jobs, days } = deps;
  let afterEndpoint: { organizationId: string; endpointId: string } | undefined;
  jobs.handle(deleteDeliveriesJobKind, async ({ organizationId, payload }) => {
    const isMore = await deleteDeliveriesOfEndpoint(
      database,
      organizationId,
      String(payload['endpointId']),
    );
    return isMore ? { retryAt: clock.now(), countAttempt: false } : undefined;
  });
  return {
    data: 'webhook deliveries',
    intervalMs: deleteEveryMs,
    async deleteBatch() {
      const before = clock.now() - days * dayMs;
      const { deleted, last } = await deleteOldDeliveries(database, before, afterEndpoint);
      // The next step repeats the same endpoints while they have old deliveries.
      if (deleted === 0) afterEndpoint = last;
      return deleted > 0 || last !== undefined;
    },
  };
}
