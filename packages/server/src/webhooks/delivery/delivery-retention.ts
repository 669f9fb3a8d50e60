// Deletes old deliveries, and the deliveries of deleted endpoints, in small steps.
import {
  type Clock,
  createPoller,
  type Database,
  type Jobs,
  type Log,
  type Poller,
} from '../../platform/index.ts';
import { deleteDeliveriesOfEndpoint, deleteOldDeliveries } from './delivery-log-sql.ts';

const everyMs = 60_000;
const dayMs = 86_400_000;
export const deleteDeliveriesJobKind = 'webhook-endpoint-forgotten';

export type RetentionDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly jobs: Pick<Jobs, 'handle'>;
  readonly days: number;
};

/** @example const retention = createDeliveryRetention(deps); retention.start(); */
export function createDeliveryRetention(deps: RetentionDeps): Poller {
  const { database, clock, log, jobs, days } = deps;
  let afterEndpoint: { organizationId: string; endpointId: string } | undefined;
  jobs.handle(deleteDeliveriesJobKind, async ({ organizationId, payload }) => {
    const isMore = await deleteDeliveriesOfEndpoint(
      database,
      organizationId,
      String(payload['endpointId']),
    );
    return isMore ? { retryAt: clock.now(), countAttempt: false } : undefined;
  });
  return createPoller({
    pollMs: everyMs,
    async poll() {
      const before = clock.now() - days * dayMs;
      const { deleted, last } = await deleteOldDeliveries(database, before, afterEndpoint);
      // The next step repeats the same endpoints while they have old deliveries.
      if (deleted === 0) afterEndpoint = last;
      return deleted > 0 || last !== undefined;
    },
    onError: (error) => log.warn({ err: error }, 'old deliveries were not deleted'),
  });
}
