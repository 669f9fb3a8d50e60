// What waits for each acquirer link: whether a message may go yet, and how the queues stand.
import type { Clock, Database, Job, Metrics } from '../../platform/index.ts';
import { type Gauges, measureLinks, secondsSince } from '../runtime/link-gauges.ts';

/** Said of a try that the acquirer left without an answer: nothing behind it may overtake it. */
export const unanswered = 'Unanswered';

/** Tries after which a person should look; counted, shown, logged, and gone on with. */
export const alarmAfter = 6;

export type Queue = {
  linkId: string;
  length: number;
  /** RFC 3339: since when the oldest message waits. */
  oldestAt: string;
  /** The most tries that one of them has behind it. */
  attempts: number;
  /** Messages with so many tries that a person should look. */
  alarms: number;
};

export type Lanes = {
  /** Whether an older message of the link is without an answer: then this one waits behind it. */
  isHeld(job: Job): Promise<boolean>;
  /** The queues that are not empty, of one organisation or of all. */
  queues(organizationId?: string): Promise<Queue[]>;
};

// One that had no answer for long enough to alarm somebody lets the others past: it may be the message
// that the host cannot bear.
const selectStopped = `SELECT 1 FROM jobs
  WHERE organization_id = $1 AND lane = $2 AND job_id < $3 AND last_error = '${unanswered}'
    AND attempts <= ${alarmAfter} LIMIT 1`;

const selectQueues = `SELECT lane, count(*)::int AS length, min(created_at) AS oldest_at,
    max(attempts)::int AS attempts,
    (count(*) FILTER (WHERE attempts >= ${alarmAfter}))::int AS alarms
  FROM jobs WHERE lane IS NOT NULL AND ($1::uuid IS NULL OR organization_id = $1)
  GROUP BY organization_id, lane`;

type Row = { lane: string; length: number; oldest_at: Date; attempts: number; alarms: number };

/** @example const lanes = createLanes({ database }); if (await lanes.isHeld(job)) … */
export function createLanes({ database }: { database: Database }): Lanes {
  return {
    async isHeld({ organizationId, lane, jobId }) {
      if (lane === undefined) return false;
      return (await database.query(selectStopped, [organizationId, lane, jobId])).length > 0;
    },
    async queues(organizationId) {
      const rows = await database.query<Row>(selectQueues, [organizationId ?? null]);
      return rows.map(({ lane, length, oldest_at: oldestAt, attempts, alarms }) => ({
        linkId: lane,
        length,
        oldestAt: oldestAt.toISOString(),
        attempts,
        alarms,
      }));
    },
  };
}

/** Tells of the queues when somebody asks. */
export function measureLanes(lanes: Lanes, deps: { metrics: Metrics; clock: Clock }): void {
  const gauges: Gauges<Queue> = {
    length: {
      help: 'Messages that wait for an acquirer link, to be sent or to be answered',
      value: ({ length }) => length,
    },
    oldest_seconds: {
      help: 'How long the oldest of them has waited',
      value: ({ oldestAt }) => secondsSince(oldestAt, deps.clock.now()),
    },
    attempts: {
      help: 'The most tries that one of them has behind it',
      value: ({ attempts }) => attempts,
    },
    alarms: {
      help: 'Those with so many tries that a person should look',
      value: ({ alarms }) => alarms,
    },
  };
  measureLinks(deps.metrics, 'acquirer_queue', gauges, () => lanes.queues());
}
