// Deletes events after their retention time in steps, and first marks them as deleted.
import {
  type Clock,
  createPoller,
  type Database,
  isoTime,
  type Log,
  type Poller,
} from '../../platform/index.ts';
import { deleteEventsUpTo, moveFeedStarts } from './feed-retention-sql.ts';

const everyMs = 60_000;
const dayMs = 86_400_000;

export type RetentionDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly days: number;
};

/** @example const retention = createFeedRetention({ database, clock, log, days: 30 }); retention.start(); */
export function createFeedRetention({ database, clock, log, days }: RetentionDeps): Poller {
  let afterOrganizationId: string | undefined;
  return createPoller({
    pollMs: everyMs,
    async poll() {
      const before = isoTime(clock.now() - days * dayMs);
      const { last, bounds } = await moveFeedStarts(database, before, afterOrganizationId);
      if (bounds.size > 0) await deleteEventsUpTo(database, bounds);
      // The next step repeats the same organisations while they have old events.
      if (bounds.size === 0) afterOrganizationId = last;
      return bounds.size > 0 || last !== undefined;
    },
    onError: (error) => log.warn({ err: error }, 'old events were not deleted'),
  });
}
