// Deletes events after their retention time in steps, and first marks them as deleted.
import {
  type CleanupJob,
  type Clock,
  type Database,
  dayMs,
  isoTime,
} from '../../platform/index.ts';
import { deleteEventsUpTo, moveFeedStarts } from './feed-retention-sql.ts';

const deleteEveryMs = 60_000;

export type RetentionDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly days: number;
};

/** @example const cleanupJob = createFeedRetention({ database, clock, days: 30 }); */
export function createFeedRetention({ database, clock, days }: RetentionDeps): CleanupJob {
  let afterOrganizationId: string | undefined;
  return {
    data: 'events of the feed',
    intervalMs: deleteEveryMs,
    async deleteBatch() {
      const before = isoTime(clock.now() - days * dayMs);
      const { last, bounds } = await moveFeedStarts(database, before, afterOrganizationId);
      if (bounds.size > 0) await deleteEventsUpTo(database, bounds);
      // The next step repeats the same organisations while they have old events.
      if (bounds.size === 0) afterOrganizationId = last;
      return bounds.size > 0 || last !== undefined;
    },
  };
}
