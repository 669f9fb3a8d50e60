// Deletes expired lines of the request log in batches.
import { type Clock, createPoller, isoTime, type Log, type Poller } from '../platform/index.ts';
import type { RequestLogStore } from './request-log-sql.ts';

const everyMs = 60_000;
const linesAtOnce = 2000;
const dayMs = 86_400_000;

type Deps = {
  readonly store: Pick<RequestLogStore, 'deleteBefore'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly days: number;
};

/** @example const deletion = createOldLineDeletion({ store, clock, log, days: 14 }); deletion.start(); */
export function createOldLineDeletion({ store, clock, log, days }: Deps): Poller {
  return createPoller({
    pollMs: everyMs,
    async poll() {
      const before = isoTime(clock.now() - days * dayMs);
      return (await store.deleteBefore(before, linesAtOnce)) === linesAtOnce;
    },
    onError: (error) => log.warn({ err: error }, 'old lines of the request log were not deleted'),
  });
}
